"""Children forked from a process that has imported everything, so that each starts within milliseconds.

The parent must not have started threads: it never runs a network or a parallel kernel itself.
"""

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WITHOUT_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
POLL = 0.002  # seconds


@dataclass
class Child:
    pid: int
    output: Path  # its printed output
    status: int | None = None  # as waitpid has it, once it has ended

    def poll(self) -> bool:
        """Whether it has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def wait(self, seconds: float) -> bool:
        """Whether it ended in time."""
        until = time.monotonic() + seconds
        while not self.poll():
            if time.monotonic() > until:
                return False
            time.sleep(POLL)
        return True

    def send(self, number: int) -> bool:
        """Send a signal; return whether the child was still alive."""
        if self.poll():
            return False
        os.kill(self.pid, number)
        return True

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.wait(60)

    @property
    def code(self) -> int:
        """Return the exit code; negative if a signal ended it."""
        assert self.status is not None
        return os.waitstatus_to_exitcode(self.status)

    @property
    def text(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""


def start(work: Callable[[], object], output: Path, memory: int | None = None) -> Child:
    """Run `work` in a child with a limit of additional memory; its exit code is that of a command."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return Child(pid, output)
    code = 70
    try:
        _redirect(output)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if memory is not None:
            most = _address_space() + memory
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        code = _exit_code(work)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)  # neither what is registered with atexit nor the parent's code is for the child


def _redirect(output: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for descriptor, old in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(descriptor, old)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))  # a test has others


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _exit_code(work: Callable[[], object]) -> int:
    try:
        work()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
