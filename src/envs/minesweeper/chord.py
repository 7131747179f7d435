"""What clicks of a player stand for. A chord is a click on a number: its mines flagged, its other neighbours open."""

import numpy as np

from src.core.errors import require
from src.envs.minesweeper.rules import neighbors
from src.envs.minesweeper.variant import FLAGGED, HIDDEN


def chord(visible: np.ndarray, cell: int) -> list[int]:
    """The reveals that a chord on `cell` (rows, cols) stands for; none where its flags are not as many as its number.

    The flags may be wrong, so a chord can lose like any reveal.
    """
    near, degree = neighbors(*visible.shape)
    around = near[cell, : degree[cell]]
    flat = visible.ravel()
    if flat[cell] < 1 or np.count_nonzero(flat[around] == FLAGGED) != flat[cell]:
        return []
    return around[flat[around] == HIDDEN].tolist()


def reveals(visible: np.ndarray, cell: int) -> list[int]:
    """The reveals that a click on `cell` stands for: itself while it is hidden, or a chord; a flag guards its cell."""
    value = visible.ravel()[cell]
    require(value != FLAGGED, "take the flag off before you reveal the cell")
    return [cell] if value == HIDDEN else chord(visible, cell)


def require_flaggable(visible: np.ndarray, cell: int) -> None:
    require(visible.ravel()[cell] in (HIDDEN, FLAGGED), "a cell that is revealed takes no flag")
