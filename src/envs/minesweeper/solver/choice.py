"""One move of any solver, with its reason."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from src.envs.minesweeper.solver.exact import exact_moves
from src.envs.minesweeper.solver.local import GUESSED, PROVEN, SEARCHED, STUCK
from src.envs.minesweeper.solver.probability import Engine, flatten, with_room

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
    plan: tuple[int, ...] = ()  # the other cells that are just as certain


def choose(visible: np.ndarray, mines: int, moves: Callable = exact_moves) -> Choice:
    """What the solver behind `moves` reveals next.

    A position that contradicts itself is noticed as far as the solver looks: cells that single numbers prove safe are
    revealed without counting the rest. `analyse` looks at everything.
    """
    flat, known = flatten(visible), np.zeros(visible.size, np.int8)
    probability, cells = np.zeros(visible.size), np.zeros(visible.size, np.int32)

    def attempt(engine: Engine) -> tuple[int, tuple[int, int]]:
        status, count, why = moves(flat, known, mines, engine, probability, cells)
        return status, (count, why)

    count, why = with_room(visible.shape, mines, attempt)
    if count == 0:
        return Choice(None, False, 0.0, REASONS[why])
    action, *then = cells[:count].tolist()
    return Choice(action, why == PROVEN, float(probability[action]), REASONS[why], tuple(then))
