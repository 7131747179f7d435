"""Run work in threads: compiled kernels release the GIL, so they run in parallel.

Calls must not be nested: all share one pool.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

from .machine import CORES

Item = TypeVar("Item")
Result = TypeVar("Result")

MIN_ITEMS = 8  # with fewer items threads cost more than they save


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the pool of a process: threads do not survive a fork. It is cached because each thread keeps buffers."""
    return ThreadPoolExecutor(CORES)


def map_in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results in the order of the items; thread i computes items i, i + `CORES`, ..."""
    if len(items) < MIN_ITEMS:
        return [function(item) for item in items]

    def share(first: int) -> list[Result]:
        return [function(item) for item in items[first::CORES]]

    results: list[Any] = [None] * len(items)
    for first, done in enumerate(_pool(os.getpid()).map(share, range(CORES))):
        results[first::CORES] = done
    return results


def run_in_spans(function: Callable[[int, int], Result], count: int, min_size: int) -> list[Result]:
    """Call `function(first, end)` for spans that cover 0..count-1: one per core, of at least `min_size` each.

    The calling thread takes the first span: waking another one for it would take longer than many steps.
    """
    spans = min(CORES, max(1, count // min_size))
    if spans == 1:
        return [function(0, count)]
    edges = [count * k // spans for k in range(spans + 1)]
    others = [_pool(os.getpid()).submit(function, first, end) for first, end in pairwise(edges[1:])]
    try:
        result = function(0, edges[1])
    finally:
        wait(others)  # they write to the caller's arrays
    return [result, *(other.result() for other in others)]
