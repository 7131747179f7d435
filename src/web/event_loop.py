"""Slow work off the event loop, and turns on it, so that many pages at once still answer their players."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from nicegui import ui

P = ParamSpec("P")
Result = TypeVar("Result")

# Searches in Python share one interpreter lock with the event loop: with many at once the pages would hardly answer.
SEARCHES = ThreadPoolExecutor(4, "search")
LONG = 4.0  # seconds before a note is shown
LONG_WORK = "Still working. The first use after an installation compiles code, which can take a minute."

_locks: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}


async def wait_turn() -> None:
    """Wait until no other piece of work that waits here runs in this round of the event loop.

    A piece, such as the elements of a page, lasts from here to the next `await`. Moves and messages are handled between
    two pieces; without turns all that are ready would run one after the other before them.
    """
    loop = asyncio.get_running_loop()
    lock = _locks.get(loop)
    if lock is None:
        _locks.clear()  # of loops that were closed
        lock = _locks[loop] = asyncio.Lock()
    await lock.acquire()
    loop.call_soon(lock.release)


async def in_thread(work: Callable[P, Result], *arguments: P.args, **options: P.kwargs) -> Result:
    """Run slow work in a thread, and return its result in a turn."""
    result = await asyncio.to_thread(work, *arguments, **options)
    await wait_turn()
    return result


class Busy:
    """A spinner that is visible during slow work; hidden, it keeps its space."""

    def __init__(self) -> None:
        self._working = 0
        self.on_change: Callable[[bool], None] = lambda working: None  # called when work begins, and when all is done
        self._spinner = ui.spinner(size="1.5em").classes("lab-busy")
        self._note = ui.label(LONG_WORK).classes("lab-note").props("role=status")
        self._note.set_visibility(False)

    @property
    def working(self) -> bool:
        return self._working > 0

    async def do(self, work: Callable[P, Result], *arguments: P.args, **options: P.kwargs) -> Result:
        """Run `work` in a thread and return its result.

        Raises `CancelledError` if the page was closed meanwhile.
        """
        return await self._finish(asyncio.to_thread(work, *arguments, **options))

    async def search(
        self, is_needed: Callable[[], bool], work: Callable[P, Result], *arguments: P.args, **options: P.kwargs
    ) -> Result:
        """Run a search like `do`, one of a few at a time; if it is not needed any more when it begins, cancel it."""

        def begin() -> Result:
            if not is_needed():
                raise asyncio.CancelledError
            return work(*arguments, **options)

        return await self._finish(asyncio.get_running_loop().run_in_executor(SEARCHES, begin))

    async def _finish(self, work: Awaitable[Result]) -> Result:
        """Show that there is work until it is done."""
        self._working += 1
        self.on_change(True)
        self._spinner.classes(add="on")
        note = asyncio.get_running_loop().call_later(LONG, self._note.set_visibility, True)
        try:
            result = await work
        finally:
            note.cancel()
            self._working -= 1
            self.on_change(self.working)
            if not self._working and not self._spinner.is_deleted:
                self._spinner.classes(remove="on")
                self._note.set_visibility(False)
        if self._spinner.is_deleted:
            raise asyncio.CancelledError
        return result
