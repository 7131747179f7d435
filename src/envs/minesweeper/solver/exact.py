"""The strongest solver: certain cells, exhaustive search of small endgames, and one-step lookahead for guesses.

Also the Python interface of the solvers: `choose` the next reveal of any of them, `analyze` a position.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .endgame import search_endgame
from .engine import (
    CONSISTENT,
    GUESSED,
    INCONSISTENT,
    PROVEN,
    SEARCHED,
    STUCK,
    Engine,
    flatten,
    lean_kernel,
    run_with_engine,
)
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


def exact_moves(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int]:
    """Write the cells to reveal to `moves`: all certain ones, or one guess. Return status, number and reason.

    Two kernels, so that the first hint, which is mostly certain, does not wait for the compilation of guesses.
    """
    status, count, why, log_completions = find_certain(visible, known, mines, e, probability, moves, False)
    if status == CONSISTENT and why == GUESSED:
        moves[0], chance = take_risk(visible, known, mines, e, probability, log_completions)
        count, why = 1, GUESSED if chance == NOT_SEARCHED else SEARCHED
    return status, count, why


def certain_moves(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int]:
    """Write all certain cells like `exact_moves`, but never guess."""
    status, count, _, _ = find_certain(visible, known, mines, e, probability, moves, False)
    return status, count, PROVEN if count > 0 else STUCK


def choose(visible: np.ndarray, mines: int, moves: Callable = exact_moves) -> Choice:
    """Return the next reveal of the solver `moves`.

    Contradictions are detected only as far as the solver looks: cells proven safe by single numbers are revealed
    without checking the rest. `analyze` checks everything.
    """
    flat, known = flatten(visible), np.zeros(visible.size, np.int8)
    probability, cells = np.zeros(visible.size), np.zeros(visible.size, np.int32)

    def attempt(engine: Engine) -> tuple[int, tuple[int, int]]:
        status, count, reason = moves(flat, known, mines, engine, probability, cells)
        return status, (count, reason)

    count, reason = run_with_engine(visible.shape, mines, attempt)
    if count == 0:
        return Choice(None, False, 0.0, REASONS[reason])
    action, *plan = cells[:count].tolist()
    return Choice(action, reason == PROVEN, float(probability[action]), REASONS[reason], tuple(plan))


def analyze(visible: np.ndarray, mines: int) -> Analysis:
    """Return everything that can be known of a position, exactly."""
    flat, known, probability = flatten(visible), np.zeros(visible.size, np.int8), np.zeros(visible.size)
    no_moves = np.zeros(0, np.int32)

    def attempt(engine: Engine) -> tuple[int, Analysis]:
        status, _, _, log_completions = find_certain(flat, known, mines, engine, probability, no_moves, True)
        return status, Analysis(probability.reshape(visible.shape), log_completions)

    return run_with_engine(visible.shape, mines, attempt)


def mine_probabilities(visible: np.ndarray, mines: int) -> np.ndarray:
    """Return (rows, cols) float64: 0.0 and 1.0 mean certain, and every certain cell has one of them."""
    return analyze(visible, mines).mine_probability


@lean_kernel
def find_certain(
    visible: np.ndarray,
    known: np.ndarray,
    mines: int,
    e: Engine,
    probability: np.ndarray,
    moves: np.ndarray,
    everything: bool,
) -> tuple[int, int, int, float]:
    """Write every safe cell found by the rules to `moves`, or if there is none, every safe cell.

    Return status, their number, why, log completions; GUESSED if one must be guessed. With `everything`, compute every
    probability instead, and no moves: one kernel, as both solve the position.
    """
    if everything:
        status, log_completions = examine(visible, known, mines, e, probability)
        return status, 0, STUCK, log_completions
    probability[:] = 0.0
    if not deduce(visible, known, mines, e):
        return INCONSISTENT, 0, PROVEN, 0.0
    count = list_safe(visible, known, moves)
    if count > 0:
        return CONSISTENT, count, PROVEN, 0.0
    status, log_completions = solve(visible, known, mines, e, probability)
    if status != CONSISTENT:
        return status, 0, PROVEN, log_completions
    may_be_safe = False
    for cell in range(visible.size):
        if visible[cell] < 0 and probability[cell] == 0.0:
            moves[count] = cell
            count += 1
        may_be_safe |= visible[cell] < 0 and probability[cell] < 1.0
    if count > 0:
        return status, count, PROVEN, log_completions
    return status, 0, GUESSED if may_be_safe else STUCK, log_completions


@lean_kernel
def take_risk(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, log_completions: float
) -> tuple[int, float]:
    """Return the best cell of an endgame that can be searched and its win probability, or the best guess."""
    cell, chance = search_endgame(visible, known, mines, e, log_completions, MAX_POSITIONS)
    if cell >= 0:
        return cell, chance
    return best_guess(visible, known, mines, e, probability, log_completions), NOT_SEARCHED


@lean_kernel
def prove(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int, float]:
    """Write all certain cells, or the best cell of a searchable endgame, like `find_certain`.

    GUESSED with no cells means that a guess is needed.
    """
    status, count, why, log_completions = find_certain(visible, known, mines, e, probability, moves, False)
    if status == CONSISTENT and why == GUESSED:
        moves[0], _ = search_endgame(visible, known, mines, e, log_completions, MAX_POSITIONS)
        if moves[0] >= 0:
            return CONSISTENT, 1, SEARCHED, log_completions
    return status, count, why, log_completions
