"""Inputs of the learned evaluation: 768 binary features of a position, for the player to move.

They are twelve 64-bit words, so that two positions are compared by XOR and only the difference is added to the sums of
the network's first layer. Cells and walls have the numbers of the board; `COLUMNS` maps a feature to its column of
weights and turns the board for player 2, so the network always plays upwards.

    0  horizontal walls            6, 7   cell of the own pawn
    1  vertical walls              8, 9   cell of the other pawn
    2, 3  cells on shortest paths  10     path lengths: own in bits 0 to 31, other in bits 32 to 63
    4, 5  the same of the other    11     walls in hand (bits 0 to 10, 16 to 26), bottlenecks (32 to 47, 48 to 63)
"""

from typing import Any

import numpy as np

from .board import ONE, ZERO, bit, cell_set, has_cell, inlined, kernel, lowest, popcount, shift_down
from .paths import NO_PATH, pair, spread

SIZE, MAX_WALLS = 9, 10  # of the games that the network knows
WORDS = 12
FEATURES = 64 * WORDS
MAX_LENGTH, MAX_BOTTLENECKS = 31, 15  # longer paths and more bottlenecks count as these

# What `trace` finds out about the shortest paths of a player.
CELLS_LOW, CELLS_HIGH, NORTH_LOW, NORTH_HIGH, EAST_LOW, EAST_HIGH, CUT, CUT_UPRIGHT, BOTTLENECKS = range(9)
PATH_WORDS = 9


@kernel
def trace(board: Any, player: int, steps_too: bool, out: np.ndarray) -> int:
    """Write what is known about all shortest paths of a player into (PATH_WORDS,); return their length, or NO_PATH.

    Their cells, without that of the pawn, and the number of cells that all of them visit (bottlenecks); if `steps_too`,
    also their steps, each as the cell south or west of it, and the walls across steps that all of them take.
    """
    low, high, steps = board.goal_low[player], board.goal_high[player], 0
    while not has_cell(low, high, board.pawn[player]):
        board.reached[steps, 0], board.reached[steps, 1] = low, high
        next_low, next_high = spread(board, low, high)
        if next_low == low and next_high == high:
            return NO_PATH
        low, high = next_low, next_high
        steps += 1
    out[:] = ZERO
    low, high = cell_set(board.pawn[player])
    for k in range(steps - 1, -1, -1):
        next_low, next_high = spread(board, low, high)
        next_low, next_high = next_low & board.reached[k, 0], next_high & board.reached[k, 1]
        if steps_too:
            _add_steps(board, low, high, next_low, next_high, out)
        out[CELLS_LOW] |= next_low
        out[CELLS_HIGH] |= next_high
        out[BOTTLENECKS] += np.uint64(popcount(next_low) + popcount(next_high) == 1)
        low, high = next_low, next_high
    return steps


@inlined
def _add_steps(board: Any, low: Any, high: Any, to_low: Any, to_high: Any, out: np.ndarray) -> None:
    """Add the steps from a set of cells to the next; if there is only one, also the walls across it."""
    row = np.uint64(board.size)
    north_low, north_high = _between(low, high, to_low, to_high, row, board.north_low, board.north_high)
    east_low, east_high = _between(low, high, to_low, to_high, ONE, board.east_low, board.east_high)
    out[NORTH_LOW] |= north_low
    out[NORTH_HIGH] |= north_high
    out[EAST_LOW] |= east_low
    out[EAST_HIGH] |= east_high
    if popcount(north_low) + popcount(north_high) + popcount(east_low) + popcount(east_high) == 1:
        horizontal = (north_low | north_high) != ZERO
        low, high = (north_low, north_high) if horizontal else (east_low, east_high)
        only = lowest(low) if low != ZERO else 64 + lowest(high)
        out[CUT if horizontal else CUT_UPRIGHT] |= pair(board, only, horizontal)


@inlined
def _between(
    low: Any, high: Any, to_low: Any, to_high: Any, count: Any, open_low: Any, open_high: Any
) -> tuple[Any, Any]:
    """Return the steps between two sets of cells in either direction, each as its first cell."""
    there_low, there_high = shift_down(to_low, to_high, count)
    back_low, back_high = shift_down(low, high, count)
    return (low & there_low | to_low & back_low) & open_low, (high & there_high | to_high & back_high) & open_high


@inlined
def write_features(board: Any, paths: np.ndarray, lengths: np.ndarray, out: np.ndarray) -> None:
    """Write the words of a position; `paths` (2, PATH_WORDS) and `lengths` (2,) are those of `trace`."""
    me = board.ply & 1
    other = 1 - me
    out[0], out[1] = board.horizontal, board.vertical
    out[2], out[3] = paths[me, CELLS_LOW], paths[me, CELLS_HIGH]
    out[4], out[5] = paths[other, CELLS_LOW], paths[other, CELLS_HIGH]
    out[6], out[7] = cell_set(board.pawn[me])
    out[8], out[9] = cell_set(board.pawn[other])
    out[10] = bit(min(lengths[me], MAX_LENGTH)) | bit(32 + min(lengths[other], MAX_LENGTH))
    out[11] = bit(board.left[me]) | bit(16 + board.left[other])
    mine, theirs = np.int64(paths[me, BOTTLENECKS]), np.int64(paths[other, BOTTLENECKS])
    out[11] |= bit(32 + min(int(mine), MAX_BOTTLENECKS)) | bit(48 + min(int(theirs), MAX_BOTTLENECKS))


def _mapped(number: int, cells: Any, walls: Any) -> int:
    """Return the feature after a symmetry of the board that maps cells and walls."""
    word, index = divmod(number, 64)
    if word < 2:
        return int(64 * word + walls(index))
    if word < 10:
        cell = 64 * (word % 2) + index
        return int(64 * (word - word % 2) + cells(cell)) if cell < SIZE * SIZE else number
    return number


def _turned(number: int) -> int:
    return _mapped(number, lambda cell: SIZE * SIZE - 1 - cell, lambda wall: 63 - wall)


def _mirrored(number: int) -> int:
    return _mapped(number, lambda cell: cell + SIZE - 1 - 2 * (cell % SIZE), lambda wall: wall + 7 - 2 * (wall % 8))


COLUMNS = np.array([range(FEATURES), [_turned(number) for number in range(FEATURES)]], np.int16)  # by player to move
MIRRORED = np.array([_mirrored(number) for number in range(FEATURES)], np.int16)  # columns on the mirrored board
