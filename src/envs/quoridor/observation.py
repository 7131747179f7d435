"""Observations and action masks, from the point of view of the player to move, and their symmetry."""

from typing import Any

import numpy as np

from ...core.play.search_interface import Symmetry
from .rules import ONE, ZERO, Cells, goal, inlined, is_over, kernel, legal_walls, lowest, pawn_targets, spread


@kernel
def write_planes(board: Any, walls: int, out: np.ndarray) -> None:
    """Write the observation (C, cells), values in 0..1; six planes are without distance maps.

    Own and other pawn, horizontal and vertical walls, own and other walls in hand, distance from every cell to the own
    and to the other goal. Row 0 is the first rank of the player to move. A wall is marked at the lower-left cell of its
    block.
    """
    size, me = board.size, board.ply & 1
    cells, side = size * size, size - 1
    out[:4] = 0.0
    for plane in range(2):
        cell = board.pawn[me if plane == 0 else 1 - me]
        out[plane, cells - 1 - cell if me == 1 else cell] = 1.0
    for wall in range(side * side):
        block = side * side - 1 - wall if me == 1 else wall
        cell = block + block // side
        out[2, cell] = (board.horizontal >> np.uint64(wall)) & ONE
        out[3, cell] = (board.vertical >> np.uint64(wall)) & ONE
    out[4] = board.left[me] / max(walls, 1)
    out[5] = board.left[1 - me] / max(walls, 1)
    if out.shape[0] > 6:
        _write_distances(board, me, me, out[6])
        _write_distances(board, 1 - me, me, out[7])


@inlined
def _write_distances(board: Any, player: int, me: int, out: np.ndarray) -> None:
    """Write the distance of each cell to the goal of `player`, relative to 2N steps and at most 1."""
    cells, longest = board.size * board.size, 2 * board.size
    out[:] = 1.0
    reached = added = goal(board, player)
    steps = 0
    while added != (ZERO, ZERO) and steps < longest:
        _write_cells(added, cells, me, steps / longest, out)
        grown = spread(board, reached)
        added, reached = (grown[0] & ~reached[0], grown[1] & ~reached[1]), grown
        steps += 1


@inlined
def _write_cells(chosen: Cells, cells: int, me: int, value: Any, out: np.ndarray) -> None:
    """Write a value to the chosen cells, turned to the view of player `me`."""
    low, high = chosen
    while low:
        cell = lowest(low)
        out[cells - 1 - cell if me == 1 else cell] = value
        low &= low - ONE
    while high:
        cell = 64 + lowest(high)
        out[cells - 1 - cell if me == 1 else cell] = value
        high &= high - ONE


@kernel
def write_mask(board: Any, out: np.ndarray) -> None:
    """Write the legal actions (A,) of the player to move; none once the game is over."""
    out[:] = False
    if is_over(board):
        return
    me, cells, walls = board.ply & 1, board.size * board.size, (board.size - 1) * (board.size - 1)
    _write_cells(pawn_targets(board, me), cells, me, True, out)
    horizontal, vertical = legal_walls(board)
    for wall in range(walls):
        block = walls - 1 - wall if me == 1 else wall
        out[cells + block] = (horizontal >> np.uint64(wall)) & ONE
        out[cells + walls + block] = (vertical >> np.uint64(wall)) & ONE


def mirror(size: int, planes: int) -> Symmetry:
    """Return the reflection that swaps left and right; walls are marked in all columns but the last."""
    cells = np.arange(size * size).reshape(size, size)
    blocks = np.concatenate([cells[:, -2::-1], cells[:, -1:]], axis=1)
    images = [blocks if plane in (2, 3) else cells[:, ::-1] for plane in range(planes)]
    observation = np.stack([size * size * plane + image for plane, image in enumerate(images)])
    walls = np.arange((size - 1) ** 2).reshape(size - 1, size - 1)[:, ::-1].ravel()
    actions = [cells[:, ::-1].ravel(), size * size + walls, size * size + walls.size + walls]
    return Symmetry(observation.ravel(), np.concatenate(actions))
