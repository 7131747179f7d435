"""The strongest solver: certain cells, exhaustive search of small endgames, and one-step lookahead for guesses."""

import numpy as np

from src.envs.minesweeper.solver.constraints import lean_kernel
from src.envs.minesweeper.solver.endgame import best_ending
from src.envs.minesweeper.solver.guess import best_guess
from src.envs.minesweeper.solver.local import GUESSED, PROVEN, SEARCHED, STUCK, deduce, list_safe
from src.envs.minesweeper.solver.probability import CONSISTENT, INCONSISTENT, Engine, solve

ENDING = 2000  # largest number of completions to search exhaustively
PATIENCE = 30_000  # largest number of positions of such a search


@lean_kernel
def exact_moves(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int]:
    """Write the cells to reveal to `moves`: all certain ones, or one guess. Return status, their number, and the
    reason.
    """
    status, count, why, log_completions = prove(visible, known, mines, e, probability, moves)
    if status == CONSISTENT and why == GUESSED:
        moves[0] = best_guess(visible, known, mines, e, probability, log_completions)
        count = 1
    return status, count, why


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
    if log_completions >= np.log(ENDING + 0.5):
        return -1, 0.0
    return best_ending(visible, known, mines, e, int(np.round(np.exp(log_completions))), PATIENCE)


@lean_kernel
def certain_moves(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int]:
    """Write all certain cells like `exact_moves`, but never guess."""
    status, count, _ = list_certain(visible, known, mines, e, probability, moves)
    return status, count, PROVEN if count > 0 else STUCK


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
