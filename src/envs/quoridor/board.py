"""The board as bit sets in one record, changed in place by `make` and restored by `unmake`.

Cells are numbered row by row from a1. A wall has the number of the 2x2 block it divides, also row by row, so on 9x9
each orientation of walls fills exactly one 64-bit word:

    rank 3 | 18 19 20 ..     wall 0 is between a1, b1, a2 and b2: a1h runs above a1 and b1,
    rank 2 |  9 10 11 ..     a1v to the right of a1 and a2; wall 1 between b1, c1, b2 and c2, ...
    rank 1 |  0  1  2 ..
              a  b  c

A move is the target cell of the pawn, cells + wall for a horizontal wall, or cells + walls + wall for a vertical one.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core.kernels import jit
from .notation import Position

# Kernels allocate nothing, so Numba's reference counting is disabled. Small ones are inlined into their callers.
kernel = jit(constants=True, nogil=True, _nrt=False)
inlined = jit(constants=True, nogil=True, forceinline=True, _nrt=False)

MAX_SIZE = 9  # (9 - 1)^2 walls of one orientation fill a 64-bit word

# A set of cells takes two words: cells 0..63 in `low`, the others in `high`.
BOARD = np.dtype(
    [
        ("north_low", np.uint64),  # cells from which the step north is open
        ("north_high", np.uint64),
        ("east_low", np.uint64),  # cells from which the step east is open
        ("east_high", np.uint64),
        ("horizontal", np.uint64),  # placed walls
        ("vertical", np.uint64),
        ("goal_low", np.uint64, (2,)),  # goal cells of each player
        ("goal_high", np.uint64, (2,)),
        ("all_walls", np.uint64),  # sets of wall numbers: all, first column, last column
        ("west_walls", np.uint64),
        ("east_walls", np.uint64),
        ("size", np.int64),
        ("ply_limit", np.int64),
        ("ply", np.int64),  # player 0 moves on even plies
        ("pawn", np.int64, (2,)),
        ("left", np.int64, (2,)),  # walls in hand
        ("reached", np.uint64, (82, 2)),  # scratch of flood fills: row k has the cells within k steps of a pawn
        ("chased", np.uint64, (84, 2)),  # likewise for the other pawn
    ],
    align=True,
)
ONE, ZERO, LOW_CELLS = np.uint64(1), np.uint64(0), np.uint64(64)


def new_board(size: int, ply_limit: int) -> Any:
    """Return a board without walls; `set_up` sets a position."""
    board, walls = np.zeros(1, BOARD), range((size - 1) ** 2)
    for player, row in enumerate((size - 1, 0)):
        cells = range(row * size, (row + 1) * size)
        board["goal_low"][0, player] = _word(cell for cell in cells if cell < 64)
        board["goal_high"][0, player] = _word(cell - 64 for cell in cells if cell >= 64)
    board["all_walls"] = _word(walls)
    board["west_walls"] = _word(wall for wall in walls if wall % (size - 1) == 0)
    board["east_walls"] = _word(wall for wall in walls if wall % (size - 1) == size - 2)
    board["size"], board["ply_limit"] = size, ply_limit
    return board[0]


def place(board: Any, state: Position) -> None:
    """Set a position on the board."""
    walls = np.uint64(state.horizontal), np.uint64(state.vertical)
    set_up(board, *walls, state.pawns, state.left, state.ply)


def turned(size: int, ply: int, action: int) -> int:
    """Convert an action of the player to move to a move on the board, or back."""
    cells, walls = size * size, (size - 1) ** 2
    if ply % 2 == 0:
        return action
    if action < cells:
        return cells - 1 - action
    kind, wall = divmod(action - cells, walls)
    return cells + (kind + 1) * walls - 1 - wall


def _word(numbers: Iterable[int]) -> np.uint64:
    return np.uint64(sum(1 << number for number in numbers))


@inlined
def bit(number: int) -> Any:
    return ONE << np.uint64(number)


@inlined
def cell_set(cell: int) -> tuple[Any, Any]:
    return (bit(cell), ZERO) if cell < 64 else (ZERO, bit(cell - 64))


@inlined
def has_cell(low: Any, high: Any, cell: int) -> bool:
    word = low >> np.uint64(cell) if cell < 64 else high >> np.uint64(cell - 64)
    return (word & ONE) != ZERO


@inlined
def shift_up(low: Any, high: Any, count: Any) -> tuple[Any, Any]:
    return low << count, (high << count) | (low >> (LOW_CELLS - count))


@inlined
def shift_down(low: Any, high: Any, count: Any) -> tuple[Any, Any]:
    return (low >> count) | (high << (LOW_CELLS - count)), high >> count


@inlined
def popcount(word: Any) -> Any:
    """Return the number of set bits (Hacker's Delight, 5-1)."""
    word -= (word >> ONE) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))  # int() would keep it unsigned


@inlined
def lowest(word: Any) -> int:
    """Return the index of the lowest set bit."""
    return popcount((word & (~word + ONE)) - ONE)


@inlined
def highest(word: Any) -> int:
    """Return the index of the highest set bit."""
    for half in (1, 2, 4, 8, 16, 32):
        word |= word >> np.uint64(half)
    return popcount(word) - 1


@kernel
def set_up(board: Any, horizontal: Any, vertical: Any, pawns: Any, left: Any, ply: int) -> None:
    """Set a position; wall sets are words, `pawns` and `left` pairs by player."""
    size = board.size
    board.north_low = board.north_high = board.east_low = board.east_high = ZERO
    for cell in range(size * size):
        if cell < size * (size - 1):
            _flip_cell(board, True, cell)
        if cell % size < size - 1:
            _flip_cell(board, False, cell)
    board.horizontal = board.vertical = ZERO
    for wall in range((size - 1) * (size - 1)):
        if horizontal & bit(wall):
            flip_wall(board, True, wall)
        if vertical & bit(wall):
            flip_wall(board, False, wall)
    for player in range(2):
        board.pawn[player] = pawns[player]
        board.left[player] = left[player]
    board.ply = ply


@inlined
def _flip_cell(board: Any, north: bool, cell: int) -> None:
    """Open or close the step north or east of a cell."""
    low, high = cell_set(cell)
    if north:
        board.north_low ^= low
        board.north_high ^= high
    else:
        board.east_low ^= low
        board.east_high ^= high


@inlined
def flip_wall(board: Any, horizontal: bool, wall: int) -> None:
    """Add a wall to the board, or remove it."""
    cell = wall + wall // (board.size - 1)
    _flip_cell(board, horizontal, cell)
    if horizontal:
        _flip_cell(board, True, cell + 1)
        board.horizontal ^= bit(wall)
    else:
        _flip_cell(board, False, cell + board.size)
        board.vertical ^= bit(wall)


@inlined
def make(board: Any, move: int) -> int:
    """Play a legal move; return the previous cell of the player's pawn, for `unmake`."""
    player, cells = board.ply & 1, board.size * board.size
    origin = board.pawn[player]
    if move < cells:
        board.pawn[player] = move
    else:
        _place(board, move - cells, player, -1)
    board.ply += 1
    return origin


@inlined
def unmake(board: Any, move: int, origin: int) -> None:
    board.ply -= 1
    player, cells = board.ply & 1, board.size * board.size
    if move < cells:
        board.pawn[player] = origin
    else:
        _place(board, move - cells, player, 1)


@inlined
def _place(board: Any, wall: int, player: int, change: int) -> None:
    walls = (board.size - 1) * (board.size - 1)
    flip_wall(board, wall < walls, wall if wall < walls else wall - walls)
    board.left[player] += change


@inlined
def on_goal(board: Any, player: int) -> bool:
    return has_cell(board.goal_low[player], board.goal_high[player], board.pawn[player])
