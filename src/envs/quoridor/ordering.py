"""Moves of the timed search, with the steps that each gains and their order."""

from typing import Any

import numpy as np

from .board import ONE, ZERO, bit, flip_wall, has_cell, inlined, kernel, lowest
from .evaluation import box
from .features import CELLS_HIGH, CELLS_LOW, CUT, CUT_UPRIGHT, EAST_HIGH, EAST_LOW, NORTH_HIGH, NORTH_LOW
from .moves import free_walls, list_up, pawn_targets
from .paths import NO_PATH, distance, pair

ILLEGAL = -100  # gain of a wall that cuts off a pawn


@kernel
def walls_across(board: Any, path: np.ndarray) -> tuple[Any, Any, Any, Any]:
    """Return the walls across a step of the shortest paths found by `trace`, and those that may cut all of them.

    A wall closes two steps. If only one of them is on a shortest path, it cuts all paths only if they all take it.
    """
    across, both = _across(board, path[NORTH_LOW], 0, True, ZERO, ZERO)
    across, both = _across(board, path[NORTH_HIGH], 64, True, across, both)
    upright, both_upright = _across(board, path[EAST_LOW], 0, False, ZERO, ZERO)
    upright, both_upright = _across(board, path[EAST_HIGH], 64, False, upright, both_upright)
    return across, upright, both | path[CUT], both_upright | path[CUT_UPRIGHT]


@inlined
def _across(board: Any, cells: Any, offset: int, horizontal: bool, across: Any, both: Any) -> tuple[Any, Any]:
    """Add the walls that close a step, and those that close two."""
    while cells != ZERO:
        found = pair(board, offset + lowest(cells), horizontal)
        both |= across & found
        across |= found
        cells &= cells - ONE
    return across, both


@kernel
def list_moves(
    board: Any, paths: np.ndarray, lengths: np.ndarray, wide: bool, moves: np.ndarray, gains: np.ndarray
) -> int:
    """Write the legal moves to search and the steps that each gains; return their number.

    All pawn moves, and the walls across the shortest paths of the opponent that gain a step; if `wide`, also those that
    gain nothing, and those around both pawns. `paths` and `lengths` are those of `trace`, by player.
    """
    me = board.ply & 1
    low, high = pawn_targets(board, me)
    count = list_up(low, 0, moves, 0)
    count = list_up(high, 64, moves, count)
    for i in range(count):
        gains[i] = 1 if has_cell(paths[me, CELLS_LOW], paths[me, CELLS_HIGH], moves[i]) else 0
    if board.left[me] == 0:
        return count
    theirs_h, theirs_v, hinder_h, hinder_v = walls_across(board, paths[1 - me])
    _, _, cost_h, cost_v = walls_across(board, paths[me])
    listed_h, listed_v = hinder_h, hinder_v
    if wide:
        near = box(board, board.pawn[0]) | box(board, board.pawn[1])
        listed_h, listed_v = theirs_h | near, theirs_v | near
    free_h, free_v = free_walls(board)
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    first = count
    last = list_up(listed_h & free_h, cells, moves, count)
    last = list_up(listed_v & free_v, cells + walls, moves, last)
    for i in range(first, last):
        move = moves[i]
        horizontal = move < cells + walls
        wall = move - cells if horizontal else move - cells - walls
        hinders = ((hinder_h if horizontal else hinder_v) & bit(wall)) != ZERO
        costs = ((cost_h if horizontal else cost_v) & bit(wall)) != ZERO
        gain = _gain(board, horizontal, wall, hinders, costs, lengths)
        if gain > 0 or (wide and gain != ILLEGAL):
            moves[count], gains[count] = move, gain
            count += 1
    return count


@inlined
def _gain(board: Any, horizontal: bool, wall: int, hinders: bool, costs: bool, lengths: np.ndarray) -> int:
    """Return by how many steps a wall lengthens the path of the opponent more than the own one.

    A wall that crosses no shortest path of a player leaves its length as it is. A wall that stops an opponent who is
    about to win gains at least a step.
    """
    me = board.ply & 1
    mine, theirs = lengths[me], lengths[1 - me]
    flip_wall(board, horizontal, wall)
    if hinders:
        theirs = distance(board, 1 - me)
    if costs and theirs != NO_PATH:
        mine = distance(board, me)
    flip_wall(board, horizontal, wall)
    if mine == NO_PATH or theirs == NO_PATH:
        return ILLEGAL
    gain = (theirs - lengths[1 - me]) - (mine - lengths[me])
    return max(gain, 1) if lengths[1 - me] == 1 and theirs > 1 else gain
