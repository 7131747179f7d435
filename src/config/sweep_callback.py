"""Hydra callback of `train`: check output directories and the jobs of a sweep, print the table when it ends."""

import atexit
import functools
import io
import itertools
import logging
import os
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from ..core import ranges, ranks
from ..core.errors import UserError, require
from ..core.files import new_directories, remove_new_directories, require_closed, write_atomic
from ..core.package import command
from ..core.runs import sweep_jobs, trials
from ..core.runs.config_file import CONFIG
from ..core.runs.console import printable
from .cli import SWEEP_DIRECTORY, quote_value
from .errors import UserExit, user_message

log = logging.getLogger(__name__)

MAX_JOBS = 10_000  # of a sweep, which Hydra composes before it starts the first one
_running: list[Callable[[], bool]] = []  # finishes the sweep; not in the callback, which launchers pickle


def exit_on_callback_error(callback: Callable[[Any, DictConfig], None]) -> Callable[..., None]:
    """Decorate a callback to exit with a one-line message on a user error: Hydra only logs other exceptions of it."""

    @functools.wraps(callback)
    def wrapper(self: Callback, config: DictConfig, **_: Any) -> None:
        try:
            callback(self, config)
        except Exception as error:
            raise UserExit(user_message(error) or f"{type(error).__name__}: {error}") from error

    return wrapper


def new_output(key: str, value: Any) -> Path:
    """Return the output directory at `key`, and record what has to be created; raise `UserError` if it has a run."""
    require(bool(value) and isinstance(value, str), f"{key}={ranges.shown(value)} must be the name of a directory")
    directory = Path(os.path.relpath(value))
    require_closed(directory)
    new_directories.extend(path for path in (directory, *directory.parents) if not path.exists())
    has_run = (directory / CONFIG).exists()
    require(not has_run, f"{directory} already contains a run: type resume={directory}, or choose another directory")
    return directory


def list_jobs(config: DictConfig) -> list[list[str]]:
    """Return the overrides of each job of a sweep; raise `UserError` if there is none, or too many."""
    total = 1
    overrides = OverridesParser.create(GlobalHydra.instance().config_loader()).parse_overrides(
        list(config.hydra.overrides.task)
    )
    for one in overrides:
        if one.is_sweep_override():
            require(
                one.is_discrete_sweep(), f"{one.input_line} is for a search: add hparams_search=optuna, or list values"
            )
            count = sum(1 for _ in itertools.islice(one.sweep_iterator(), MAX_JOBS + 1))
            require(count > 0, f"{one.input_line} has no value: a sweep needs at least one for each setting")
            total *= count
            require(total <= MAX_JOBS, f"{one.input_line} makes more than {MAX_JOBS:,} jobs: choose fewer values")
    return BasicSweeper.split_arguments(overrides, None)[0]


def require_valid_job(config: DictConfig, directory: Path, jobs: list[list[str]]) -> None:
    """Raise the `UserError` of the first job if none has valid settings."""
    from .compose import prepare, without_hydra  # a slow import, which --help does not need

    if not config.hydra.launcher._target_.endswith(".BasicLauncher"):
        return  # the jobs run elsewhere, such as on another machine with a GPU
    loader, refusal = GlobalHydra.instance().config_loader(), None
    for number, job in enumerate(jobs):
        try:
            composed = loader.load_sweep_config(config, job)
            composed.hydra.job.num = number  # the launcher sets it
            HydraConfig.instance().set_config(composed)
            prepare(without_hydra(composed), directory / composed.hydra.sweep.subdir)
            return
        except Exception as error:
            if user_message(error) is None:
                return  # a bug, which is reported with the job
            refusal = refusal or error
    assert refusal is not None
    raise refusal


class SweepCallback(Callback):
    """Hydra callback that checks run directories and prints the table of a sweep."""

    @exit_on_callback_error
    def on_run_start(self, config: DictConfig) -> None:
        """Exit if the directory contains a run, before Hydra overwrites its .hydra files."""
        if config.get("resume") is not None or ranks.rank() > 0:
            return
        HydraConfig.instance().set_config(config)  # the directory name may interpolate it
        directory, notes = new_output("hydra.run.dir", config.hydra.run.dir), config.hydra.output_subdir
        taken = notes is not None and (directory / notes).exists()
        require(not taken, f"{directory}/{notes} belongs to another command: delete it, or choose another directory")

    @exit_on_callback_error
    def on_multirun_start(self, config: DictConfig) -> None:
        """Lock the directory; finish the sweep at process exit if it fails, for which Hydra has no callback."""
        require(ranks.world_size() == 1, "torchrun supports single runs only: start a sweep without it")
        HydraConfig.instance().set_config(config)
        directory = new_output("hydra.sweep.dir", config.hydra.sweep.dir)
        if config.hydra.sweeper._target_.endswith(".BasicSweeper"):
            require_valid_job(config, directory, list_jobs(config))
        elif not (directory / trials.JOURNAL).exists():
            from .hparams_search import sample_jobs

            require_valid_job(config, directory, sample_jobs(config))
        words = [word for word in sys.argv[1:] if not word.startswith(SWEEP_DIRECTORY)]
        full = command("train", *words, SWEEP_DIRECTORY + quote_value(str(directory)))
        created = [
            path
            for name in (sweep_jobs.COMMAND, "multirun.yaml", trials.JOURNAL)
            if not (path := directory / name).exists()
        ]
        _running.append(partial(finish_sweep, directory, created, sweep_jobs.lock(directory)))
        atexit.register(_running[-1])
        write_atomic(directory / sweep_jobs.COMMAND, f"{full}\n")

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Finish a sweep that did not fail; an error in its table is one of the command."""
        finish = _running.pop()
        atexit.unregister(finish)
        if not finish():
            sys.exit(1)

    def on_job_start(self, config: DictConfig, **_: Any) -> None:
        if config.hydra.mode == RunMode.MULTIRUN:
            Path(config.hydra.runtime.output_dir, sweep_jobs.FAILED).unlink(missing_ok=True)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        """Save the error of a failed job: Hydra raises only the first one, after all jobs."""
        if config.hydra.mode == RunMode.MULTIRUN and job_return.status == JobStatus.FAILED:
            error = job_return._return_value  # the public property would raise it
            reason = (
                user_message(error)
                or f"{type(error).__name__}: {error}\n\n{''.join(traceback.format_exception(error))}"
            )
            log.error("failed: %s", reason)
            write_atomic(Path(config.hydra.runtime.output_dir, sweep_jobs.FAILED), f"{reason}\n")


def finish_sweep(directory: Path, created: list[Path], lock: FileLock) -> bool:
    """Print the table, or remove what the sweep has created if no job was started; unlock the directory.

    Return whether the table could be made.
    """
    started, succeeded = any(directory.glob("*/.hydra/overrides.yaml")), True
    try:
        if started:
            jobs = show(directory)
            print(printable(f"the jobs are in {directory}/sweep.csv"))
            is_search = (directory / trials.JOURNAL).exists()  # which does not repeat failed jobs
            if any(job.status == "not finished" or (job.status.startswith("failed") and not is_search) for job in jobs):
                print(printable(f"continue the sweep with: {sweep_jobs.read_text(directory / sweep_jobs.COMMAND)}"))
    except (UserError, OSError) as error:
        succeeded = False
        print(printable(f"error: {user_message(error)}"), file=sys.stderr)
    for path in () if started else created:
        path.unlink(missing_ok=True)
    (directory / sweep_jobs.LOCK).unlink(missing_ok=True)
    lock.release()
    if not started:
        remove_new_directories()
    return succeeded


def show(directory: Path) -> list[sweep_jobs.Job]:
    """Print the table of the jobs, and write it to the sweep directory as text and CSV.

    A sweep over seeds also has the comparison of its settings, a search its report.
    """
    from ..core.runs.comparison import compare
    from ..core.runs.comparison_report import tables, write
    from ..core.runs.report import PlainConsole
    from ..core.runs.trials import write_report

    jobs, text = sweep_jobs.read_jobs(directory), io.StringIO()
    shown = [sweep_jobs.as_table(str(directory), jobs)]
    finished = [directory / job.name for job in jobs if job.status == sweep_jobs.FINISHED]
    comparison, note = None, ""
    if finished and any("seed" in job.parameters for job in jobs):
        try:
            comparison = compare(finished)
        except UserError as error:  # such as settings without a common environment: the jobs are shown nevertheless
            note = f"the settings are not compared: {error}"
    if comparison is not None and any(setting.seeds > 1 for setting in comparison.settings):
        shown += tables(comparison)
        write(comparison, directory)
        note = f"tables and figure of the settings are in {directory}/comparison.*"
    for console in (PlainConsole(), PlainConsole(file=text, width=160)):
        console.print(*shown, sep="")
    write_atomic(directory / "sweep.txt", text.getvalue())
    write_atomic(directory / "sweep.csv", sweep_jobs.as_csv(jobs))
    if note:
        print(printable(note))
    if (best := write_report(directory, jobs)) is not None:
        print(printable(best))
    return jobs
