"""The strongest solver: certain cells, exhaustive search of small endgames, and one-step lookahead for guesses."""

import numpy as np

from .constraints import lean_kernel
from .endgame import best_ending
from .ending import COMPLETIONS
from .guess import best_guess
from .local import GUESSED, PROVEN, SEARCHED, STUCK, deduce, list_safe
from .probability import CONSISTENT, INCONSISTENT, Engine, examine, solve

PATIENCE = 30_000  # largest number of positions of such a search
NOT_SEARCHED = -1.0  # in place of the win probability of a guess


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
    """Write all certain cells to `moves`: status, their number, why, log completions; GUESSED if one must be guessed.

    With `everything`, compute every probability instead, and no moves: one kernel, as both solve the position.
    """
    if everything:
        status, log_completions = examine(visible, known, mines, e, probability)
        return status, 0, STUCK, log_completions
    status, count, log_completions = list_certain(visible, known, mines, e, probability, moves)
    if status != CONSISTENT or count > 0:
        return status, count, PROVEN, log_completions
    return status, 0, GUESSED if has_chance(visible, probability) else STUCK, log_completions


@lean_kernel
def take_risk(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, log_completions: float
) -> tuple[int, float]:
    """Return the best cell of an endgame that can be searched and its win probability, or the best guess."""
    cell, chance = search_ending(visible, known, mines, e, log_completions)
    if cell >= 0:
        return cell, chance
    return best_guess(visible, known, mines, e, probability, log_completions), NOT_SEARCHED


@lean_kernel
def prove(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int, float]:
    """Write all certain cells, or the best cell of a searchable endgame; return status, number, reason, log
    completions.

    GUESSED with no cells means that a guess is needed.
    """
    status, count, log_completions = list_certain(visible, known, mines, e, probability, moves)
    if status != CONSISTENT or count > 0:
        return status, count, PROVEN, log_completions
    if not has_chance(visible, probability):
        return CONSISTENT, 0, STUCK, log_completions
    moves[0], _ = search_ending(visible, known, mines, e, log_completions)
    if moves[0] >= 0:
        return CONSISTENT, 1, SEARCHED, log_completions
    return CONSISTENT, 0, GUESSED, log_completions


@lean_kernel
def has_chance(visible: np.ndarray, probability: np.ndarray) -> bool:
    """Whether a hidden cell may be safe."""
    for cell in range(visible.size):  # noqa: SIM110 (numba compiles no generator expressions)
        if visible[cell] < 0 and probability[cell] < 1.0:
            return True
    return False


@lean_kernel
def search_ending(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, log_completions: float
) -> tuple[int, float]:
    """Return the cell that wins the most completions and its win probability; (-1, 0) if there are too many."""
    if log_completions >= np.log(COMPLETIONS + 0.5):
        return -1, 0.0
    return best_ending(visible, known, mines, e, int(np.round(np.exp(log_completions))), PATIENCE)


@lean_kernel
def list_certain(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, float]:
    """Write every safe cell found by the rules, or if there is none, every safe cell. Return status, number, log
    completions.
    """
    probability[:] = 0.0
    if not deduce(visible, known, mines, e):
        return INCONSISTENT, 0, 0.0
    count = list_safe(visible, known, moves)
    if count > 0:
        return CONSISTENT, count, 0.0
    status, log_completions = solve(visible, known, mines, e, probability)
    if status == CONSISTENT:
        for cell in range(visible.size):
            if visible[cell] < 0 and probability[cell] == 0.0:
                moves[count] = cell
                count += 1
    return status, count, log_completions
