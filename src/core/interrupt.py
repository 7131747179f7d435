"""Stop compiled code while it runs: on Ctrl-C, for which Python's own handler would wait, or from another thread."""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")

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
        outer, own.token = own.token, self
        try:
            self._check()
            result = work(*arguments, **options)
        except KeyboardInterrupt:
            self._check()
            raise
        finally:
            own.token = outer
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


class _Own(threading.local):
    token: CancellationToken | None = None


own = _Own()  # the token of the work of each thread


class stoppable:  # noqa: N801 (a context manager; contextlib's would be slow for searches of microseconds)
    """Call `stop` from another thread on Ctrl-C, or when the token of this thread is cancelled.

    The code in the block must release the GIL and then return soon; what follows it raises `KeyboardInterrupt`.
    """

    __slots__ = ("stop", "token")

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop = stop
        self.token = own.token

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
