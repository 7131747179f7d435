"""The strongest player here: certain cells first, a full search of small endings, and looking ahead from guesses."""

import numpy as np

from src.envs.minesweeper.solver.constraints import entry, kernel
from src.envs.minesweeper.solver.endgame import best_ending
from src.envs.minesweeper.solver.guess import best_guess
from src.envs.minesweeper.solver.local import GUESSED, PROVEN, SEARCHED, STUCK, deduce, list_safe
from src.envs.minesweeper.solver.probability import CONSISTENT, INCONSISTENT, Engine, solve

ENDING = 2000  # completions up to which the ending is searched
PATIENCE = 30_000  # positions such a search may look at


@entry
def exact_moves(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int]:
    """Write the cells to reveal to `moves`: all that are certain, or one guess. Returns status, their number, why."""
    status, count, log_completions = list_certain(visible, known, mines, e, probability, moves)
    if status != CONSISTENT or count > 0:
        return status, count, PROVEN
    if not np.any((visible < 0) & (probability < 1.0)):
        return CONSISTENT, 0, STUCK
    if log_completions < np.log(ENDING + 0.5):
        completions = int(np.round(np.exp(log_completions)))
        moves[0], _ = best_ending(visible, known, mines, e, completions, PATIENCE)
        if moves[0] >= 0:
            return CONSISTENT, 1, SEARCHED
    moves[0] = best_guess(visible, known, mines, e, probability, log_completions)
    return CONSISTENT, 1, GUESSED


@entry
def certain_moves(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int]:
    """The same player, who stops where it would have to guess."""
    status, count, _ = list_certain(visible, known, mines, e, probability, moves)
    return status, count, PROVEN if count > 0 else STUCK


@kernel
def list_certain(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, float]:
    """Every safe cell the rules find, or if they find none, every safe cell there is. Returns status, number, log."""
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
