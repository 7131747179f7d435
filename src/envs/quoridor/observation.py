"""Observations, from the point of view of the player to move."""

from typing import Any

import numpy as np

from .notation import Position
from .paths import NO_PATH, distance_map


def observe(size: int, walls: int, state: Position) -> np.ndarray:
    """Return planes (6, N, N) in 0..1: own and other pawn, horizontal and vertical walls, own and other walls in hand.

    Row 0 is the first rank of the player to move. A wall is marked at the lower-left cell of its block.
    """
    me = state.ply % 2
    planes = np.zeros((6, size, size), np.float32)
    for plane, cell in enumerate((state.pawns[me], state.pawns[1 - me])):
        planes[plane].flat[cell] = 1
    for plane, numbers in ((2, state.horizontal), (3, state.vertical)):
        planes[plane, :-1, :-1] = _unpacked(numbers, size - 1)
    if me == 1:
        planes[:2] = planes[:2, ::-1, ::-1]
        planes[2:4, :-1, :-1] = planes[2:4, -2::-1, -2::-1]
    planes[4], planes[5] = (state.left[player] / max(walls, 1) for player in (me, 1 - me))
    return planes


def _unpacked(numbers: int, side: int) -> np.ndarray:
    """Return a set of walls as zeros and ones, (N-1, N-1)."""
    raw = np.frombuffer(numbers.to_bytes(8, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little")[: side * side].reshape(side, side)


def distance_planes(board: Any, me: int) -> np.ndarray:
    """Return the distance from every cell to the own and to the other goal, (2, N, N) in 0..1, relative to 2N steps."""
    size = int(board["size"])
    steps = np.zeros((2, size * size), np.int64)
    for plane, player in enumerate((me, 1 - me)):
        distance_map(board, player, steps[plane])
    steps[steps == NO_PATH] = 2 * size
    planes = (np.minimum(steps, 2 * size) / (2 * size)).astype(np.float32).reshape(2, size, size)
    return planes[:, ::-1, ::-1] if me == 1 else planes
