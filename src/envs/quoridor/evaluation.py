"""Candidate moves for a search, and the five factors of the static evaluation."""

from typing import Any

import numpy as np

from ..splitmix import hash_word
from .board import ZERO, bit, flip_wall, highest, inlined, kernel
from .moves import doubtful_walls, free_walls, keeps_paths, list_up, pawn_targets
from .paths import NO_PATH, distance, is_open, walls_across_path

FACTORS = ("path", "endgame", "walls", "mobility", "efficiency")
GAIN = 2  # steps that a wall must gain in a selective search
LAG = 1  # ... unless the player to move is behind by more than this
LAST = 1  # ... and unless the opponent is this close to its goal: then every blocking wall counts
CLOSE = 3  # steps from the goal at which the endgame begins


@kernel
def measure(board: Any, out: np.ndarray) -> int:
    """Write the factors for the player to move into (5,); return 0.

    If a player has no path left, write nothing and return -1 (the player to move) or 1 (the other).
    """
    me = board.ply & 1
    mine, theirs = distance(board, me), distance(board, 1 - me)
    if mine == NO_PATH or theirs == NO_PATH:
        return -1 if mine == NO_PATH else 1
    out[0] = theirs - mine
    out[1] = _closeness(mine) - _closeness(theirs)
    out[2] = board.left[me] - board.left[1 - me]
    out[3] = _mobility(board, me) - _mobility(board, 1 - me)
    out[4] = (theirs - _rows_to_go(board, 1 - me)) - (mine - _rows_to_go(board, me))
    return 0


@inlined
def _closeness(steps: int) -> int:
    """Return 0, or 1, 4 and 9 for the last three steps: each is worth more than the one before."""
    return (CLOSE + 1 - steps) ** 2 if steps <= CLOSE else 0


@inlined
def _mobility(board: Any, player: int) -> int:
    cell, count = board.pawn[player], 0
    for direction in range(4):
        count += is_open(board, cell, direction)
    return count


@inlined
def _rows_to_go(board: Any, player: int) -> int:
    """Return the length of the path without walls."""
    row = board.pawn[player] // board.size
    return board.size - 1 - row if player == 0 else row


@kernel
def list_plausible(board: Any, out: np.ndarray) -> int:
    """Write the plausible moves into `out` and return their number; walls may still turn out to cut off a path.

    Pawn moves are first, the most advanced leading, then walls across the opponent's shortest path and around its pawn.
    The order is the same for both players, from their points of view.
    """
    me = board.ply & 1
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    low, high = pawn_targets(board, me)
    count = 0
    if me == 0:
        count = _list_down(high, 64, out, count)
        count = _list_down(low, 0, out, count)
    else:
        count = list_up(low, 0, out, count)
        count = list_up(high, 64, out, count)
    if board.left[me] == 0:
        return count
    across, upright = walls_across_path(board, 1 - me)
    beside = box(board, board.pawn[1 - me])
    free, free_upright = free_walls(board)
    across, upright = (across | beside) & free, (upright | beside) & free_upright
    if me == 0:
        count = list_up(across, cells, out, count)
        return list_up(upright, cells + walls, out, count)
    count = _list_down(across, cells, out, count)
    return _list_down(upright, cells + walls, out, count)


@inlined
def _list_down(numbers: Any, offset: int, out: np.ndarray, count: int) -> int:
    while numbers:
        number = highest(numbers)
        out[count] = offset + number
        numbers ^= bit(number)
        count += 1
    return count


@inlined
def box(board: Any, cell: int) -> Any:
    """Return the numbers of the walls around a cell whose middle is at one of its corners: four, fewer at the edge."""
    side = board.size - 1
    row, col = cell // board.size, cell % board.size
    found = ZERO
    for r in range(max(row - 1, 0), min(row + 1, side)):
        for c in range(max(col - 1, 0), min(col + 1, side)):
            found |= bit(r * side + c)
    return found


@inlined
def is_sound(board: Any, move: int) -> bool:
    """Whether a plausible move is legal."""
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    if move < cells:
        return True
    doubtful, doubtful_upright = doubtful_walls(board)
    if move < cells + walls:
        return (doubtful & bit(move - cells)) == ZERO or keeps_paths(board, True, move - cells)
    wall = move - cells - walls
    return (doubtful_upright & bit(wall)) == ZERO or keeps_paths(board, False, wall)


@kernel
def list_candidates(board: Any, selective: bool, waiting_plies: int, out: np.ndarray) -> int:
    """Write the plausible moves that are legal; if `selective`, only those that gain.

    A wall that costs the opponent one step is no better than a step, and is used up. So it must cost two, unless the
    player to move is behind or the opponent is about to win. Selective pawn moves do not retreat; otherwise a player in
    front of a corridor that the opponent can close would move back and forth, with its loss always just beyond the
    search depth. From the ply `waiting_plies` on they lead as close to the goal as possible: two players who both wait
    for the other to commit itself would never end the game.
    """
    me, cells, count = board.ply & 1, board.size * board.size, 0
    mine, theirs = distance(board, me), distance(board, 1 - me)
    enough = 1 if mine - theirs > LAG else GAIN
    plausible = list_plausible(board, out)
    fewest = steps_left(board, closest(board, out, plausible)) if selective else 0
    most = max(fewest, mine) if board.ply < waiting_plies else fewest
    for i in range(plausible):
        move = out[i]
        if move < cells:
            kept = not selective or steps_left(board, move) <= most
        else:
            kept = gains(board, move, mine, theirs, enough) if selective else is_sound(board, move)
        if kept:
            out[count] = move
            count += 1
    return count


@inlined
def steps_left(board: Any, target: int) -> int:
    """Return the path length of the player to move with its pawn on `target`."""
    me = board.ply & 1
    origin = board.pawn[me]
    board.pawn[me] = target
    steps = distance(board, me)
    board.pawn[me] = origin
    return steps


@kernel
def closest(board: Any, moves: np.ndarray, count: int) -> int:
    """Return the pawn move among the first `count` moves that leads closest to the goal; the first one wins ties."""
    best, fewest = moves[0], 1 << 30
    for i in range(count):
        if moves[i] < board.size * board.size:
            steps = steps_left(board, moves[i])
            if steps < fewest:
                best, fewest = moves[i], steps
    return best


@kernel
def list_threats(board: Any, out: np.ndarray) -> int:
    """Write the walls that gain `GAIN` steps, or that stop an opponent who is about to win."""
    me, count = board.ply & 1, 0
    mine, theirs = distance(board, me), distance(board, 1 - me)
    for i in range(list_plausible(board, out)):
        if out[i] >= board.size * board.size and gains(board, out[i], mine, theirs, GAIN):
            out[count] = out[i]
            count += 1
    return count


@inlined
def gains(board: Any, move: int, mine: int, theirs: int, enough: int) -> bool:
    """Whether a free wall costs the opponent `enough` steps more than the player to move, and cuts off neither path.

    If the opponent is about to win, any longer path is enough.
    """
    me, cells, walls = board.ply & 1, board.size * board.size, (board.size - 1) * (board.size - 1)
    horizontal = move < cells + walls
    wall = move - cells if horizontal else move - cells - walls
    flip_wall(board, horizontal, wall)
    theirs_then = distance(board, 1 - me)
    mine_then = distance(board, me) if theirs_then > theirs else NO_PATH
    flip_wall(board, horizontal, wall)
    if mine_then == NO_PATH:
        return False
    return theirs <= LAST or (theirs_then - theirs) - (mine_then - mine) >= enough


@kernel
def position_key(board: Any) -> Any:
    """Return a 64-bit key of pawns, walls, walls in hand and the player to move, without the ply."""
    rest = ((board.pawn[0] * 128 + board.pawn[1]) * 128 + board.left[0]) * 128 + board.left[1]
    rest = rest * 2 + (board.ply & 1)
    return hash_word(board.horizontal ^ hash_word(board.vertical ^ hash_word(np.uint64(rest))))
