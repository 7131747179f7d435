"""Read the jobs of a sweep from its directory."""

import csv
import io
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from ..errors import require
from ..files import read_regular
from ..play.arena import wilson_interval
from .config_file import CONFIG, MAX_BYTES, parse_yaml, read_config
from .report import as_percent
from .run import PRUNED
from .runlog import RunLog

COMMAND = "command.txt"  # in the sweep directory: the command that resumes it
FAILED = "failed.txt"  # in the directory of a failed job: the reason, in its first line
RATES = ("win_rate", "draw_rate", "loss_rate", "aborted_rate")  # fractions of games, which have an interval


@dataclass(frozen=True)
class Job:
    name: str  # of its directory
    parameters: dict[str, str]
    metric: str | None  # optimized_metric; None if the configuration was invalid
    result: float | None
    interval: tuple[float, float] | None
    status: str


def require_same_jobs(directory: str, arguments: Sequence[str]) -> None:
    """Raise `UserError` if a command would resume a sweep with other jobs."""
    path = Path(directory, COMMAND)
    if path.exists():
        text = path.read_text().strip()
        same = _job_words(shlex.split(text)[3:]) == _job_words(arguments)
        require(same, f"{directory} is the sweep of another command: resume it with {text}")


def _job_words(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that define the jobs and their order, without launcher and logger."""
    return [word for word in arguments if not word.startswith(("-", "hydra.", "hydra/", "launcher=", "logger"))]


def read_jobs(sweep: Path) -> list[Job]:
    """Read all started jobs, in order."""
    directories = [path.parent.parent for path in sweep.glob("*/.hydra/overrides.yaml")]
    require(bool(directories), f"{sweep} is not a sweep directory: it has no jobs")
    return [_read_job(directory) for directory in sorted(directories, key=lambda path: (len(path.name), path.name))]


def _read_job(directory: Path) -> Job:
    path = directory / ".hydra/overrides.yaml"
    overrides = parse_yaml(read_regular(path, MAX_BYTES), str(path))
    require(isinstance(overrides, list), f"{path} is not a list of overrides")
    pairs = (str(override).lstrip("+").partition("=") for override in overrides)
    parameters = {key: value for key, _, value in pairs}
    metric = read_config(directory).get("optimized_metric") if (directory / CONFIG).exists() else None
    if _failed_last(directory):
        reason = (directory / FAILED).read_text().splitlines()[0]
        return Job(directory.name, parameters, metric, None, None, f"failed: {reason}")
    if (directory / PRUNED).exists():
        reason = (directory / PRUNED).read_text().strip()
        return Job(directory.name, parameters, metric, None, None, f"pruned: {reason}")
    if metric is None or not (directory / "eval.json").exists():
        return Job(directory.name, parameters, metric, None, None, "not finished")
    result = final_metric(directory, metric)
    return Job(directory.name, parameters, metric, result, _interval(directory, metric, result), "finished")


def _failed_last(directory: Path) -> bool:
    """Return whether the last attempt failed: a job may finish after an earlier failure."""
    failed, result = directory / FAILED, directory / "eval.json"
    return failed.exists() and not (result.exists() and result.stat().st_mtime >= failed.stat().st_mtime)


def final_metric(directory: Path, metric: str) -> float:
    """Return a metric of the final evaluation of a finished run; earlier configurations call it eval/..."""
    _, values = RunLog(directory, None).column(metric.replace("eval/", "final/", 1))
    require(bool(values), f"{directory} has no {metric} in its metrics.csv")
    return values[-1]


def _interval(directory: Path, metric: str, result: float) -> tuple[float, float] | None:
    if metric.split("/")[-1] not in RATES:
        return None
    games = round(final_metric(directory, "final/episodes"))
    return wilson_interval(round(result * games), games)


def as_table(title: str, jobs: Sequence[Job]) -> Table:
    """Return a table with the parameters in which jobs differ, or all if none does."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    names = _parameters(jobs)
    varied = [name for name in names if len({job.parameters.get(name) for job in jobs}) > 1] or names
    metric = next((job.metric for job in jobs if job.metric is not None), "result")
    table.add_column("job", justify="right", no_wrap=True)
    for heading in _short(varied):
        table.add_column(heading, justify="right", overflow="fold")
    for heading in (metric, "95% range"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status")
    for job in jobs:
        values = (_rounded(job.parameters.get(name, "")) for name in varied)
        table.add_row(job.name, *values, _format_result(job), _format_interval(job), job.status, style=_style(job))
    return table


def _short(keys: Sequence[str]) -> list[str]:
    """Shorten each key to its last part if that is unique."""
    ends = [key.split(".")[-1] for key in keys]
    return [end if ends.count(end) == 1 else key for key, end in zip(keys, ends, strict=True)]


def _rounded(value: str) -> str:
    """Round long numbers, such as those drawn by a search."""
    try:
        return f"{float(value):.4g}" if len(value) > 8 and not value.lstrip("-").isdigit() else value
    except ValueError:
        return value


def _parameters(jobs: Sequence[Job]) -> list[str]:
    return list(dict.fromkeys(name for job in jobs for name in job.parameters))


def _format_result(job: Job) -> str:
    if job.result is None:
        return "-"
    return f"{job.result:.4g}" if job.interval is None else as_percent(job.result)


def _format_interval(job: Job) -> str:
    return "-" if job.interval is None else f"{100 * job.interval[0]:.1f}-{100 * job.interval[1]:.1f}%"


def _style(job: Job) -> str | None:
    return {"failed": "red", "pruned": "dim"}.get(job.status.partition(":")[0])


def as_csv(jobs: Sequence[Job]) -> str:
    """Return CSV with all parameters and unrounded results."""
    rows = list(_rows(jobs))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(jobs: Sequence[Job]) -> Iterator[dict[str, Any]]:
    names = _parameters(jobs)
    for job in jobs:
        low, high = job.interval or (None, None)
        parameters = {name: job.parameters.get(name) for name in names}
        result = {"metric": job.metric, "result": job.result, "low": low, "high": high, "status": job.status}
        yield {"job": job.name, **parameters, **result}
