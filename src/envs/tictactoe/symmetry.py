"""The eight symmetries of the board, and the canonical form of a position."""

from functools import cache

import numpy as np

from ...core.play.game import Canonical

_CELLS = np.arange(9).reshape(3, 3)

# A transform T moves the stone on cell m to cell T[m].
#
#   0 1 2   Rot90   6 3 0
#   3 4 5  ------>  7 4 1   so Rot90[0] = 2, Rot90[6] = 0
#   6 7 8           8 5 2
_ARRANGEMENTS = {  # ARRANGEMENT[cell] is the old cell of the stone that is now on `cell`
    "Identity": _CELLS,
    "Rot90": np.rot90(_CELLS, -1),
    "Rot180": np.rot90(_CELLS, 2),
    "Rot270": np.rot90(_CELLS),
    "FlipVertical": np.flipud(_CELLS),
    "FlipHorizontal": np.fliplr(_CELLS),
    "FlipMainDiagonal": _CELLS.T,
    "FlipAntiDiagonal": np.rot90(_CELLS, 2).T,
}
TRANSFORMS: dict[str, tuple[int, ...]] = {
    name: tuple(int(cell) for cell in np.argsort(arrangement.ravel())) for name, arrangement in _ARRANGEMENTS.items()
}


def inverse(moves: tuple[int, ...]) -> tuple[int, ...]:
    """Return the inverse permutation: inverse(T)[T[m]] == m."""
    return tuple(int(cell) for cell in np.argsort(moves))


def apply(moves: tuple[int, ...], state: str) -> str:
    return "".join(state[cell] for cell in inverse(moves))


@cache
def canonical(state: str) -> Canonical:
    """Return the lexicographically smallest image, and the first transform that leads to it."""
    images = (Canonical(apply(moves, state), name, moves) for name, moves in TRANSFORMS.items())
    return min(images, key=lambda image: image.key)


@cache
def as_is(state: str) -> Canonical:
    return Canonical(state, "Identity", TRANSFORMS["Identity"])
