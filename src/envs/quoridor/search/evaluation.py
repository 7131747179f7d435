"""What searches and playouts know of a position: five factors, decided races, candidate moves."""

from typing import Any

import numpy as np

from ...splitmix import hash_word
from .. import rules
from ..rules import NO_PATH, ZERO, append_ascending, bit, distance, has_cell, inlined, kernel

FACTORS = ("path", "endgame", "walls", "mobility", "efficiency")
CLOSE = 3  # steps from the goal at which the endgame begins
MIN_GAIN = 2  # steps that a wall must gain in a selective search
MAX_LAG = 1  # ... unless the player to move is behind by more than this
LATE_PLIES = 24  # ... and unless the player to move may not wait any more after so many plies
LAST_STEPS = 1  # ... and unless the opponent is this close to its goal: then every blocking wall counts
WALL_PERCENT = 20  # share of walls among the moves of playouts, while there are walls in hand


@kernel
def measure(board: Any, out: np.ndarray) -> int:
    """Write the factors for the player to move into (5,); return 0.

    If a player has no path left, write nothing and return -1 (the player to move) or 1 (the other).
    """
    me = board.ply & 1
    mine, theirs = distance(board, me), distance(board, 1 - me)
    if mine == NO_PATH or theirs == NO_PATH:
        return -1 if mine == NO_PATH else 1
    out[:] = 0
    for player, steps, sign in ((me, mine, 1), (1 - me, theirs, -1)):
        cell, row = board.pawn[player], board.pawn[player] // board.size
        rows_to_go = board.size - 1 - row if player == 0 else row  # the length of the path without walls
        out[0] -= sign * steps
        if steps <= CLOSE:
            out[1] += sign * (CLOSE + 1 - steps) ** 2  # each of the last steps is worth more than the one before
        out[2] += sign * board.left[player]
        for direction in range(4):
            out[3] += sign * rules.is_open(board, cell, direction)
        out[4] -= sign * (steps - rows_to_go)
    return 0


@kernel
def position_key(board: Any) -> Any:
    """Return a 64-bit key of pawns, walls, walls in hand and the player to move, without the ply."""
    rest = ((board.pawn[0] * 128 + board.pawn[1]) * 128 + board.left[0]) * 128 + board.left[1]
    rest = rest * 2 + (board.ply & 1)
    return hash_word(board.horizontal ^ hash_word(board.vertical ^ hash_word(np.uint64(rest))))


@kernel
def plies_to_win(board: Any) -> int:
    """Return the plies until the winner of a decided race arrives, negative if the opponent wins; 0 if undecided.

    A race is decided if the loser has no walls left and the pawns do not meet.
    """
    me = board.ply & 1
    other = 1 - me
    if board.left[me] > 0 and board.left[other] > 0:
        return 0
    mine, theirs = distance(board, me), distance(board, other)
    if mine <= theirs:
        plies = 2 * mine - 1
        decided = board.left[other] == 0 and _unhindered(board, me, 0)
    else:
        plies = -2 * theirs
        decided = board.left[me] == 0 and _unhindered(board, other, 1)
    return plies if decided and board.ply + abs(plies) <= board.ply_limit else 0


@inlined
def _unhindered(board: Any, runner: int, behind: int) -> bool:
    """Whether the runner can follow its shortest path without being adjacent to the other pawn when that is to move.

    `behind` is the number of moves of the other pawn before the runner's first. If they are never adjacent, the other
    pawn can neither block nor jump, and needs its own distance to arrive.
    """
    steps, cell = rules.flood(board, runner)
    other, reached = rules.cell_set(board.pawn[1 - runner]), board.other_reached
    for k in range(steps + behind + 1):
        reached[k, 0], reached[k, 1] = other
        other = rules.spread(board, other)
    near = steps - 1 + behind  # moves of the other before the runner's last
    if has_cell((reached[near, 0], reached[near, 1]), cell):
        return False
    while steps > 0:
        steps -= 1
        cell = rules.neighbor(board, cell, rules.direction_back(board, runner, cell, steps))
        if has_cell((reached[steps + behind, 0], reached[steps + behind, 1]), cell):
            return False
    return True


@kernel
def list_plausible(board: Any, out: np.ndarray) -> int:
    """Write the plausible moves into `out` and return their number; walls may still turn out to cut off a path.

    Pawn moves are first, the most advanced leading, then walls across the opponent's shortest path and around its pawn.
    The order is the same for both players, from their points of view.
    """
    me = board.ply & 1
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    targets = rules.pawn_targets(board, me)
    if me == 0:
        count = _append_descending(targets[0], 0, out, _append_descending(targets[1], 64, out, 0))
    else:
        count = rules.append_cells(targets, out)
    if board.left[me] == 0:
        return count
    across, upright = rules.walls_across_path(board, 1 - me)
    beside = walls_around(board, board.pawn[1 - me])
    free, free_upright = rules.free_walls(board)
    across, upright = (across | beside) & free, (upright | beside) & free_upright
    if me == 0:
        count = append_ascending(across, cells, out, count)
        return append_ascending(upright, cells + walls, out, count)
    count = _append_descending(across, cells, out, count)
    return _append_descending(upright, cells + walls, out, count)


@inlined
def _append_descending(numbers: Any, offset: int, out: np.ndarray, count: int) -> int:
    while numbers:
        number = rules.highest(numbers)
        out[count] = offset + number
        numbers ^= bit(number)
        count += 1
    return count


@inlined
def walls_around(board: Any, cell: int) -> Any:
    """Return the numbers of the walls around a cell whose middle is at one of its corners: four, fewer at the edge."""
    side = board.size - 1
    row, col = cell // board.size, cell % board.size
    found = ZERO
    for r in range(max(row - 1, 0), min(row + 1, side)):
        for c in range(max(col - 1, 0), min(col + 1, side)):
            found |= bit(r * side + c)
    return found


@inlined
def is_legal_wall(board: Any, move: int) -> bool:
    """Whether a plausible wall is legal."""
    horizontal, wall = rules.wall_of(board, move)
    doubtful, doubtful_upright = rules.doubtful_walls(board)
    return ((doubtful if horizontal else doubtful_upright) & bit(wall)) == ZERO or rules.keeps_paths(
        board, horizontal, wall
    )


@kernel
def list_candidates(board: Any, selective: bool, waiting_plies: int, out: np.ndarray) -> int:
    """Write the plausible moves that are legal; if `selective`, only moves that gain.

    A wall that costs the opponent one step is no better than a step, and is used up. So it must cost two, unless the
    player to move is behind or the opponent is about to win. Selective pawn moves do not retreat; otherwise a player in
    front of a corridor that the opponent can close would move back and forth, with its loss always just beyond the
    search depth. Two players who both wait for the other to commit itself would never end the game: in the
    `LATE_PLIES` before the ply `waiting_plies` and after it a wall need only cost one step, which ends most waits, and
    from then on pawn moves lead as close to the goal as possible.
    """
    me, cells, count = board.ply & 1, board.size * board.size, 0
    mine, theirs = distance(board, me), distance(board, 1 - me)
    enough = 1 if mine - theirs > MAX_LAG or board.ply >= waiting_plies - LATE_PLIES else MIN_GAIN
    plausible = list_plausible(board, out)
    fewest = steps_left(board, closest(board, out, plausible, 0)) if selective else 0
    most = max(fewest, mine) if board.ply < waiting_plies else fewest
    for i in range(plausible):
        move = out[i]
        if move < cells:
            kept = not selective or steps_left(board, move) <= most
        else:
            kept = gains(board, move, mine, theirs, enough) if selective else is_legal_wall(board, move)
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
def closest(board: Any, moves: np.ndarray, count: int, start: int) -> int:
    """Return the pawn move among the first `count` moves that leads closest to the goal.

    Of equal ones it is the first from index `start` on, and then from 0 on.
    """
    best, fewest = moves[0], 1 << 30
    for i in range(start, start + count):
        move = moves[i if i < count else i - count]
        if move < board.size * board.size:
            steps = steps_left(board, move)
            if steps < fewest:
                best, fewest = move, steps
    return best


@kernel
def list_threats(board: Any, out: np.ndarray) -> int:
    """Write the walls that gain `MIN_GAIN` steps, or that stop an opponent who is about to win."""
    me, count = board.ply & 1, 0
    mine, theirs = distance(board, me), distance(board, 1 - me)
    for i in range(list_plausible(board, out)):
        if out[i] >= board.size * board.size and gains(board, out[i], mine, theirs, MIN_GAIN):
            out[count] = out[i]
            count += 1
    return count


@inlined
def gains(board: Any, move: int, mine: int, theirs: int, enough: int) -> bool:
    """Whether a free wall costs the opponent `enough` steps more than the player to move, and cuts off neither path.

    If the opponent is about to win, any longer path is enough.
    """
    me = board.ply & 1
    horizontal, wall = rules.wall_of(board, move)
    rules.flip_wall(board, horizontal, wall)
    theirs_then = distance(board, 1 - me)
    mine_then = distance(board, me) if theirs_then > theirs else NO_PATH
    rules.flip_wall(board, horizontal, wall)
    if mine_then == NO_PATH:
        return False
    return theirs <= LAST_STEPS or (theirs_then - theirs) - (mine_then - mine) >= enough


@kernel
def shortest_step(board: Any, moves: np.ndarray) -> int:
    """Return the pawn move that leads closest to the goal; the most advanced one wins ties."""
    return closest(board, moves, list_plausible(board, moves), 0)


@kernel
def play_out(board: Any, moves: np.ndarray, seed: Any) -> int:
    """Return the outcome for player 0 of a playout from the position; the board is left at its end.

    Both players mostly follow their shortest path, and sometimes place a wall.
    """
    step = np.uint64(0)
    while not rules.is_over(board):
        step += np.uint64(1)
        random = np.int64(hash_word(seed ^ hash_word(step)) >> np.uint64(1))
        count = list_plausible(board, moves)
        pawn_moves = 0
        while pawn_moves < count and moves[pawn_moves] < board.size * board.size:
            pawn_moves += 1
        move = -1
        if pawn_moves < count and random % 100 < WALL_PERCENT:
            move = moves[pawn_moves + (random // 100) % (count - pawn_moves)]
        if move == -1 or not is_legal_wall(board, move):
            move = closest(board, moves, pawn_moves, random // 100 % pawn_moves)
        rules.make(board, move)
    return int(rules.on_goal(board, 0)) - int(rules.on_goal(board, 1))
