r"""Hexes in odd-q offset coordinates: odd columns are half a hex lower. A cell is `row * cols + col`.

     ___     ___
    /0,0\___/2,0\     written col,row
    \___/1,0\___/
    /0,1\___/2,1\     the neighbors of 1,0: above 1,-1, below 1,1, left 0,0 and 0,1, right 2,0 and 2,1
    \___/1,1\___/
        \___/

All tables are computed once per board.
"""

from collections.abc import Sequence

import numpy as np

from .kernels import kernel

NEAR = 6
WORD_BITS = 32  # hexes in a word of a set of hexes, see reach.py
_EVEN_COLUMN = ((0, -1), (1, -1), (1, 0), (0, 1), (-1, 0), (-1, -1))
_ODD_COLUMN = ((0, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0))
_NUDGE = 1e-6  # shifts a line that runs exactly between two hexes to one side


def cube(col: int, row: int) -> tuple[int, int, int]:
    """Return the cube coordinates, which sum to zero."""
    z = row - (col - (col & 1)) // 2
    return col, -col - z, z


def distance(a: tuple[int, int], b: tuple[int, int]) -> int:
    return max(abs(p - q) for p, q in zip(cube(*a), cube(*b), strict=True))


def neighbors(col: int, row: int) -> list[tuple[int, int]]:
    """Return all six neighbors, also off the board."""
    return [(col + dc, row + dr) for dc, dr in (_ODD_COLUMN if col & 1 else _EVEN_COLUMN)]


def turned(col: int, row: int, cols: int, rows: int) -> tuple[int, int]:
    """Return the position of a hex after the board (an odd number of columns) is rotated by 180 degrees."""
    return cols - 1 - col, rows - 1 - row - (col & 1)


def cells_of(cols: int, rows: int) -> list[tuple[int, int]]:
    """Return the (col, row) of every cell, in cell order."""
    return [(col, row) for row in range(rows) for col in range(cols)]


def distances_between(ones: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the distance of each of N hexes to each of M others, (N, M) uint8."""
    first, second = (np.array([cube(*one) for one in hexes], np.int16) for hexes in (ones, others))
    apart = np.zeros((len(ones), len(others)), np.int16)
    for axis in range(3):
        np.maximum(apart, np.abs(np.subtract.outer(first[:, axis], second[:, axis])), out=apart)
    return apart.astype(np.uint8)


def adjacency(is_open: np.ndarray, cols: int) -> np.ndarray:
    """Return the open neighbors of each open cell, (C, 6) int32, padded with -1."""
    near = np.full((is_open.size, NEAR), -1, np.int32)
    for cell in np.flatnonzero(is_open):
        row, col = divmod(int(cell), cols)
        around = [r * cols + c for c, r in neighbors(col, row) if 0 <= c < cols and 0 <= r < is_open.size // cols]
        beside = [other for other in around if is_open[other]]
        near[cell, : len(beside)] = beside
    return near


def lines_of_sight(blocks_sight: np.ndarray, cols: int) -> np.ndarray:
    """Return whether a hex line between two cells is free of hexes that block it, (C, C) bool.

    A line along the edge between two hexes may pass on either side. This makes sight symmetric, and equal for both
    players on a symmetric board.
    """
    sight = np.zeros((blocks_sight.size, blocks_sight.size), np.bool_)
    cubes = np.array([cube(*cell) for cell in cells_of(cols, blocks_sight.size // cols)])
    for nudge in (_NUDGE, -_NUDGE):
        _add_sight(sight, blocks_sight, cubes, cols, nudge)
    return sight


@kernel
def _add_sight(sight: np.ndarray, blocks_sight: np.ndarray, cubes: np.ndarray, cols: int, nudge: float) -> None:
    for a in range(len(cubes)):
        for b in range(len(cubes)):
            sight[a, b] |= _is_free(blocks_sight, cubes[a], cubes[b], cols, nudge)


@kernel
def _is_free(blocks_sight: np.ndarray, start: np.ndarray, end: np.ndarray, cols: int, nudge: float) -> bool:
    """Whether no hex between the two ends blocks sight, on the line shifted by `nudge`."""
    steps = max(abs(start[0] - end[0]), abs(start[1] - end[1]), abs(start[2] - end[2]))
    for step in range(1, steps):
        share = step / steps
        x = start[0] + (end[0] - start[0]) * share + nudge
        y = start[1] + (end[1] - start[1]) * share + 2 * nudge
        z = start[2] + (end[2] - start[2]) * share - 3 * nudge
        whole_x, whole_y, whole_z = np.rint(x), np.rint(y), np.rint(z)
        off_x, off_y, off_z = abs(whole_x - x), abs(whole_y - y), abs(whole_z - z)
        if off_x > off_y and off_x > off_z:  # replace the coordinate with the largest rounding error
            whole_x = -whole_y - whole_z
        elif off_z >= off_y:
            whole_z = -whole_x - whole_y
        col = int(whole_x)
        row = int(whole_z) + (col - (col & 1)) // 2
        if 0 <= col < cols and 0 <= row < blocks_sight.size // cols and blocks_sight[row * cols + col]:
            return False
    return True
