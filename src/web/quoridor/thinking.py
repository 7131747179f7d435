"""A search that reports what it finds while it deepens, and that can be stopped."""

import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

from ...core.play.search import DECIDED, Evaluation, Searcher
from ...envs.quoridor.notation import Position

MAX_DEPTH = 64
UNLIMITED = 1 << 60
FIRST_NODES = 5_000  # of an attempt at a depth; a failed attempt is repeated with twice as many


@runtime_checkable
class SearchingAgent(Protocol):
    """An agent that evaluates positions by a search."""

    evaluation: Evaluation


class Thought(NamedTuple):
    """The result of a search to a depth."""

    depth: int
    score: int  # for the player to move
    line: tuple[int, ...]  # actions


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


def deepen(
    searcher: Searcher, state: Position, budget: Budget | None = None, last: int = MAX_DEPTH
) -> Iterator[Thought]:
    """Yield the result of every depth up to `last`, while there is time; the first is always found.

    An attempt is limited by the speed so far and the time left, and short enough that a stop takes effect soon.
    """
    first, limit, depth, nodes, began = None, FIRST_NODES, 1, 0, time.perf_counter()
    while depth <= last:
        most = UNLIMITED if depth == 1 or budget is None else limit
        if depth > 1 and budget is not None:
            if not budget.left:
                return
            most = min(most, max(FIRST_NODES, int(nodes / (time.perf_counter() - began) * budget.left)))
        found = searcher.search(state, depth, first, most)
        nodes += most if found is None else found.nodes
        if found is None:
            limit *= 2
            continue
        yield Thought(depth, found.score, found.line)
        if found.settled or abs(found.score) > DECIDED:
            return
        first, depth = found.line[0], depth + 1
