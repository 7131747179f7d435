"""What players call a chord: a click on a number whose mines are all flagged reveals its other neighbours."""

import numpy as np

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
