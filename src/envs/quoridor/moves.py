"""Exact generation of legal moves, without a path search for every wall."""

from typing import Any

import numpy as np

from .board import (
    ONE,
    ZERO,
    bit,
    cell_set,
    flip_wall,
    has_cell,
    inlined,
    kernel,
    lowest,
    make,
    on_goal,
    popcount,
    unmake,
)
from .paths import NO_PATH, distance, is_open, neighbor, walls_across_path


@inlined
def is_over(board: Any) -> bool:
    return on_goal(board, 0) or on_goal(board, 1) or board.ply >= board.ply_limit


@inlined
def _with_cell(low: Any, high: Any, cell: int) -> tuple[Any, Any]:
    more_low, more_high = cell_set(cell)
    return low | more_low, high | more_high


@kernel
def pawn_targets(board: Any, player: int) -> tuple[Any, Any]:
    """Return the legal targets of a pawn; there is always one: if only the other pawn's cell is open, that pawn has a
    way on, or both would be cut off from their goals.
    """
    cell, other = board.pawn[player], board.pawn[1 - player]
    low, high = ZERO, ZERO
    for direction in range(4):
        if not is_open(board, cell, direction):
            continue
        target = neighbor(board, cell, direction)
        if target != other:
            low, high = _with_cell(low, high, target)
        elif is_open(board, other, direction):
            low, high = _with_cell(low, high, neighbor(board, other, direction))
        else:
            for turn in (1, 3):  # diagonal jumps, if a wall or the edge is behind the other pawn
                aside = (direction + turn) % 4
                if is_open(board, other, aside):
                    low, high = _with_cell(low, high, neighbor(board, other, aside))
    return low, high


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

    A path search is needed only for doubtful walls that cross the known path of a pawn.
    """
    if board.left[board.ply & 1] == 0:
        return ZERO, ZERO
    horizontal, vertical = free_walls(board)
    across_0, upright_0 = walls_across_path(board, 0)
    across_1, upright_1 = walls_across_path(board, 1)
    doubtful, doubtful_upright = doubtful_walls(board)
    horizontal &= ~_cutting(board, True, horizontal & doubtful & (across_0 | across_1))
    vertical &= ~_cutting(board, False, vertical & doubtful_upright & (upright_0 | upright_1))
    return horizontal, vertical


@inlined
def _cutting(board: Any, horizontal: bool, walls: Any) -> Any:
    """Return those of the walls that leave a pawn without a path."""
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
    low, high = pawn_targets(board, board.ply & 1)
    horizontal, vertical = legal_walls(board)
    count = list_up(low, 0, out, 0)
    count = list_up(high, 64, out, count)
    count = list_up(horizontal, cells, out, count)
    return list_up(vertical, cells + walls, out, count)


@inlined
def list_up(numbers: Any, offset: int, out: np.ndarray, count: int) -> int:
    """Append the numbers of a set in ascending order, plus the offset, to the `count` entries of `out`."""
    while numbers:
        out[count] = offset + lowest(numbers)
        numbers &= numbers - ONE
        count += 1
    return count


@kernel
def is_legal(board: Any, move: int) -> bool:
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    if is_over(board) or not 0 <= move < cells + 2 * walls:
        return False
    if move < cells:
        low, high = pawn_targets(board, board.ply & 1)
        return has_cell(low, high, move)
    if board.left[board.ply & 1] == 0:
        return False
    horizontal = move < cells + walls
    wall = move - cells if horizontal else move - cells - walls
    free = free_walls(board)[0] if horizontal else free_walls(board)[1]
    return (free & bit(wall)) != ZERO and keeps_paths(board, horizontal, wall)


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
