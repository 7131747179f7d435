"""Share work among threads: compiled kernels release the interpreter, so they run at the same time."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from src.core.machine import CORES

Item = TypeVar("Item")
Result = TypeVar("Result")

FEWEST_ITEMS = 8  # below, waking the threads costs more than they save


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the pool of a process, as threads do not survive a fork; it is kept, as each thread keeps its buffers."""
    return ThreadPoolExecutor(CORES)


def map_in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results in the order of the items, every thread working on each `CORES`-th of them."""
    if len(items) < FEWEST_ITEMS:
        return [function(item) for item in items]

    def share(first: int) -> list[Result]:
        return [function(item) for item in items[first::CORES]]

    results: list[Any] = [None] * len(items)
    for first, done in enumerate(_pool(os.getpid()).map(share, range(CORES))):
        results[first::CORES] = done
    return results


def run_in_spans(function: Callable[[int, int], Result], count: int, fewest: int, threads: int = CORES) -> list[Result]:
    """Call `function(first, end)` for spans that cover 0..count-1: one for each thread, of at least `fewest` each."""
    spans = min(threads, max(1, count // fewest))
    if spans == 1:
        return [function(0, count)]
    edges = [count * k // spans for k in range(spans + 1)]
    return list(_pool(os.getpid()).map(function, edges[:-1], edges[1:]))
