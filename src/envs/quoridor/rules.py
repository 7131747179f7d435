"""The rules: a board as bit sets in one record, changed in place by `make` and restored by `unmake`.

Cells are numbered row by row from a1. A wall has the number of the 2x2 block it divides, also row by row, so on 9x9
each orientation of walls fills exactly one 64-bit word:

    rank 3 | 18 19 20 ..     wall 0 is between a1, b1, a2 and b2: a1h runs above a1 and b1,
    rank 2 |  9 10 11 ..     a1v to the right of a1 and a2; wall 1 between b1, c1, b2 and c2, ...
    rank 1 |  0  1  2 ..
              a  b  c

A move is the target cell of the pawn, cells + wall for a horizontal wall, or cells + walls + wall for a vertical one.
Shortest paths are found by flood fill, in which each step expands all reached cells at once; few walls need one to be
known as legal.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...core.kernels import jit

# Kernels allocate nothing, so Numba's reference counting is disabled. Small ones are inlined into their callers.
kernel = jit(constants=True, nogil=True, _nrt=False)
inlined = jit(constants=True, nogil=True, forceinline=True, _nrt=False)

MAX_SIZE = 9  # (9 - 1)^2 walls of one orientation fill a 64-bit word
MAX_MOVES = 256  # more than any position has
NO_PATH = -1
LONGEST = 81  # no path visits a cell twice
NORTH, EAST, SOUTH, WEST = 0, 1, 2, 3
ONE, ZERO, LOW_CELLS = np.uint64(1), np.uint64(0), np.uint64(64)


class Position(NamedTuple):
    """A state of the game; wall sets are integers with the bit of each wall that stands."""

    pawns: tuple[int, int]  # cells
    left: tuple[int, int]  # walls in hand
    horizontal: int
    vertical: int
    ply: int  # player 1, seat 0, moves on even plies


BOARD = np.dtype(
    [
        ("north_low", np.uint64),  # cells from which the step north is open: the two words of a set, see `Cells`
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
        ("other_reached", np.uint64, (84, 2)),  # likewise for the other pawn
    ],
    align=True,
)


def new_board(size: int, ply_limit: int) -> Any:
    """Return a board without walls; `load_position` or `set_up` sets a position."""

    def word(numbers: Iterable[int]) -> np.uint64:
        return np.uint64(sum(1 << number for number in numbers))

    board, walls = np.zeros(1, BOARD), range((size - 1) ** 2)
    for player, row in enumerate((size - 1, 0)):
        cells = range(row * size, (row + 1) * size)
        board["goal_low"][0, player] = word(cell for cell in cells if cell < 64)
        board["goal_high"][0, player] = word(cell - 64 for cell in cells if cell >= 64)
    board["all_walls"] = word(walls)
    board["west_walls"] = word(wall for wall in walls if wall % (size - 1) == 0)
    board["east_walls"] = word(wall for wall in walls if wall % (size - 1) == size - 2)
    board["size"], board["ply_limit"] = size, ply_limit
    return board[0]


def load_position(board: Any, state: Position) -> None:
    set_up(board, np.uint64(state.horizontal), np.uint64(state.vertical), state.pawns, state.left, state.ply)


def to_positions(boards: np.ndarray) -> list[Position]:
    """Return boards (N,) as states of the game."""
    fields = (boards[name].tolist() for name in ("pawn", "left", "horizontal", "vertical", "ply"))
    return [Position(tuple(pawns), tuple(left), *rest) for pawns, left, *rest in zip(*fields, strict=True)]


def turned(size: int, ply: int, action: int) -> int:
    """Convert an action of the player to move to a move on the board, or back: player 2 sees the board rotated."""
    cells, walls = size * size, (size - 1) * (size - 1)
    if ply % 2 == 0:
        return action
    if action < cells:
        return cells - 1 - action
    first = cells if action < cells + walls else cells + walls  # the first wall of its orientation
    return 2 * first + walls - 1 - action


compiled_turned = inlined(turned)


def line_actions(size: int, ply: int, line: np.ndarray) -> tuple[int, ...]:
    """Return moves from a ply on as actions, each from the point of view of the player who makes it."""
    return tuple(turned(size, ply + i, move) for i, move in enumerate(line.tolist()))


# Sets of cells and walls

Cells = tuple[Any, Any]  # a set of cells as two words: cells 0..63, and the others


@inlined
def bit(number: int) -> Any:
    return ONE << np.uint64(number)


@inlined
def cell_set(cell: int) -> Cells:
    return (bit(cell), ZERO) if cell < 64 else (ZERO, bit(cell - 64))


@inlined
def has_cell(cells: Cells, cell: int) -> bool:
    word = cells[0] >> np.uint64(cell) if cell < 64 else cells[1] >> np.uint64(cell - 64)
    return (word & ONE) != ZERO


@inlined
def union(one: Cells, other: Cells) -> Cells:
    return one[0] | other[0], one[1] | other[1]


@inlined
def common(one: Cells, other: Cells) -> Cells:
    return one[0] & other[0], one[1] & other[1]


@inlined
def meet(one: Cells, other: Cells) -> bool:
    return (one[0] & other[0]) | (one[1] & other[1]) != ZERO


@inlined
def shift_up(cells: Cells, count: Any) -> Cells:
    return cells[0] << count, (cells[1] << count) | (cells[0] >> (LOW_CELLS - count))


@inlined
def shift_down(cells: Cells, count: Any) -> Cells:
    return (cells[0] >> count) | (cells[1] << (LOW_CELLS - count)), cells[1] >> count


@inlined
def goal(board: Any, player: int) -> Cells:
    return board.goal_low[player], board.goal_high[player]


@inlined
def north(board: Any) -> Cells:
    return board.north_low, board.north_high


@inlined
def east(board: Any) -> Cells:
    return board.east_low, board.east_high


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


# The board


@kernel
def set_up(board: Any, horizontal: Any, vertical: Any, pawns: Any, left: Any, ply: int) -> None:
    """Set a position; wall sets are words, `pawns` and `left` pairs by player."""
    size = board.size
    board.north_low = board.north_high = board.east_low = board.east_high = ZERO
    for cell in range(size * size):
        if cell < size * (size - 1):
            _flip_step(board, True, cell)
        if cell % size < size - 1:
            _flip_step(board, False, cell)
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
def _flip_step(board: Any, north: bool, cell: int) -> None:
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
    _flip_step(board, horizontal, cell)
    if horizontal:
        _flip_step(board, True, cell + 1)
        board.horizontal ^= bit(wall)
    else:
        _flip_step(board, False, cell + board.size)
        board.vertical ^= bit(wall)


@inlined
def wall_of(board: Any, move: int) -> tuple[bool, int]:
    """Return whether the wall of a move is horizontal, and its number."""
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    horizontal = move < cells + walls
    return horizontal, move - cells if horizontal else move - cells - walls


@inlined
def make(board: Any, move: int) -> int:
    """Play a legal move; return the previous cell of the player's pawn, for `unmake`."""
    player = board.ply & 1
    origin = board.pawn[player]
    if move < board.size * board.size:
        board.pawn[player] = move
    else:
        horizontal, wall = wall_of(board, move)
        flip_wall(board, horizontal, wall)
        board.left[player] -= 1
    board.ply += 1
    return origin


@inlined
def unmake(board: Any, move: int, origin: int) -> None:
    board.ply -= 1
    player = board.ply & 1
    if move < board.size * board.size:
        board.pawn[player] = origin
    else:
        horizontal, wall = wall_of(board, move)
        flip_wall(board, horizontal, wall)
        board.left[player] += 1


@inlined
def on_goal(board: Any, player: int) -> bool:
    return has_cell(goal(board, player), board.pawn[player])


@inlined
def is_over(board: Any) -> bool:
    return on_goal(board, 0) or on_goal(board, 1) or board.ply >= board.ply_limit


# Paths


@inlined
def is_open(board: Any, cell: int, direction: int) -> bool:
    """Whether walls and edges allow a pawn to step from the cell in this direction."""
    if direction == NORTH:
        return has_cell(north(board), cell)
    if direction == EAST:
        return has_cell(east(board), cell)
    if direction == SOUTH:
        return cell >= board.size and has_cell(north(board), cell - board.size)
    return cell > 0 and has_cell(east(board), cell - 1)


@inlined
def neighbor(board: Any, cell: int, direction: int) -> int:
    if direction == NORTH:
        return cell + board.size
    if direction == EAST:
        return cell + 1
    return cell - board.size if direction == SOUTH else cell - 1


@inlined
def spread(board: Any, cells: Cells) -> Cells:
    """Return the set extended by the cells one step away."""
    row = np.uint64(board.size)
    up, right = shift_up(common(cells, north(board)), row), shift_up(common(cells, east(board)), ONE)
    down, left = common(shift_down(cells, row), north(board)), common(shift_down(cells, ONE), east(board))
    return union(union(cells, union(up, right)), union(down, left))


@kernel
def distance(board: Any, player: int) -> int:
    """Return the length of a player's shortest path, ignoring the other pawn; NO_PATH if there is none."""
    cells, steps = cell_set(board.pawn[player]), 0
    while not meet(cells, goal(board, player)):
        grown = spread(board, cells)
        if grown == cells:
            return NO_PATH
        cells = grown
        steps += 1
    return steps


@inlined
def flood(board: Any, player: int) -> tuple[int, int]:
    """Return the length of a player's shortest path and the goal cell at its end; fill `reached`.

    Every legal position has a path. Otherwise the result is wrong, but without side effects.
    """
    cells, steps = cell_set(board.pawn[player]), 0
    while not meet(cells, goal(board, player)) and steps < LONGEST:
        board.reached[steps, 0], board.reached[steps, 1] = cells
        cells = spread(board, cells)
        steps += 1
    low, high = common(cells, goal(board, player))
    if player == 1:  # the first goal cell from the player's point of view
        return steps, 64 + highest(high) if high else highest(low)
    return steps, lowest(low) if low else 64 + lowest(high)


@inlined
def direction_back(board: Any, player: int, cell: int, step: int) -> int:
    """Return the direction from which the path found by `flood` reaches its cell number step + 1."""
    reached = board.reached[step, 0], board.reached[step, 1]
    for turn in range(3):
        direction = (turn + 2 * player) % 4  # symmetric for both players
        if is_open(board, cell, direction) and has_cell(reached, neighbor(board, cell, direction)):
            return direction
    return (3 + 2 * player) % 4


@kernel
def walls_across_path(board: Any, player: int) -> tuple[Any, Any]:
    """Return the horizontal and vertical walls that would cut one shortest path of the player."""
    steps, cell = flood(board, player)
    horizontal, vertical = ZERO, ZERO
    while steps > 0:
        steps -= 1
        direction = direction_back(board, player, cell, steps)
        before = neighbor(board, cell, direction)
        if direction & 1 == NORTH:  # or SOUTH
            horizontal |= walls_closing(board, True, min(cell, before))
        else:
            vertical |= walls_closing(board, False, min(cell, before))
        cell = before
    return horizontal, vertical


@inlined
def walls_closing(board: Any, horizontal: bool, cell: int) -> Any:
    """Return the walls that would close the step north (horizontal) or east of a cell: two, or one at the edge."""
    side = board.size - 1
    row, col = cell // board.size, cell % board.size
    wall, place, before = row * side + col, col if horizontal else row, 1 if horizontal else side
    found = bit(wall) if place < side else ZERO
    return found | bit(wall - before) if place > 0 else found


@kernel
def distance_map(board: Any, player: int, out: np.ndarray) -> None:
    """Fill (cells,) with the steps from each cell to the player's goal, or NO_PATH."""
    out[:] = NO_PATH
    before, cells, steps = (ZERO, ZERO), goal(board, player), 0
    while cells != before:
        for cell in range(out.size):
            if out[cell] == NO_PATH and has_cell(cells, cell):
                out[cell] = steps
        before, cells = cells, spread(board, cells)
        steps += 1


# Legal moves


@kernel
def pawn_targets(board: Any, player: int) -> Cells:
    """Return the legal targets of a pawn; there is always one: if only the other pawn's cell is open, that pawn has a
    way on, or both would be cut off from their goals.
    """
    cell, other = board.pawn[player], board.pawn[1 - player]
    targets = ZERO, ZERO
    for direction in range(4):
        if not is_open(board, cell, direction):
            continue
        target = neighbor(board, cell, direction)
        if target != other:
            targets = union(targets, cell_set(target))
        elif is_open(board, other, direction):
            targets = union(targets, cell_set(neighbor(board, other, direction)))
        else:
            for turn in (1, 3):  # diagonal jumps, if a wall or the edge is behind the other pawn
                aside = (direction + turn) % 4
                if is_open(board, other, aside):
                    targets = union(targets, cell_set(neighbor(board, other, aside)))
    return targets


@inlined
def free_walls(board: Any) -> tuple[Any, Any]:
    """Return the walls that do not overlap or cross others."""
    row = np.uint64(board.size - 1)
    horizontal, vertical = board.horizontal, board.vertical
    beside = ((horizontal << ONE) & ~board.west_walls) | ((horizontal >> ONE) & ~board.east_walls)
    above = (vertical << row) | (vertical >> row)
    taken = horizontal | vertical
    return board.all_walls & ~(taken | beside), board.all_walls & ~(taken | above)


@inlined
def doubtful_walls(board: Any) -> tuple[Any, Any]:
    """Return the walls that might cut off a part of the board.

    Other free walls cannot: to close a ring of walls and edges, a wall must touch others with two of its three points
    (both ends and the middle).
    """
    row, west, east = np.uint64(board.size - 1), board.west_walls, board.east_walls
    horizontal, vertical = board.horizontal, board.vertical
    south = board.all_walls & ((ONE << row) - ONE)
    north = board.all_walls & ~(board.all_walls >> row)
    points = horizontal | ((horizontal << ONE) & ~west) | ((horizontal >> ONE) & ~east)
    points |= vertical | (vertical << row) | (vertical >> row)  # grid points touched by walls
    left, right = ((points << ONE) & ~west) | west, ((points >> ONE) & ~east) | east
    below, above = (points << row) | south, (points >> row) | north
    return (
        (left & points) | (left & right) | (points & right),
        (below & points) | (below & above) | (points & above),
    )


@kernel
def keeps_paths(board: Any, horizontal: bool, wall: int) -> bool:
    """Whether a free wall leaves both pawns a path to their goals."""
    flip_wall(board, horizontal, wall)
    kept = distance(board, 0) != NO_PATH and distance(board, 1) != NO_PATH
    flip_wall(board, horizontal, wall)
    return kept


@kernel
def legal_walls(board: Any) -> tuple[Any, Any]:
    """Return the horizontal and vertical walls that the player to move may place.

    A path search is needed only for walls that might cut off a part of the board and cross the known path of a pawn.
    """
    if board.left[board.ply & 1] == 0:
        return ZERO, ZERO
    horizontal, vertical = free_walls(board)
    across_0, upright_0 = walls_across_path(board, 0)
    across_1, upright_1 = walls_across_path(board, 1)
    doubtful, doubtful_upright = doubtful_walls(board)
    horizontal &= ~_blocking(board, True, horizontal & doubtful & (across_0 | across_1))
    vertical &= ~_blocking(board, False, vertical & doubtful_upright & (upright_0 | upright_1))
    return horizontal, vertical


@inlined
def _blocking(board: Any, horizontal: bool, walls: Any) -> Any:
    """Return the walls of a set that leave a pawn without a path."""
    found = ZERO
    while walls:
        if not keeps_paths(board, horizontal, lowest(walls)):
            found |= walls & (~walls + ONE)
        walls &= walls - ONE
    return found


@kernel
def list_legal(board: Any, out: np.ndarray) -> int:
    """Write all legal moves in ascending order into `out`; return their number, 0 once the game is over."""
    if is_over(board):
        return 0
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    horizontal, vertical = legal_walls(board)
    count = append_cells(pawn_targets(board, board.ply & 1), out)
    count = append_ascending(horizontal, cells, out, count)
    return append_ascending(vertical, cells + walls, out, count)


@inlined
def append_ascending(numbers: Any, offset: int, out: np.ndarray, count: int) -> int:
    """Append the numbers of a set in ascending order, plus the offset, to the `count` entries of `out`."""
    while numbers:
        out[count] = offset + lowest(numbers)
        numbers &= numbers - ONE
        count += 1
    return count


@inlined
def append_cells(cells: Cells, out: np.ndarray) -> int:
    """Write the cells of a set in ascending order into `out`; return their number."""
    return append_ascending(cells[1], 64, out, append_ascending(cells[0], 0, out, 0))


@kernel
def is_legal(board: Any, move: int) -> bool:
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    if is_over(board) or not 0 <= move < cells + 2 * walls:
        return False
    if move < cells:
        return has_cell(pawn_targets(board, board.ply & 1), move)
    if board.left[board.ply & 1] == 0:
        return False
    horizontal, wall = wall_of(board, move)
    free, free_upright = free_walls(board)
    return ((free if horizontal else free_upright) & bit(wall)) != ZERO and keeps_paths(board, horizontal, wall)


@kernel
def perft(board: Any, depth: int, buffers: np.ndarray) -> int:
    """Count the positions after `depth` >= 1 plies; moves of the last ply are counted without being made."""
    if is_over(board):
        return 0
    if depth == 1:
        low, high = pawn_targets(board, board.ply & 1)
        horizontal, vertical = legal_walls(board)
        return popcount(low) + popcount(high) + popcount(horizontal) + popcount(vertical)
    moves = buffers[depth]
    total = 0
    for i in range(list_legal(board, moves)):
        origin = make(board, moves[i])
        total += perft(board, depth - 1, buffers)
        unmake(board, moves[i], origin)
    return total
