"""Ctrl-C while compiled code runs: Python's own handler has to wait until that returns."""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator

_running: list[Callable[[], None]] = []  # how to stop each piece of compiled code that runs now


class stoppable:  # noqa: N801 (a context manager, faster than one by contextlib: searches take microseconds)
    """Within, Ctrl-C calls `stop` from another thread; what runs has to release the GIL and to return soon after."""

    __slots__ = ("stop",)

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop = stop

    def __enter__(self) -> None:
        _running.append(self.stop)

    def __exit__(self, *_: object) -> None:
        _running.remove(self.stop)


@contextlib.contextmanager
def interrupts_watched() -> Iterator[None]:
    """Within, Ctrl-C reaches code that is `stoppable`. Only the main thread gets signals: elsewhere nothing changes.

    The handler of the interpreter writes the number of each signal to a socket at once, whatever the main thread does.
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
