"""The jobs of a sweep as a table: when it ends, however it ends, or at any time: python -m src.sweep <sweep dir>."""

import atexit
import contextlib
import io
import logging
import os
import shlex
import sys
import traceback
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

import src.resolvers  # noqa: F401 (registers them)
from src.cli import SWEEP_DIRECTORY, launch, quoted, user_message
from src.core import ranks
from src.core.errors import require
from src.core.files import new_directories, write_atomic
from src.core.runs import sweep
from src.core.runs.config_file import CONFIG

log = logging.getLogger(__name__)


class SweepTable(Callback):
    """What Hydra calls when a run or a sweep begins, and around each of its jobs."""

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Refuse a directory that holds a run before Hydra writes its notes over those of that run.

        Hydra only warns of an exception here, but lets `SystemExit` pass.
        """
        if config.get("resume") is not None or ranks.rank() > 0:
            return
        HydraConfig.instance().set_config(config)  # the name of the directory may refer to it
        directory, notes = Path(os.path.relpath(config.hydra.run.dir)), config.hydra.output_subdir
        new_directories.extend(path for path in (directory, *directory.parents) if not path.exists())
        if (directory / CONFIG).exists():
            sys.exit(f"error: {directory} holds a run already: resume={directory}, or name another directory")
        if notes is not None and (directory / notes).exists():
            sys.exit(f"error: {directory}/{notes} is of another command: delete it, or name another directory")

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Hydra says nothing when a sweep ends in an error, so the table waits for the end of the process."""
        require(ranks.world_size() == 1, "torchrun trains one run: start a sweep without it")
        directory = Path(os.path.relpath(config.hydra.sweep.dir))
        words = [word for word in sys.argv[1:] if not word.startswith(SWEEP_DIRECTORY)]
        command = shlex.join(["python", "-m", "src.train", *words, SWEEP_DIRECTORY + quoted(str(directory))])
        write_atomic(directory / sweep.COMMAND, f"{command}\n")
        atexit.register(conclude, directory)

    def on_job_start(self, config: DictConfig, **_: Any) -> None:
        if config.hydra.mode == RunMode.MULTIRUN:
            Path(config.hydra.runtime.output_dir, sweep.FAILED).unlink(missing_ok=True)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        """Keep the reason of a failure with the job: Hydra raises the first one only, once all have ended."""
        if config.hydra.mode == RunMode.MULTIRUN and job_return.status == JobStatus.FAILED:
            error = job_return._return_value  # the property raises it
            reason = (
                user_message(error)
                or f"{type(error).__name__}: {error}\n\n{''.join(traceback.format_exception(error))}"
            )
            log.error("failed: %s", reason)
            write_atomic(Path(config.hydra.runtime.output_dir, sweep.FAILED), f"{reason}\n")


def conclude(directory: Path) -> None:
    if not any(directory.glob("*/.hydra/overrides.yaml")):  # it was refused before any job began
        for name in (sweep.COMMAND, "multirun.yaml"):
            (directory / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # somebody's folder that holds other things
            directory.rmdir()
        return
    jobs = show(directory)
    print(f"the table is in {directory}/sweep.csv")
    if any(job.status != "finished" for job in jobs):
        print(f"to go on with the sweep: {(directory / sweep.COMMAND).read_text()}", end="")


def show(directory: Path) -> list[sweep.Job]:
    """Print the table, and write it into the sweep directory as text and as CSV."""
    from rich.console import Console

    jobs, text = sweep.read_jobs(directory), io.StringIO()
    table = sweep.as_table(str(directory), jobs)
    for console in (Console(), Console(file=text, width=160)):
        console.print(table)
    write_atomic(directory / "sweep.txt", text.getvalue())
    write_atomic(directory / "sweep.csv", sweep.as_csv(jobs))
    return jobs


def main() -> None:
    named = len(sys.argv) == 2 and not sys.argv[1].startswith("-")
    require(named, "name one sweep directory, such as: python -m src.sweep outputs/sweeps/...")
    show(Path(sys.argv[1]))


if __name__ == "__main__":
    launch(main)
