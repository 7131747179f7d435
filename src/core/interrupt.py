"""Handle Ctrl-C while compiled code runs: Python's own handler waits until that returns."""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator

_running: list[Callable[[], None]] = []  # stops the compiled code that is running


class stoppable:  # noqa: N801 (a context manager; contextlib's would be slow for searches of microseconds)
    """Call `stop` from another thread on Ctrl-C; the code in the block must release the GIL and then return soon."""

    __slots__ = ("stop",)

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop = stop

    def __enter__(self) -> None:
        _running.append(self.stop)

    def __exit__(self, *_: object) -> None:
        _running.remove(self.stop)


@contextlib.contextmanager
def handle_interrupts() -> Iterator[None]:
    """Let Ctrl-C stop `stoppable` code. Has no effect outside the main thread, which alone receives signals.

    The interpreter writes the number of each signal to a socket at once, even while the main thread is busy.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
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


def _watch(receiver: socket.socket) -> None:
    while numbers := receiver.recv(64):
        if signal.SIGINT in numbers:
            for stop in list(_running):
                stop()
