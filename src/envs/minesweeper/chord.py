"""Reveals by a click. A chord is a click on a number whose mines are all flagged: it reveals its other neighbours."""

import numpy as np

from ...core.errors import require
from .rules import neighbors
from .variant import FLAGGED, HIDDEN


def chord(visible: np.ndarray, cell: int) -> list[int]:
    """Return the reveals of a chord on `cell`; [] unless the number of flags equals its number.

    Flags may be wrong, so a chord can lose like any reveal.
    """
    near, degree = neighbors(*visible.shape)
    around = near[cell, : degree[cell]]
    flat = visible.ravel()
    if flat[cell] < 1 or np.count_nonzero(flat[around] == FLAGGED) != flat[cell]:
        return []
    return around[flat[around] == HIDDEN].tolist()


def reveals(visible: np.ndarray, cell: int) -> list[int]:
    """Return the reveals of a click on `cell`: the cell itself if hidden, or those of a chord; a flag protects its
    cell.
    """
    value = visible.ravel()[cell]
    require(value != FLAGGED, "take the flag off before you reveal the cell")
    return [cell] if value == HIDDEN else chord(visible, cell)


def require_flaggable(visible: np.ndarray, cell: int) -> None:
    require(visible.ravel()[cell] in (HIDDEN, FLAGGED), "a cell that is revealed takes no flag")
