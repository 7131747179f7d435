"""Training runs started from the page, each a process of its own: a server that is started again finds them.

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
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import UserError, require
from ..files import read_regular, write_atomic
from ..package import ROOT
from .run import is_training

MAX_RUNNING = 2  # jobs at a time
NICENESS = 10  # of a job, so that those who play on the same cores come first
MAX_KEPT = 50  # records of jobs that have ended; their runs are kept
MAX_RECORD = 1 << 16  # bytes
TAIL = 1 << 14  # bytes of output that are shown
STOPPED = "stopped"  # a file in the folder of a job that was stopped on the page
INTERRUPTED = "stopped: continue with "  # what src.train prints at last after Ctrl-C
SWEEP = "-m"  # the first argument of a sweep, whose directory has one for each run
TIMESTAMP = "%Y-%m-%d_%H-%M-%S-%f"


@dataclass(frozen=True)
class Job:
    """A training run: its folder, the arguments of `src.train`, the run directory and the process."""

    folder: Path
    arguments: tuple[str, ...]
    directory: Path
    pid: int | None = None

    def is_running(self) -> bool:
        try:
            lock = os.open(self.folder / "alive", os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two probes do not take each other for a job
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(lock)

    def state(self) -> str:
        """Return running, stopping, finished, stopped (as by Ctrl-C) or failed (by an error, or killed)."""
        asked = (self.folder / STOPPED).exists()
        if self.is_running():
            return "stopping" if asked else "running"
        runs = self.runs()
        if runs and all((run / "eval.json").is_file() for run in runs) and not (asked and self.is_sweep):
            return "finished"
        return "stopped" if asked or INTERRUPTED in self.output() else "failed"

    @property
    def is_sweep(self) -> bool:
        return self.arguments[:1] == (SWEEP,)

    def runs(self) -> list[Path]:
        """Return the directories of its runs that have begun, latest last."""
        if not self.is_sweep:
            return [self.directory] if (self.directory / "config.yaml").is_file() else []
        numbered = [path.parent for path in self.directory.glob("*/config.yaml") if path.parent.name.isdecimal()]
        return sorted(numbered, key=lambda path: int(path.name))

    def can_continue(self) -> bool:
        """Whether it has ended early, but after it had begun."""
        return self.state() in ("stopped", "failed") and bool(self.runs())

    def output(self) -> str:
        """Return the end of the output."""
        try:
            with (self.folder / "log.txt").open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(file.tell() - TAIL, 0))
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    def save(self) -> None:
        record = {"arguments": self.arguments, "directory": str(self.directory), "pid": self.pid}
        write_atomic(self.folder / "job.json", json.dumps(record, indent=2) + "\n")

    def _signal(self, number: signal.Signals) -> None:
        assert self.pid is not None
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.killpg(self.pid, number)

    def stop(self) -> None:
        """Interrupt it as Ctrl-C does; a second interrupt could break off what the first one saves."""
        require(self.is_running(), "this training has already ended")
        require(self.state() == "running", "this training is being stopped: it ends after its current step")
        require(self.pid is not None, "the process of this training is not known: the server ended while it started it")
        try:
            (self.folder / STOPPED).touch(exist_ok=False)
        except FileExistsError:
            return  # by another tab at the same moment
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill it if it does not end after `stop`. What it did after its last checkpoint is lost."""
        require(self.is_running(), "this training has already ended")
        require((self.folder / STOPPED).exists(), "stop this training before you end it: it then saves what it has")
        self._signal(signal.SIGKILL)


class Jobs:
    """The jobs below `home`, which is the folder of runs."""

    def __init__(self, home: Path) -> None:
        self.home, self._folder = home, home / ".training"  # hidden, so that it is not searched for runs
        self._starting = threading.RLock()  # of one at a time, so that their number is limited
        self._children: list[subprocess.Popen[bytes]] = []

    def latest(self) -> list[Job]:
        """Return the latest job of each run, latest first: a run that was continued has several."""
        found: dict[Path, Job] = {}
        for job in self.all():
            found.setdefault(job.directory, job)
        return list(found.values())

    def all(self) -> list[Job]:
        """Return the jobs, latest first."""
        with self._starting:
            self._children = [child for child in self._children if child.poll() is None]  # which reaps those that ended
        folders = sorted(self._folder.iterdir(), reverse=True) if self._folder.is_dir() else []
        return [job for job in map(_load, folders) if job is not None]

    def running(self) -> list[Job]:
        return [job for job in self.all() if job.is_running()]

    def new_directory(self, env: str, algo: str) -> Path:
        """Return a run directory as `src.train` names it."""
        return self.home / "runs" / env / algo / f"{datetime.now():{TIMESTAMP}}"

    def new_sweep(self) -> Path:
        return self.home / "sweeps" / f"{datetime.now():{TIMESTAMP}}"

    def start(self, arguments: Sequence[str], directory: Path) -> Job:
        """Start `src.train` with these arguments, without a shell."""
        with self._starting:
            running = self.running()
            require(
                len(running) < MAX_RUNNING,
                f"{len(running)} training runs are active, and at most {MAX_RUNNING} run at a time: stop one, or wait",
            )
            busy = is_training(directory) or any(job.directory == directory for job in running)
            require(not busy, f"{directory} is being trained already")
            self.forget_old()
            job = Job(self._folder / f"{datetime.now():{TIMESTAMP}}", tuple(arguments), directory)
            job.folder.mkdir(parents=True)
            job.save()
            process = _launch(job)
            self._children.append(process)
            job = replace(job, pid=process.pid)
            job.save()
            return job

    def forget_old(self) -> None:
        """Remove the records of jobs that ended long ago."""
        ended = [job for job in self.all() if not job.is_running()]
        for job in ended[MAX_KEPT:]:
            shutil.rmtree(job.folder, ignore_errors=True)


def _load(folder: Path) -> Job | None:
    try:
        found: Any = json.loads(read_regular(folder / "job.json", MAX_RECORD))
        pid = found["pid"]
        return Job(folder, tuple(map(str, found["arguments"])), Path(found["directory"]), pid and int(pid))
    except (UserError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _launch(job: Job) -> subprocess.Popen[bytes]:
    """Start the process in a session of its own, so that Ctrl-C at the server does not reach it."""
    resumed = any(word.startswith("resume=") for word in job.arguments)  # such a run sets its own directory
    kind = "sweep" if job.is_sweep else "run"
    directory = [] if resumed else [f"hydra.{kind}.dir={quote_value(str(job.directory))}"]
    lock = os.open(job.folder / "alive", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # inherited: held until the process ends, even if the server ends before it
        with (job.folder / "log.txt").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", f"{ROOT}.train", *job.arguments, *directory],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[lock],
            )
        with suppress(ProcessLookupError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
        return process
    except OSError as error:
        shutil.rmtree(job.folder, ignore_errors=True)
        raise UserError(f"the training cannot be started: {error.strerror}") from error
    finally:
        os.close(lock)


def quote_value(text: str) -> str:
    """Quote a value for Hydra."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return text if re.fullmatch(r"[\w./:@+-]+", text) else f"'{escaped}'"
