"""Turns on the event loop, so that what players do is not delayed by many pages that are built at once."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")

_locks: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}


async def turn() -> None:
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
    await turn()
    return result
