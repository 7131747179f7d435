"""Distribute the time of a game over its moves."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ....core.play.search_interface import DepthResult

EXPECTED_MOVES = 26  # searches of a player in a game
MIN_EXPECTED_MOVES = 13  # however many are played
OVERHEAD = 0.005  # seconds by which a search of limited time ends late


class Budget(NamedTuple):
    """Seconds of a move."""

    aim: float | None  # after which, times `extension`, no depth is begun; None: depths are begun until the limit
    limit: float | None  # after which a search is stopped; None: never


def move_budget(left: float, increment: float, ply: int) -> Budget:
    """Return the budget of a move with `left` seconds on the clock, which gets `increment` more after it."""
    moves = max(EXPECTED_MOVES - ply // 2, MIN_EXPECTED_MOVES)
    usable = max(left - moves * OVERHEAD, 0.0)
    aim = usable / moves + 0.8 * increment
    return Budget(0.6 * aim, min(4 * aim, usable / 2))


def extension(results: Sequence[DepthResult]) -> float:
    """Return how much longer to think than planned: more if the best move changes from depth to depth, or its score
    falls.
    """
    changes = 0.0
    for before, after in pairwise(results):
        changes = changes / 2 + (before.line[0] != after.line[0])
    fall = results[-2].score - results[-1].score if len(results) > 1 else 0
    return 0.5 + 0.5 * changes + min(max(fall, 0), 100) / 100
