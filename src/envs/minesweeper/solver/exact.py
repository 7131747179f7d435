"""The strongest solver: certain cells, exhaustive search of small endgames, and one-step lookahead for guesses.

Also the Python interface of the solvers: `choose` the next reveal of any of them, `analyze` a position.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import engine
from .endgame import search_endgame
from .engine import CONSISTENT, GUESSED, INCONSISTENT, PROVEN, SEARCHED, STUCK, Engine, flatten, lean_kernel
from .guess import best_guess
from .probability import examine, solve
from .single_point import deduce, list_safe

MAX_POSITIONS = 30_000  # budget of an endgame search
NOT_SEARCHED = -1.0  # stands for the unknown win probability of a guess

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


class Analysis(NamedTuple):
    mine_probability: np.ndarray  # (rows, cols) float64, 0.0 on revealed cells
    log_completions: float  # natural logarithm of the number of mine placements that agree with the position


def exact_moves(visible: np.ndarray, mines: int, e: Engine) -> tuple[int, int, int]:
    """Write the cells to reveal to `e.moves`: all certain ones, or one guess. Return status, number and reason.

    Two kernels, so that the first hint, which is mostly certain, does not wait for the compilation of guesses.
    """
    status, count, why, log_completions = find_certain(visible, mines, e, False)
    if status == CONSISTENT and why == GUESSED:
        e.moves[0], chance = take_risk(visible, mines, e, log_completions)
        count, why = 1, GUESSED if chance == NOT_SEARCHED else SEARCHED
    return status, count, why


def certain_moves(visible: np.ndarray, mines: int, e: Engine) -> tuple[int, int, int]:
    """Write all certain cells like `exact_moves`, but never guess."""
    status, count, _, _ = find_certain(visible, mines, e, False)
    return status, count, PROVEN if count > 0 else STUCK


def choose(visible: np.ndarray, mines: int, moves: Callable = exact_moves) -> Choice:
    """Return the next reveal of the solver `moves`.

    Contradictions are detected only as far as the solver looks: cells proven safe by single numbers are revealed
    without checking the rest. `analyze` checks everything.
    """
    flat = flatten(visible)

    def attempt(e: Engine) -> tuple[int, Choice]:
        status, count, reason = moves(flat, mines, e)
        if count == 0:
            return status, Choice(None, False, 0.0, REASONS[reason])
        action, *plan = e.moves[:count].tolist()
        return status, Choice(action, reason == PROVEN, float(e.probability[action]), REASONS[reason], tuple(plan))

    return engine.run_with_engine(visible.shape, mines, attempt)


def analyze(visible: np.ndarray, mines: int) -> Analysis:
    """Return everything that can be known of a position, exactly."""
    flat = flatten(visible)

    def attempt(e: Engine) -> tuple[int, Analysis]:
        status, _, _, log_completions = find_certain(flat, mines, e, True)
        return status, Analysis(e.probability.reshape(visible.shape).copy(), log_completions)

    return engine.run_with_engine(visible.shape, mines, attempt)


def mine_probabilities(visible: np.ndarray, mines: int) -> np.ndarray:
    """Return (rows, cols) float64: 0.0 and 1.0 mean certain, and every certain cell has one of them."""
    return analyze(visible, mines).mine_probability


@lean_kernel
def find_certain(visible: np.ndarray, mines: int, e: Engine, everything: bool) -> tuple[int, int, int, float]:
    """Write every safe cell found by the rules to `e.moves`, or if there is none, every safe cell.

    Return status, their number, why, log completions; GUESSED if one must be guessed. With `everything`, compute every
    probability instead, and no moves: one kernel, as both solve the position.
    """
    if everything:
        status, log_completions = examine(visible, mines, e)
        return status, 0, STUCK, log_completions
    probability = e.probability
    probability[:] = 0.0
    if not deduce(visible, mines, e):
        return INCONSISTENT, 0, PROVEN, 0.0
    count = list_safe(visible, e)
    if count > 0:
        return CONSISTENT, count, PROVEN, 0.0
    status, log_completions = solve(visible, e.known, mines, e, probability)
    if status != CONSISTENT:
        return status, 0, PROVEN, log_completions
    may_be_safe = False
    for cell in range(visible.size):
        if visible[cell] < 0 and probability[cell] == 0.0:
            e.moves[count] = cell
            count += 1
        may_be_safe |= visible[cell] < 0 and probability[cell] < 1.0
    if count > 0:
        return status, count, PROVEN, log_completions
    return status, 0, GUESSED if may_be_safe else STUCK, log_completions


@lean_kernel
def take_risk(visible: np.ndarray, mines: int, e: Engine, log_completions: float) -> tuple[int, float]:
    """Return the best cell of an endgame that can be searched and its win probability, or the best guess."""
    cell, chance = search_endgame(visible, mines, e, log_completions, MAX_POSITIONS)
    if cell >= 0:
        return cell, chance
    return best_guess(visible, mines, e, log_completions), NOT_SEARCHED


@lean_kernel
def prove(visible: np.ndarray, mines: int, e: Engine) -> tuple[int, int, int, float]:
    """Write all certain cells, or the best cell of a searchable endgame, like `find_certain`.

    GUESSED with no cells means that a guess is needed.
    """
    status, count, why, log_completions = find_certain(visible, mines, e, False)
    if status == CONSISTENT and why == GUESSED:
        e.moves[0], _ = search_endgame(visible, mines, e, log_completions, MAX_POSITIONS)
        if e.moves[0] >= 0:
            return CONSISTENT, 1, SEARCHED, log_completions
    return status, count, why, log_completions
