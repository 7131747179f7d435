"""The next move of any solver, with its reason."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .exact import exact_moves
from .local import GUESSED, PROVEN, SEARCHED, STUCK
from .probability import Engine, flatten, with_room

REASONS = {
    STUCK: "nothing is certain",
    PROVEN: "proven safe",
    SEARCHED: "wins the most of the remaining completions",
    GUESSED: "the best guess",
}


class Choice(NamedTuple):
    action: int | None  # cell to reveal; None if the solver stops here
    certain: bool
    mine_probability: float  # exact, or the heuristic's estimate
    reason: str
    plan: tuple[int, ...] = ()  # the other certain cells


def choose(visible: np.ndarray, mines: int, moves: Callable = exact_moves) -> Choice:
    """Return the next reveal of the solver `moves`.

    Contradictions are detected only as far as the solver looks: cells proven safe by single numbers are revealed
    without checking the rest. `analyse` checks everything.
    """
    flat, known = flatten(visible), np.zeros(visible.size, np.int8)
    probability, cells = np.zeros(visible.size), np.zeros(visible.size, np.int32)

    def attempt(engine: Engine) -> tuple[int, tuple[int, int]]:
        status, count, reason = moves(flat, known, mines, engine, probability, cells)
        return status, (count, reason)

    count, reason = with_room(visible.shape, mines, attempt)
    if count == 0:
        return Choice(None, False, 0.0, REASONS[reason])
    action, *plan = cells[:count].tolist()
    return Choice(action, reason == PROVEN, float(probability[action]), REASONS[reason], tuple(plan))
