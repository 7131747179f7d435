"""Shortest paths by bitboard flood fill: each step expands all reached cells at once."""

from typing import Any

import numpy as np

from .board import (
    ONE,
    ZERO,
    bit,
    cell_set,
    has_cell,
    highest,
    inlined,
    kernel,
    lowest,
    shift_down,
    shift_up,
)

NO_PATH = -1
LONGEST = 81  # no path visits a cell twice
NORTH, EAST, SOUTH, WEST = 0, 1, 2, 3


@inlined
def is_open(board: Any, cell: int, direction: int) -> bool:
    """Whether walls and edges allow a pawn to step from the cell in this direction."""
    if direction == NORTH:
        return has_cell(board.north_low, board.north_high, cell)
    if direction == EAST:
        return has_cell(board.east_low, board.east_high, cell)
    if direction == SOUTH:
        return cell >= board.size and has_cell(board.north_low, board.north_high, cell - board.size)
    return cell > 0 and has_cell(board.east_low, board.east_high, cell - 1)


@inlined
def neighbor(board: Any, cell: int, direction: int) -> int:
    if direction == NORTH:
        return cell + board.size
    if direction == EAST:
        return cell + 1
    return cell - board.size if direction == SOUTH else cell - 1


@inlined
def spread(board: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the set extended by the cells one step away."""
    row = np.uint64(board.size)
    north_low, north_high = shift_up(low & board.north_low, high & board.north_high, row)
    east_low, east_high = shift_up(low & board.east_low, high & board.east_high, ONE)
    south_low, south_high = shift_down(low, high, row)
    west_low, west_high = shift_down(low, high, ONE)
    low |= north_low | east_low | (south_low & board.north_low) | (west_low & board.east_low)
    high |= north_high | east_high | (south_high & board.north_high) | (west_high & board.east_high)
    return low, high


@kernel
def distance(board: Any, player: int) -> int:
    """Return the length of a player's shortest path, ignoring the other pawn; NO_PATH if there is none."""
    low, high = cell_set(board.pawn[player])
    goal_low, goal_high = board.goal_low[player], board.goal_high[player]
    steps = 0
    while (low & goal_low) | (high & goal_high) == ZERO:
        next_low, next_high = spread(board, low, high)
        if next_low == low and next_high == high:
            return NO_PATH
        low, high = next_low, next_high
        steps += 1
    return steps


@inlined
def flood(board: Any, player: int) -> tuple[int, int]:
    """Return the length of a player's shortest path and the goal cell at its end; fill `reached`.

    Every legal position has a path. Otherwise the result is wrong, but without side effects.
    """
    low, high = cell_set(board.pawn[player])
    goal_low, goal_high = board.goal_low[player], board.goal_high[player]
    steps = 0
    while (low & goal_low) | (high & goal_high) == ZERO and steps < LONGEST:
        board.reached[steps, 0], board.reached[steps, 1] = low, high
        low, high = spread(board, low, high)
        steps += 1
    low, high = low & goal_low, high & goal_high
    if player == 1:  # the first goal cell from the player's point of view
        return steps, 64 + highest(high) if high else highest(low)
    return steps, lowest(low) if low else 64 + lowest(high)


@inlined
def way_back(board: Any, player: int, cell: int, step: int) -> int:
    """Return the direction from which the path found by `flood` reaches its cell number step + 1."""
    low, high = board.reached[step, 0], board.reached[step, 1]
    for turn in range(3):
        direction = (turn + 2 * player) % 4  # symmetric for both players
        if is_open(board, cell, direction) and has_cell(low, high, neighbor(board, cell, direction)):
            return direction
    return (3 + 2 * player) % 4


@kernel
def walls_across_path(board: Any, player: int) -> tuple[Any, Any]:
    """Return the horizontal and vertical walls that would cut one shortest path of the player."""
    steps, cell = flood(board, player)
    horizontal, vertical = ZERO, ZERO
    while steps > 0:
        steps -= 1
        direction = way_back(board, player, cell, steps)
        before = neighbor(board, cell, direction)
        if direction & 1 == NORTH:  # or SOUTH
            horizontal |= pair(board, min(cell, before), True)
        else:
            vertical |= pair(board, min(cell, before), False)
        cell = before
    return horizontal, vertical


@inlined
def pair(board: Any, cell: int, horizontal: bool) -> Any:
    """Return the walls that would close the step north (horizontal) or east of a cell: two, or one at the edge."""
    side = board.size - 1
    row, col = cell // board.size, cell % board.size
    found = ZERO
    if horizontal:
        if col < side:
            found |= bit(row * side + col)
        if col > 0:
            found |= bit(row * side + col - 1)
    else:
        if row < side:
            found |= bit(row * side + col)
        if row > 0:
            found |= bit((row - 1) * side + col)
    return found


@kernel
def distance_map(board: Any, player: int, out: np.ndarray) -> None:
    """Fill (cells,) with the steps from each cell to the player's goal, or NO_PATH."""
    out[:] = NO_PATH
    low, high = board.goal_low[player], board.goal_high[player]
    steps, grown = 0, True
    while grown:
        for cell in range(out.size):
            if out[cell] == NO_PATH and has_cell(low, high, cell):
                out[cell] = steps
        next_low, next_high = spread(board, low, high)
        grown = next_low != low or next_high != high
        low, high = next_low, next_high
        steps += 1
