"""Iterative deepening for reviews, and the time budget of a search that can be stopped."""

import time
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from ...core.play.search import DECIDED, Evaluation, Searcher, SearchResult
from ...envs.quoridor.rules import Position

UNLIMITED = 1 << 60


@runtime_checkable
class SearchingAgent(Protocol):
    """An agent that evaluates positions by a search."""

    evaluation: Evaluation


class Budget:
    """The time of a search, which another thread may end early."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    @property
    def left(self) -> float:
        """Seconds left."""
        return 0.0 if self._stopped else max(0.0, self._end - time.perf_counter())


def deepen(searcher: Searcher, state: Position, last: int) -> Iterator[SearchResult]:
    """Yield the result of every depth up to `last`, as long as a deeper search can change it."""
    first = None
    for depth in range(1, last + 1):
        found = searcher.search(state, depth, first, UNLIMITED)
        assert found is not None
        yield found
        if found.settled or abs(found.score) > DECIDED:
            return
        first = found.line[0]
