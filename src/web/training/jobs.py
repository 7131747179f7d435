"""Trainings started from the page. They are processes of their own: a server that is started again finds them.

Each has a folder with its command, its output and a file that its process keeps locked as long as it lives.
"""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ...core.errors import UserError, require
from ...core.files import read_regular, write_atomic
from ...core.package import ROOT
from ...core.runs.run import is_training

MAX_RUNNING = 2  # trainings at a time
NICENESS = 10  # of a training, so that those who play on the same cores come first
MAX_KEPT = 50  # records of trainings that have ended; their runs are kept
MAX_RECORD = 1 << 16  # bytes
TAIL = 1 << 14  # bytes of output that are shown
STOPPED = "stopped"  # a file in the folder of a training that was stopped on the page
INTERRUPTED = "stopped: continue with "  # what src.train prints at last after Ctrl-C
PROGRESS = re.compile(r"^ *\d+% ([\d,]+)/([\d,]+) (\w+)", re.MULTILINE)  # as src.core.runs.console prints it
EVALUATED = "games"  # the unit of the evaluation after the training


@dataclass(frozen=True)
class Job:
    """A training: its folder, the arguments of `src.train`, the run directory and the process."""

    folder: Path
    arguments: tuple[str, ...]
    directory: Path
    pid: int | None

    @property
    def name(self) -> str:
        return self.folder.name


class Jobs:
    """The trainings below `home`, which is the folder of runs."""

    def __init__(self, home: Path) -> None:
        self.home, self._folder = home, home / ".training"  # hidden, so that it is not searched for runs
        self._starting = threading.RLock()  # of one at a time, so that their number is limited
        self._children: list[subprocess.Popen[bytes]] = []

    def all(self) -> list[Job]:
        """Return the trainings, latest first."""
        with self._starting:
            self._children = [child for child in self._children if child.poll() is None]  # which reaps those that ended
        folders = sorted(self._folder.iterdir(), reverse=True) if self._folder.is_dir() else []
        return [job for job in map(_read, folders) if job is not None]

    def running(self) -> list[Job]:
        return [job for job in self.all() if is_running(job)]

    def job(self, name: str) -> Job:
        """Return a training by its name, which is untrusted."""
        return next((job for job in self.all() if job.name == name), None) or _raise(f"{name[:80]} is not a training")

    def new_directory(self, env: str, algo: str) -> Path:
        """Return a run directory like those of `src.train`."""
        return self.home / "runs" / env / algo / _now()

    def start(self, arguments: Sequence[str], directory: Path) -> Job:
        """Start `src.train` with these arguments, without a shell."""
        with self._starting:
            running = self.running()
            require(
                len(running) < MAX_RUNNING,
                f"{len(running)} trainings are running, and at most {MAX_RUNNING} run at a time: stop one, or wait",
            )
            busy = is_training(directory) or any(job.directory == directory for job in running)
            require(not busy, f"{directory} is being trained already")
            self._forget()
            folder = self._folder / _now()
            folder.mkdir(parents=True)
            job = Job(folder, tuple(arguments), directory, None)
            _write(job)
            process = _launch(job)
            self._children.append(process)
            job = Job(folder, job.arguments, directory, process.pid)
            _write(job)
            return job

    def stop(self, name: str) -> None:
        """Interrupt a training as Ctrl-C does; a second interrupt could break off what the first one saves."""
        job = self.job(name)
        require(is_running(job), "this training has already ended")
        require(state_of(job, tail(job)) == "running", "this training is being stopped: it ends after its current step")
        if job.pid is None:
            raise UserError("the process of this training is not known: the server ended while it started it")
        try:
            (job.folder / STOPPED).touch(exist_ok=False)
        except FileExistsError:
            return  # by another tab at the same moment
        _send(job.pid, signal.SIGINT)

    def end(self, name: str) -> None:
        """Kill a training that does not end after `stop`. What it did after its last checkpoint is lost."""
        job = self.job(name)
        require(is_running(job), "this training has already ended")
        require((job.folder / STOPPED).exists(), "stop this training before you end it: it then saves what it has")
        assert job.pid is not None, "it was stopped by its process id"
        _send(job.pid, signal.SIGKILL)

    def _forget(self) -> None:
        ended = [job for job in self.all() if not is_running(job)]
        for job in ended[MAX_KEPT:]:
            shutil.rmtree(job.folder, ignore_errors=True)


def _launch(job: Job) -> subprocess.Popen[bytes]:
    """Start the process in a session of its own, so that Ctrl-C at the server does not reach it."""
    alive = os.open(job.folder / "alive", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(alive, fcntl.LOCK_EX)  # inherited: held until the process ends, even if the server ends before it
        with (job.folder / "log.txt").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", f"{ROOT}.train", *job.arguments, *_output_directory(job)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[alive],
            )
        with suppress(ProcessLookupError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
        return process
    except OSError as error:
        shutil.rmtree(job.folder, ignore_errors=True)
        raise UserError(f"the training cannot be started: {error.strerror}") from error
    finally:
        os.close(alive)


def _output_directory(job: Job) -> list[str]:
    """Return the argument that sets the run directory; a resumed run sets its own."""
    resumed = any(word.startswith("resume=") for word in job.arguments)
    return [] if resumed else [f"hydra.run.dir={quoted(str(job.directory))}"]


def quoted(text: str) -> str:
    """Quote a value for Hydra."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return text if re.fullmatch(r"[\w./:@+-]+", text) else f"'{escaped}'"


def is_running(job: Job) -> bool:
    try:
        alive = os.open(job.folder / "alive", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(alive, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two looks do not take each other for a training
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(alive)


def can_continue(job: Job, state: str) -> bool:
    """Whether a training that has ended early has begun, so that it can be continued."""
    return state in ("stopped", "failed") and (job.directory / "config.yaml").is_file()


def state_of(job: Job, output: str) -> str:
    """Return running, stopping, finished, stopped (as by Ctrl-C) or failed (by an error, or killed)."""
    asked = (job.folder / STOPPED).exists()
    if is_running(job):
        return "stopping" if asked else "running"
    if (job.directory / "eval.json").is_file():
        return "finished"
    return "stopped" if asked or INTERRUPTED in output else "failed"


def _send(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # it has ended meanwhile
        os.killpg(group, number)


def tail(job: Job) -> str:
    """Return the end of the output."""
    try:
        with (job.folder / "log.txt").open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - TAIL, 0))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def progress(output: str, step: float | None) -> tuple[int, int, str] | None:
    """Return how much is done, of how much, and its unit, from the output and the last step of the log."""
    found = PROGRESS.findall(output)
    if not found:
        return None
    done, total, unit = int(found[-1][0].replace(",", "")), int(found[-1][1].replace(",", "")), found[-1][2]
    if unit != EVALUATED:  # the log is written more often than a line of the output
        done = min(max(done, int(step or 0)), total)
    return done, total, unit


def _read(folder: Path) -> Job | None:
    try:
        found: Any = json.loads(read_regular(folder / "job.json", MAX_RECORD))
        pid = found["pid"]
        return Job(folder, tuple(map(str, found["arguments"])), Path(found["directory"]), pid and int(pid))
    except (UserError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _write(job: Job) -> None:
    record = {"arguments": job.arguments, "directory": str(job.directory), "pid": job.pid}
    write_atomic(job.folder / "job.json", json.dumps(record, indent=2) + "\n")


def _now() -> str:
    return datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")


def _raise(message: str) -> Job:
    raise UserError(message)
