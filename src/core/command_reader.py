"""Commands on standard input, read while an earlier one runs."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import TextIO

MAX_LINE_LENGTH = 1 << 20  # characters
MAX_WAITING_LINES = 1000


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
                if len(line) == MAX_LINE_LENGTH:
                    _skip_rest(line, self._lines)
                self._read += 1
                self._waiting.put(line)
        finally:
            self._waiting.put(None)


def _skip_rest(line: str, lines: TextIO) -> None:
    while line and not line.endswith("\n"):
        line = lines.readline(MAX_LINE_LENGTH)
