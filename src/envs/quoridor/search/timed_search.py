"""The timed search: principal variation search with the learned evaluation, as chess programs have it.

Unlike the exact search of the levels (`alphabeta`) it is selective by depth: it looks at few moves close to the leaves,
searches late moves less deep, keeps its transposition table between moves and treats a repeated position as a draw.
Several threads may search with one table and a `Tree` of their own.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from ....core.kernels import by_reference
from ....core.play.search_interface import DECIDED, WIN
from ...arrays import allocate
from .. import rules
from ..rules import MAX_MOVES, NO_PATH, ONE, ZERO, append_ascending, bit, distance, has_cell, inlined, kernel, lowest
from . import nnue
from .alphabeta import EXACT, INFINITY, LOWER, NO_MOVE, UNDECIDED, UPPER, first_by_priority, keep_line
from .evaluation import plies_to_win, position_key, walls_around
from .nnue import HIDDEN, PATH_WORDS, WORDS, Network

MAX_DEPTH, ROWS = 60, 64
ACTIONS = 209
PAST = 256  # positions of the game before the root that are remembered
MAX_HISTORY = 16_384

# An entry of the table is two words: the key of its position XOR the data, and the data (lockless hashing, Hyatt and
# Mann 2002). If two threads write an entry at once, so that its words are of different positions, its key fits neither.
# The data are, from the lowest bit on: score, evaluation without a search, move, depth, bound, age.
STATIC_BIT, MOVE_BIT, DEPTH_BIT, BOUND_BIT, AGE_BIT = 21, 37, 45, 52, 54
SCORE_OFFSET, STATIC_OFFSET = 1 << 20, 1 << 15  # signed numbers are stored with an offset, NO_MOVE as 0


# Indices of Tree.settings: the first row is set for each search, the others from the options and the features.
NODES, NODE_LIMIT, STOP, STOPPED, BEFORE, AGE = range(6)
CONTEMPT, NARROW_DEPTH, FUTILITY, MARGIN = range(6, 10)
KILLERS, COUNTER_MOVES, HISTORY, LATE_MOVE_REDUCTIONS = range(10, 14)
INTERNAL_REDUCTIONS, REPETITIONS, EXACT_RACES, CORRIDOR_WALLS, PROOFS = range(14, 19)
SETTINGS = 19
NARROW, WIDE, ALL = range(3)  # which moves are searched, see `list_moves`


@by_reference
class Tree(NamedTuple):
    """The buffers of a search; rows are plies from the root."""

    moves: Annotated[np.ndarray, np.int64, ROWS, MAX_MOVES]
    gains: Annotated[np.ndarray, np.int64, ROWS, MAX_MOVES]  # see `list_moves`
    priorities: Annotated[np.ndarray, np.int64, ROWS, MAX_MOVES]  # move ordering, highest first
    line: Annotated[np.ndarray, np.int64, ROWS, ROWS]  # principal variation from each ply on
    length: Annotated[np.ndarray, np.int64, ROWS]  # its length
    played: Annotated[np.ndarray, np.int64, ROWS]  # the move that led to a ply
    killers: Annotated[np.ndarray, np.int64, ROWS, 2]  # moves that caused a beta cutoff at this ply
    counter_moves: Annotated[np.ndarray, np.int64, 2, ACTIONS]  # counter-move to the last move
    history: Annotated[np.ndarray, np.int64, 2, ACTIONS]  # success of a move at beta cutoffs, up to MAX_HISTORY
    keys: Annotated[np.ndarray, np.uint64, PAST + ROWS]  # positions of the game, then of the line
    paths: Annotated[np.ndarray, np.uint64, ROWS, 2, PATH_WORDS]  # shortest paths of both players, see `trace`
    lengths: Annotated[np.ndarray, np.int64, ROWS, 2]
    words: Annotated[np.ndarray, np.uint64, ROWS, WORDS]  # features
    sums: Annotated[np.ndarray, np.int16, ROWS, HIDDEN]  # first layer of the network
    known: Annotated[np.ndarray, np.int64, ROWS]  # whether `sums` belong to this line
    static: Annotated[np.ndarray, np.int64, ROWS]  # evaluation without a search
    reductions: np.ndarray  # (ROWS, MAX_MOVES) int64: of late moves, by depth and number
    table: np.ndarray  # (2^bits, 2) uint64, shared by threads: see above
    settings: Annotated[np.ndarray, np.int64, SETTINGS]  # see above


def new_tree(table: np.ndarray) -> Tree:
    depth, number = np.ogrid[:ROWS, :MAX_MOVES]
    reductions = 0.3 + np.log(np.maximum(depth, 1)) * np.log(np.maximum(number, 1)) / 2.0
    tree = allocate(Tree, {}, reductions=reductions.astype(np.int64), table=table)
    for moves in (tree.played, tree.killers, tree.counter_moves):
        moves[:] = NO_MOVE
    return tree


# Evaluation and moves


@kernel
def find_paths(board: Any, tree: Tree, height: int, steps_too: bool) -> None:
    """Find the shortest paths of both players."""
    for player in range(2):
        tree.lengths[height, player] = nnue.trace(board, player, steps_too, tree.paths[height, player])


@kernel
def evaluate(board: Any, tree: Tree, network: Network, height: int) -> int:
    """Return the network's score after `find_paths`; the first layer is updated from an earlier ply of the line."""
    player, words, sums = board.ply & 1, tree.words[height], tree.sums[height]
    nnue.write_features(board, tree.paths[height], tree.lengths[height], words)
    base = height - 2
    while base >= 0 and tree.known[base] == 0:
        base -= 2
    if base >= 0:
        nnue.update(network, tree.words[base], words, player, tree.sums[base], sums)
    else:
        nnue.refresh(network, words, player, sums)
    tree.known[height] = 1
    return min(max(nnue.output(network, sums), -20_000), 20_000)


@kernel
def walls_across(board: Any, path: np.ndarray) -> tuple[Any, Any, Any, Any]:
    """Return the walls across a step of the shortest paths found by `trace`, and the walls that may cut all of them.

    A wall closes two steps. If only one of them is on a shortest path, it cuts all paths only if they all take it.
    """
    across, both = _add_walls(board, path[nnue.NORTH_LOW], 0, True, ZERO, ZERO)
    across, both = _add_walls(board, path[nnue.NORTH_HIGH], 64, True, across, both)
    upright, both_upright = _add_walls(board, path[nnue.EAST_LOW], 0, False, ZERO, ZERO)
    upright, both_upright = _add_walls(board, path[nnue.EAST_HIGH], 64, False, upright, both_upright)
    return across, upright, both | path[nnue.CUT], both_upright | path[nnue.CUT_UPRIGHT]


@inlined
def _add_walls(board: Any, cells: Any, offset: int, horizontal: bool, across: Any, both: Any) -> tuple[Any, Any]:
    """Add the walls that close a step to `across`, and the walls that close two to `both`."""
    while cells != ZERO:
        found = rules.walls_closing(board, horizontal, offset + lowest(cells))
        both |= across & found
        across |= found
        cells &= cells - ONE
    return across, both


@kernel
def list_moves(
    board: Any,
    paths: np.ndarray,
    lengths: np.ndarray,
    width: int,
    corridors: bool,
    moves: np.ndarray,
    gains: np.ndarray,
) -> int:
    """Write the legal moves to search and the steps that each gains; return their number.

    A wall gains the steps by which it lengthens the path of the opponent more than the own one.
    All pawn moves, and the walls across the shortest paths of the opponent that gain a step; if `width` is WIDE, also
    walls that gain nothing, walls around both pawns, and with `corridors` walls that may close a corridor; if it is
    ALL, every legal wall. `paths` and `lengths` come from `trace`, by player.
    """
    me = board.ply & 1
    count, path = rules.append_cells(rules.pawn_targets(board, me), moves), paths[me]
    for i in range(count):
        gains[i] = 1 if has_cell((path[nnue.CELLS_LOW], path[nnue.CELLS_HIGH]), moves[i]) else 0
    if board.left[me] == 0:
        return count
    theirs_h, theirs_v, hinder_h, hinder_v = walls_across(board, paths[1 - me])
    _, _, cost_h, cost_v = walls_across(board, paths[me])
    listed_h, listed_v = hinder_h, hinder_v
    if width == WIDE:
        near = walls_around(board, board.pawn[0]) | walls_around(board, board.pawn[1])
        listed_h, listed_v = theirs_h | near, theirs_v | near
        if corridors:
            closing_h, closing_v = rules.doubtful_walls(board)
            listed_h, listed_v = listed_h | closing_h, listed_v | closing_v
    elif width == ALL:
        listed_h = listed_v = board.all_walls
    free_h, free_v = rules.free_walls(board)
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    first = count
    last = append_ascending(listed_h & free_h, cells, moves, count)
    last = append_ascending(listed_v & free_v, cells + walls, moves, last)
    for i in range(first, last):
        move = moves[i]
        horizontal, wall = rules.wall_of(board, move)
        # A wall that crosses no shortest path of a player leaves its length as it is.
        mine, theirs = lengths[me], lengths[1 - me]
        rules.flip_wall(board, horizontal, wall)
        if (hinder_h if horizontal else hinder_v) & bit(wall):
            theirs = distance(board, 1 - me)
        if (cost_h if horizontal else cost_v) & bit(wall) and theirs != NO_PATH:
            mine = distance(board, me)
        rules.flip_wall(board, horizontal, wall)
        gain = (theirs - lengths[1 - me]) - (mine - lengths[me])
        if lengths[1 - me] == 1 and theirs > 1:
            gain = max(gain, 1)  # stops an opponent who is about to win
        if (gain > 0 or width != NARROW) and mine != NO_PATH and theirs != NO_PATH:
            moves[count], gains[count] = move, gain
            count += 1
    return count


# The search


@inlined
def _terminal_value(board: Any, tree: Tree, key: Any, height: int) -> int:
    """Return the value of a position that needs no search, else UNDECIDED."""
    if rules.on_goal(board, 1 - (board.ply & 1)):
        return height - WIN
    if board.ply >= board.ply_limit:
        return 0
    if height == 0:
        return UNDECIDED
    if tree.settings[REPETITIONS] != 0:
        i = tree.settings[BEFORE] + height - 2
        while i >= 0 and tree.keys[i] != key:
            i -= 2
        if i >= 0:  # the position has occurred before, in the game or in the line
            return tree.settings[CONTEMPT] * (2 * (height & 1) - 1)
    plies = plies_to_win(board) if tree.settings[EXACT_RACES] != 0 else 0
    if plies == 0:
        return UNDECIDED
    return WIN - height - plies if plies > 0 else height - plies - WIN


@inlined
def _field(data: Any, first_bit: int, bits: int) -> Any:
    return np.int64((data >> np.uint64(first_bit)) & np.uint64((1 << bits) - 1))


@inlined
def _store(tree: Tree, row: int, key: Any, score: int, move: int, depth: int, bound: int, height: int) -> None:
    age, data = tree.settings[AGE], tree.table[row, 1]
    same = tree.table[row, 0] ^ data == key
    if not same and _field(data, AGE_BIT, 8) == age and _field(data, DEPTH_BIT, 7) > depth + 2:
        return
    if same and move == NO_MOVE:
        move = _field(data, MOVE_BIT, 8) - 1
    if score > DECIDED:
        score += height
    elif score < -DECIDED:
        score -= height
    data = np.uint64(score + SCORE_OFFSET)
    data |= np.uint64(tree.static[height] + STATIC_OFFSET) << np.uint64(STATIC_BIT)
    data |= np.uint64(move + 1) << np.uint64(MOVE_BIT)
    data |= np.uint64(depth) << np.uint64(DEPTH_BIT)
    data |= np.uint64(bound) << np.uint64(BOUND_BIT)
    data |= np.uint64(age) << np.uint64(AGE_BIT)
    tree.table[row, 0], tree.table[row, 1] = key ^ data, data


@kernel
def _prioritize(board: Any, tree: Tree, height: int, width: int, first: int) -> int:
    """List the moves with their priorities: `first`, the steps they gain, killers and counter-move, history."""
    me, moves, priorities = board.ply & 1, tree.moves[height], tree.priorities[height]
    last, settings = tree.played[height], tree.settings
    corridors = settings[CORRIDOR_WALLS] != 0
    count = list_moves(board, tree.paths[height], tree.lengths[height], width, corridors, moves, tree.gains[height])
    reply = tree.counter_moves[me, last] if last >= 0 and settings[COUNTER_MOVES] != 0 else NO_MOVE
    killer, other = tree.killers[height, 0], tree.killers[height, 1]
    if settings[KILLERS] == 0:
        killer = other = NO_MOVE
    for i in range(count):
        move = moves[i]
        priorities[i] = 6_000 * tree.gains[height, i]
        if settings[HISTORY] != 0:
            priorities[i] += tree.history[me, move]
        if move == first:
            priorities[i] = np.int64(1) << 60
        elif move in (killer, other):
            priorities[i] += 12_000
        elif move == reply:
            priorities[i] += 8_000
    return count


@inlined
def _update_history(board: Any, tree: Tree, height: int, number: int, depth: int) -> None:
    """Credit the move that caused a cutoff, and debit those searched before it."""
    me, move, bonus = board.ply & 1, tree.moves[height, number], min(32 * depth * depth, 2_000)
    if tree.killers[height, 0] != move:
        tree.killers[height, 1] = tree.killers[height, 0]
        tree.killers[height, 0] = move
    if tree.played[height] >= 0:
        tree.counter_moves[me, tree.played[height]] = move
    for i in range(number + 1):
        change = bonus if i == number else -bonus
        past = tree.history[me, tree.moves[height, i]]
        tree.history[me, tree.moves[height, i]] = past + change - past * bonus // MAX_HISTORY


@kernel
def negamax(board: Any, tree: Tree, network: Network, depth: int, alpha: int, beta: int, height: int) -> int:
    """Return the value for the player to move if it is between alpha and beta, else a bound outside of them."""
    settings = tree.settings
    settings[NODES] += 1
    tree.length[height] = 0
    tree.known[height] = 0
    if settings[STOP] != 0 or settings[NODES] > settings[NODE_LIMIT]:
        settings[STOPPED] = 1
        return 0
    key = position_key(board)
    score = _terminal_value(board, tree, key, height)
    if score != UNDECIDED:
        return score
    tree.keys[settings[BEFORE] + height] = key
    row = np.int64(key & np.uint64(tree.table.shape[0] - 1))
    data = tree.table[row, 1]
    found, open_window = tree.table[row, 0] ^ data == key, beta - alpha > 1
    if found:
        bound, score = _field(data, BOUND_BIT, 2), _field(data, 0, STATIC_BIT) - SCORE_OFFSET
        if abs(score) > DECIDED:
            score += height if score < 0 else -height  # the table counts wins from its position
        enough = bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha)
        deep = _field(data, DEPTH_BIT, 7) >= depth
        plies = max(depth, WIN - height - abs(score)) if abs(score) > DECIDED else depth
        if enough and deep and not open_window and board.ply + plies < board.ply_limit:
            return score  # near the limit the same position with fewer plies left has another value
        if depth <= 0:
            return _field(data, STATIC_BIT, 16) - STATIC_OFFSET
    find_paths(board, tree, height, depth > 0)
    static = _field(data, STATIC_BIT, 16) - STATIC_OFFSET if found else evaluate(board, tree, network, height)
    tree.static[height] = static
    if depth <= 0 or height >= ROWS - 2:
        _store(tree, row, key, static, NO_MOVE, 0, EXACT, height)
        return static
    far_above = static - settings[MARGIN] * depth >= beta
    if far_above and depth <= settings[FUTILITY] and not open_window and abs(beta) < DECIDED:
        return static
    first = _field(data, MOVE_BIT, 8) - 1 if found else NO_MOVE
    if first == NO_MOVE and depth >= 4 and settings[INTERNAL_REDUCTIONS] != 0:
        depth -= 1  # without a good first move a full search is wasteful
    width = WIDE if depth > settings[NARROW_DEPTH] else NARROW
    moves, gains, best, best_move = tree.moves[height], tree.gains[height], -INFINITY, NO_MOVE
    count = _prioritize(board, tree, height, width, first)
    widest = ALL if settings[PROOFS] != 0 else WIDE
    i = -1
    while True:
        i += 1
        if i == count:
            if width == widest or best > -DECIDED or board.left[board.ply & 1] == 0:
                break
            width, i = width + 1, 0  # lost, unless another wall helps
            count = _prioritize(board, tree, height, width, first)
        top = first_by_priority(moves, tree.priorities[height], i, count)
        gains[i], gains[top] = gains[top], gains[i]
        move, low = moves[i], max(alpha, best)
        less = 0  # plies by which a late move is searched less deep
        if settings[LATE_MOVE_REDUCTIONS] != 0 and depth >= 3 and i >= 2:
            less = min(max(tree.reductions[depth, i] - (gains[i] > 0) - open_window, 0), depth - 2)
        tree.played[height + 1] = move
        origin = rules.make(board, move)
        if i == 0:
            score = -negamax(board, tree, network, depth - 1, -beta, -low, height + 1)
        else:
            score = -negamax(board, tree, network, depth - 1 - less, -low - 1, -low, height + 1)
            if score > low and less > 0:
                score = -negamax(board, tree, network, depth - 1, -low - 1, -low, height + 1)
            if low < score < beta:
                score = -negamax(board, tree, network, depth - 1, -beta, -low, height + 1)
        rules.unmake(board, move, origin)
        if settings[STOPPED] != 0:
            return 0
        if score > best:
            best, best_move = score, move
            if score > alpha:
                keep_line(tree.line, tree.length, height, move)
            if score >= beta:
                _update_history(board, tree, height, i, depth)
                break
    bound = LOWER if best >= beta else (UPPER if best <= alpha else EXACT)
    _store(tree, row, key, best, best_move, depth, bound, height)
    return best
