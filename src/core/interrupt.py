"""Stop compiled code while it runs: on Ctrl-C, for which Python's own handler would wait, from another thread, or by a
`stop` on standard input."""

import contextlib
import queue
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import ParamSpec, TextIO, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")

MAX_LINE_LENGTH = 1 << 20  # characters
MAX_WAITING_LINES = 1000

_running: list[Callable[[], None]] = []  # stops the compiled code that is running
_interrupted = threading.Event()  # set on Ctrl-C


class CancelledWorkError(Exception):
    """The token of the work was cancelled."""


class CancellationToken:
    """Cancels work from another thread: the `stoppable` code that is running, and all that would run after it."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._running: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def cancel(self) -> None:
        with self._lock:
            self.is_cancelled = True
            for stop in self._running:
                stop()

    def run(self, work: Callable[P, Result], *arguments: P.args, **options: P.kwargs) -> Result:
        """Call `work` in this thread; raise `CancelledWorkError` once the token is cancelled."""
        outer, _thread.token = _thread.token, self
        try:
            self._check()
            result = work(*arguments, **options)
        except KeyboardInterrupt:
            self._check()
            raise
        finally:
            _thread.token = outer
        self._check()
        return result

    def _check(self) -> None:
        if self.is_cancelled:
            raise CancelledWorkError

    def enter(self, stop: Callable[[], None]) -> None:
        with self._lock:
            self._running.append(stop)
            if self.is_cancelled:
                stop()

    def exit(self, stop: Callable[[], None]) -> None:
        with self._lock:
            self._running.remove(stop)


class _ThreadLocal(threading.local):
    token: CancellationToken | None = None  # of the work of this thread


_thread = _ThreadLocal()


def is_cancellable() -> bool:
    """Return whether the work of this thread has a token that may cancel it."""
    return _thread.token is not None


class stoppable:  # noqa: N801 (a context manager; contextlib's would be slow for searches of microseconds)
    """Call `stop` from another thread on Ctrl-C, or when the token of this thread is cancelled.

    The code in the block must release the GIL and then return soon; what follows it raises `KeyboardInterrupt`.
    """

    __slots__ = ("stop", "token")

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop = stop
        self.token = _thread.token

    def __enter__(self) -> None:
        _running.append(self.stop)
        if self.token is not None:
            self.token.enter(self.stop)

    def __exit__(self, *_: object) -> None:
        _running.remove(self.stop)
        if self.token is not None:
            self.token.exit(self.stop)


@contextlib.contextmanager
def handle_interrupts() -> Iterator[None]:
    """Let Ctrl-C stop `stoppable` code, and loops that call `raise_interrupt`.

    Has no effect outside the main thread, which alone receives signals. The interpreter writes the number of each
    signal to a socket at once, even while the main thread is busy.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _interrupted.clear()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(receiver,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        sender.close()  # which ends the watcher
        watcher.join()
        receiver.close()
        _interrupted.clear()


def raise_interrupt() -> None:
    """Raise `KeyboardInterrupt` after Ctrl-C, in case Python's own was lost in a callback from C, such as LLVM's."""
    if _interrupted.is_set():
        raise KeyboardInterrupt


def _watch(receiver: socket.socket) -> None:
    while numbers := receiver.recv(64):
        if signal.SIGINT in numbers:
            _interrupted.set()
            for stop in list(_running):
                stop()


class CommandReader:
    """Read lines in a thread of their own, so that `stop` is noticed while a command runs."""

    def __init__(self, lines: TextIO, stop: Callable[[], None]) -> None:
        self._lines, self._stop = lines, stop
        self._waiting: queue.Queue[str | None] = queue.Queue(MAX_WAITING_LINES)
        self._read = self._taken = self._stopped = 0  # numbers of lines: the latest one, and the latest to be stopped
        threading.Thread(target=self._run, daemon=True).start()  # it may wait for a line that never comes

    def __iter__(self) -> Iterator[str]:
        """Yield the lines other than `stop`, up to `quit`; of one that is too long, the first MAX_LINE_LENGTH."""
        while (line := self._waiting.get()) is not None:
            self._taken += 1
            yield line

    def is_stopped(self) -> bool:
        """Whether `stop` was sent after the line that was yielded last."""
        return self._taken <= self._stopped

    def _run(self) -> None:
        try:
            while (line := self._lines.readline(MAX_LINE_LENGTH)) and line.split() != ["quit"]:
                if line.split() == ["stop"]:
                    self._stopped = self._read
                    self._stop()  # before the next line is read: it must not end a later command
                    continue
                self._read += 1
                self._waiting.put(line)
                while len(line) == MAX_LINE_LENGTH and not line.endswith("\n"):  # skip the rest of a long line
                    line = self._lines.readline(MAX_LINE_LENGTH)
        finally:
            self._waiting.put(None)
