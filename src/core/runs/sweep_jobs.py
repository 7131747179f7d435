"""Read the jobs of a sweep from its directory."""

import csv
import io
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from rich.table import Table

from ..errors import UserError, require
from ..files import read_regular, require_closed
from ..play.arena import wilson_interval
from .config_file import CONFIG, MAX_BYTES, OVERRIDES, parse_overrides, read_config
from .report import as_percent, as_percents, new_table
from .run import PRUNED
from .runlog import LoggedMetrics

COMMAND = "command.txt"  # in the sweep directory: the command that resumes it
FAILED = "failed.txt"  # in the directory of a failed job: the reason, in its first line
LOCK = ".sweep.lock"  # in the sweep directory, held by the process that runs its jobs
FINISHED = "finished"  # status of a job
MAX_TEXT = 1 << 20  # bytes of these files
RATES = ("win_rate", "draw_rate", "loss_rate", "aborted_rate")  # fractions of games, which have an interval
DEFERRED = re.compile(r"\$\\?\{option\\?:(\w+)\\?\}")  # Hydra escapes it in the overrides of a job
RANGES = dict.fromkeys(RATES, (0, 1)) | {"episodes": (1, 10**15)}  # of metrics, by the last part of their names


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
    require_closed(path.parent)
    if path.exists():
        text = read_text(path)
        try:
            _python, _dash_m, _module, *words = shlex.split(text)
        except ValueError as error:
            raise UserError(f"{path} is not a command, {error}: delete it if you know the command") from error
        same = _job_words(words) == _job_words(arguments)
        require(same, f"{directory} is the sweep of another command: resume it with {text}")


def _job_words(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that define the jobs and their order, without launcher and logger."""
    return [word for word in arguments if not word.startswith(("-", "hydra.", "hydra/", "launcher=", "logger"))]


def lock(sweep: Path) -> FileLock:
    """Lock a sweep directory, so that two commands do not run the same jobs."""
    sweep.mkdir(parents=True, exist_ok=True)
    held = FileLock(sweep / LOCK)
    try:
        held.acquire(timeout=0.1)
    except Timeout:
        raise UserError(f"another process runs the sweep in {sweep}: wait for it or stop it") from None
    return held


def read_text(path: Path) -> str:
    try:
        return read_regular(path, MAX_TEXT).decode().strip()
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: {error}") from error


def read_jobs(sweep: Path) -> list[Job]:
    """Read all started jobs, in order."""
    require_closed(sweep)
    directories = [path.parent.parent for path in sweep.glob(f"*/{OVERRIDES}")]
    require(bool(directories), f"{sweep} is not a sweep directory: it has no jobs")
    return [_read_job(directory) for directory in sorted(directories, key=lambda path: (len(path.name), path.name))]


def _read_job(directory: Path) -> Job:
    path = directory / OVERRIDES
    overrides = parse_overrides(read_regular(path, MAX_BYTES), str(path))
    pairs = (as_typed(override).lstrip("+").partition("=") for override in overrides)
    parameters = {key: value for key, _, value in pairs}
    metric = read_config(directory).get("optimized_metric") if (directory / CONFIG).exists() else None
    is_name = metric is None or isinstance(metric, str)
    require(is_name, f"{directory / CONFIG}: optimized_metric={metric} must be the name of a metric")
    result, interval, status = None, None, status_of(directory)
    if metric is not None and status == FINISHED:
        log = LoggedMetrics(directory)
        result = final_metric(log, metric)
        if is_rate(metric):
            games = round(final_metric(log, "final/episodes"))
            interval = wilson_interval(round(result * games), games)
    return Job(directory.name, parameters, metric, result, interval, status)


def status_of(directory: Path) -> str:
    """Return whether a run is `FINISHED`, or why not."""
    failed, done = directory / FAILED, directory / "eval.json"
    # A job may finish after an earlier failure.
    if failed.exists() and not (done.exists() and done.stat().st_mtime >= failed.stat().st_mtime):
        return "failed: " + read_text(failed).partition("\n")[0]
    if (directory / PRUNED).exists():
        return f"pruned: {read_text(directory / PRUNED)}"
    return FINISHED if done.exists() and (directory / CONFIG).exists() else "not finished"


def is_rate(metric: str) -> bool:
    """Return whether a metric is a fraction of games."""
    return metric.rpartition("/")[2] in RATES


def as_typed(override: str) -> str:
    """Return an override without the interpolation by which Hydra reads an option after the others."""
    return DEFERRED.sub(r"\1", override)


def final_metric(log: LoggedMetrics, metric: str) -> float:
    """Return a metric of the final evaluation of a finished run; earlier configurations call it eval/..."""
    name = metric.replace("eval/", "final/", 1)
    rows = log.rows_with(name)
    require(bool(rows), f"{log.path.parent} has no {metric} in its metrics.csv")
    try:
        value = float(rows[-1][name])
    except ValueError as error:
        raise UserError(f"{log.path}: {name} is not a number: {error}") from error
    kind = name.rpartition("/")[2]
    low, high = RANGES.get(kind, (value, value))
    require(kind not in RANGES or low <= value <= high, f"{log.path}: {name}={value} must be in [{low}, {high}]")
    return value


def as_table(title: str, jobs: Sequence[Job]) -> Table:
    """Return a table with the parameters in which jobs differ, or all if none does."""
    table = new_table(title)
    names = _parameters(jobs)
    varied = [name for name in names if len({job.parameters.get(name) for job in jobs}) > 1] or names
    metric = next((job.metric for job in jobs if job.metric is not None), "result")
    table.add_column("job", justify="right", no_wrap=True)
    for heading in short_names(varied):
        table.add_column(heading, justify="right", overflow="fold")
    for heading in (metric, "95% range"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status")
    for job in jobs:
        cells = [job.name, *(_rounded(job.parameters.get(name, "")) for name in varied)]
        if job.result is None or job.interval is None:
            cells += ["-" if job.result is None else f"{job.result:.4g}", "-"]
        else:
            cells += [as_percent(job.result), as_percents(*job.interval)]
        style = {"failed": "red", "pruned": "dim"}.get(job.status.partition(":")[0])
        table.add_row(*cells, job.status, style=style)
    return table


def short_names(keys: Sequence[str]) -> list[str]:
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


def as_csv(jobs: Sequence[Job]) -> str:
    """Return CSV with all parameters and unrounded results."""
    names, text = _parameters(jobs), io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["job", *names, "metric", "result", "low", "high", "status"])
    for job in jobs:
        parameters = (job.parameters.get(name) for name in names)
        writer.writerow([job.name, *parameters, job.metric, job.result, *(job.interval or (None, None)), job.status])
    return text.getvalue()
