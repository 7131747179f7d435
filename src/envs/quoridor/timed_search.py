"""The timed search: principal variation search with the learned evaluation, as chess programs have it.

Unlike the exact search of the levels (`search`) it is selective by depth: it looks at few moves close to the leaves,
searches late moves less deep, keeps its transposition table between moves and treats a repeated position as a draw.
Several threads may search with one table and a `Tree` of their own.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.kernels import by_reference
from ...core.play.search_interface import DECIDED, WIN
from .board import inlined, kernel, make, on_goal, unmake
from .evaluation import position_key
from .features import PATH_WORDS, WORDS, trace, write_features
from .nnue import HIDDEN, Network, output, refresh, update
from .ordering import list_moves
from .race import plies_to_win
from .search import EXACT, INFINITY, LOWER, MAX_MOVES, NOWHERE, UPPER, keep_line

MAX_DEPTH, ROWS = 60, 64
ACTIONS = 209
PAST = 256  # positions of the game before the root that are remembered
UNKNOWN = 4 * WIN
MOST_HISTORY = 16_384

# An entry of the table is two words: the key of its position XOR the data, and the data (lockless hashing, Hyatt and
# Mann 2002). If two threads write an entry at once, so that its words are of different positions, its key fits neither.
# The data are, from the lowest bit on: score, evaluation without a search, move, depth, bound, age.
STATIC_BIT, MOVE_BIT, DEPTH_BIT, BOUND_BIT, AGE_BIT = 21, 37, 45, 52, 54
SCORE_OFFSET, STATIC_OFFSET = 1 << 20, 1 << 15  # to store signed numbers; of a move, NOWHERE is stored as 0


@by_reference
class Tree(NamedTuple):
    """The buffers of a search; rows are plies from the root."""

    moves: np.ndarray  # (ROWS, MAX_MOVES) int64
    gains: np.ndarray  # (ROWS, MAX_MOVES) int64: see `ordering`
    priorities: np.ndarray  # (ROWS, MAX_MOVES) int64: move ordering, highest first
    line: np.ndarray  # (ROWS, ROWS) int64: principal variation from each ply on
    length: np.ndarray  # (ROWS,) int64: its length
    played: np.ndarray  # (ROWS,) int64: the move that led to a ply
    killers: np.ndarray  # (ROWS, 2) int64: moves that caused a beta cutoff at this ply
    counter_moves: np.ndarray  # (2, ACTIONS) int64: counter-move to the last move
    history: np.ndarray  # (2, ACTIONS) int64: success of a move at beta cutoffs, up to MOST_HISTORY
    keys: np.ndarray  # (PAST + ROWS,) uint64: positions of the game, then of the line
    paths: np.ndarray  # (ROWS, 2, PATH_WORDS) uint64: shortest paths of both players, see `features.trace`
    lengths: np.ndarray  # (ROWS, 2) int64
    words: np.ndarray  # (ROWS, WORDS) uint64: features
    sums: np.ndarray  # (ROWS, HIDDEN) int16: first layer of the network
    known: np.ndarray  # (ROWS,) int64: whether `sums` are those of this line
    static: np.ndarray  # (ROWS,) int64: evaluation without a search
    reductions: np.ndarray  # (ROWS, MAX_MOVES) int64: of late moves, by depth and number
    table: np.ndarray  # (2^bits, 2) uint64, shared by threads: see above
    settings: np.ndarray  # int64, see below


# Indices of Tree.settings, those of the first row for each search, the others from the options and the features.
NODES, NODE_LIMIT, STOP, STOPPED, BEFORE, AGE = range(6)
CONTEMPT, NARROW_DEPTH, FUTILITY, MARGIN = range(6, 10)
KILLERS, COUNTER_MOVES, HISTORY, LATE_MOVE_REDUCTIONS = range(10, 14)
INTERNAL_REDUCTIONS, REPETITIONS, EXACT_RACES = range(14, 17)
SETTINGS = 17


def new_table(bits: int) -> np.ndarray:
    return np.zeros((1 << bits, 2), np.uint64)


def new_tree(table: np.ndarray) -> Tree:
    depth, number = np.ogrid[:ROWS, :MAX_MOVES]
    reductions = 0.3 + np.log(np.maximum(depth, 1)) * np.log(np.maximum(number, 1)) / 2.0
    return Tree(
        moves=np.zeros((ROWS, MAX_MOVES), np.int64),
        gains=np.zeros((ROWS, MAX_MOVES), np.int64),
        priorities=np.zeros((ROWS, MAX_MOVES), np.int64),
        line=np.zeros((ROWS, ROWS), np.int64),
        length=np.zeros(ROWS, np.int64),
        played=np.full(ROWS, NOWHERE, np.int64),
        killers=np.full((ROWS, 2), NOWHERE, np.int64),
        counter_moves=np.full((2, ACTIONS), NOWHERE, np.int64),
        history=np.zeros((2, ACTIONS), np.int64),
        keys=np.zeros(PAST + ROWS, np.uint64),
        paths=np.zeros((ROWS, 2, PATH_WORDS), np.uint64),
        lengths=np.zeros((ROWS, 2), np.int64),
        words=np.zeros((ROWS, WORDS), np.uint64),
        sums=np.zeros((ROWS, HIDDEN), np.int16),
        known=np.zeros(ROWS, np.int64),
        static=np.zeros(ROWS, np.int64),
        reductions=reductions.astype(np.int64),
        table=table,
        settings=np.zeros(SETTINGS, np.int64),
    )


@kernel
def find_paths(board: Any, tree: Tree, height: int, steps_too: bool) -> None:
    """Find the shortest paths of both players."""
    for player in range(2):
        tree.lengths[height, player] = trace(board, player, steps_too, tree.paths[height, player])


@kernel
def assess(board: Any, tree: Tree, network: Network, height: int) -> int:
    """Return the network's score after `find_paths`; the first layer is updated from an earlier ply of the line."""
    player, words, sums = board.ply & 1, tree.words[height], tree.sums[height]
    write_features(board, tree.paths[height], tree.lengths[height], words)
    base = height - 2
    while base >= 0 and tree.known[base] == 0:
        base -= 2
    if base >= 0:
        update(network, tree.words[base], words, player, tree.sums[base], sums)
    else:
        refresh(network, words, player, sums)
    tree.known[height] = 1
    return min(max(output(network, sums), -20_000), 20_000)


@inlined
def _is_repeated(tree: Tree, key: Any, height: int) -> bool:
    """Whether the position has occurred before, in the game or in the line."""
    i = tree.settings[BEFORE] + height - 2
    while i >= 0 and tree.keys[i] != key:
        i -= 2
    return bool(i >= 0)


@inlined
def _verdict(board: Any, tree: Tree, key: Any, height: int) -> int:
    """Return the value of a position that needs no search, else UNKNOWN."""
    if on_goal(board, 1 - (board.ply & 1)):
        return height - WIN
    if board.ply >= board.ply_limit:
        return 0
    if height == 0:
        return UNKNOWN
    if tree.settings[REPETITIONS] != 0 and _is_repeated(tree, key, height):
        return tree.settings[CONTEMPT] * (2 * (height & 1) - 1)
    plies = plies_to_win(board) if tree.settings[EXACT_RACES] != 0 else 0
    if plies == 0:
        return UNKNOWN
    return WIN - height - plies if plies > 0 else height - plies - WIN


@inlined
def _field(data: Any, first_bit: int, bits: int) -> Any:
    return np.int64((data >> np.uint64(first_bit)) & np.uint64((1 << bits) - 1))


@inlined
def _static_of(data: Any) -> Any:
    return _field(data, STATIC_BIT, 16) - STATIC_OFFSET


@inlined
def _move_of(data: Any) -> Any:
    return _field(data, MOVE_BIT, 8) - 1


@inlined
def _recall(data: Any, depth: int, alpha: int, beta: int, height: int) -> int:
    """Return the table's score if it suffices, else UNKNOWN; wins are counted from the root, in the table from here."""
    bound = _field(data, BOUND_BIT, 2)
    if _field(data, DEPTH_BIT, 7) < depth or bound == 0:
        return UNKNOWN
    score = _field(data, 0, STATIC_BIT) - SCORE_OFFSET
    if score > DECIDED:
        score -= height
    elif score < -DECIDED:
        score += height
    enough = bound == EXACT or (score >= beta if bound == LOWER else score <= alpha)
    return score if enough else UNKNOWN


@inlined
def _remember(tree: Tree, row: int, key: Any, score: int, move: int, depth: int, bound: int, height: int) -> None:
    age, data = tree.settings[AGE], tree.table[row, 1]
    same = tree.table[row, 0] ^ data == key
    if not same and _field(data, AGE_BIT, 8) == age and _field(data, DEPTH_BIT, 7) > depth + 2:
        return
    if same and move == NOWHERE:
        move = _move_of(data)
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
def _list(board: Any, tree: Tree, height: int, wide: bool, first: int) -> int:
    """List the moves with their priorities: `first`, the steps they gain, killers and counter-move, history."""
    me, moves, priorities = board.ply & 1, tree.moves[height], tree.priorities[height]
    count = list_moves(board, tree.paths[height], tree.lengths[height], wide, moves, tree.gains[height])
    last = tree.played[height]
    settings = tree.settings
    reply = tree.counter_moves[me, last] if last >= 0 and settings[COUNTER_MOVES] != 0 else NOWHERE
    killer, other = tree.killers[height, 0], tree.killers[height, 1]
    if settings[KILLERS] == 0:
        killer = other = NOWHERE
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
def _bring_forward(tree: Tree, height: int, i: int, count: int) -> None:
    """Swap the move with the highest priority from i on to index i."""
    moves, gains, priorities, top = tree.moves[height], tree.gains[height], tree.priorities[height], i
    for k in range(i + 1, count):
        if priorities[k] > priorities[top]:
            top = k
    moves[i], moves[top] = moves[top], moves[i]
    gains[i], gains[top] = gains[top], gains[i]
    priorities[i], priorities[top] = priorities[top], priorities[i]


@inlined
def _reward(board: Any, tree: Tree, height: int, number: int, depth: int) -> None:
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
        tree.history[me, tree.moves[height, i]] = past + change - past * bonus // MOST_HISTORY


@inlined
def _reduction(tree: Tree, depth: int, number: int, height: int, open_window: bool) -> int:
    """Return by how many plies a late move is searched less deep."""
    if tree.settings[LATE_MOVE_REDUCTIONS] == 0 or depth < 3 or number < 2:
        return 0
    less = tree.reductions[depth, number]
    if tree.gains[height, number] > 0:
        less -= 1
    if open_window:
        less -= 1
    return min(max(less, 0), depth - 2)


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
    score = _verdict(board, tree, key, height)
    if score != UNKNOWN:
        return score
    tree.keys[settings[BEFORE] + height] = key
    row = np.int64(key & np.uint64(tree.table.shape[0] - 1))
    data = tree.table[row, 1]
    found, open_window = tree.table[row, 0] ^ data == key, beta - alpha > 1
    if found:
        score = _recall(data, depth, alpha, beta, height)
        if score != UNKNOWN and not open_window and board.ply + depth < board.ply_limit:
            return score  # near the limit the same position with fewer plies left has another value
        if depth <= 0:
            return _static_of(data)
    find_paths(board, tree, height, depth > 0)
    static = _static_of(data) if found else assess(board, tree, network, height)
    tree.static[height] = static
    if depth <= 0 or height >= ROWS - 2:
        _remember(tree, row, key, static, NOWHERE, 0, EXACT, height)
        return static
    far_above = static - settings[MARGIN] * depth >= beta
    if far_above and depth <= settings[FUTILITY] and not open_window and abs(beta) < DECIDED:
        return static
    first = _move_of(data) if found else NOWHERE
    if first == NOWHERE and depth >= 4 and settings[INTERNAL_REDUCTIONS] != 0:
        depth -= 1  # without a good first move a full search is wasteful
    wide = depth > settings[NARROW_DEPTH]
    moves, best, best_move = tree.moves[height], -INFINITY, NOWHERE
    count = _list(board, tree, height, wide, first)
    i = -1
    while True:
        i += 1
        if i == count:
            if wide or best > -DECIDED or board.left[board.ply & 1] == 0:
                break
            wide, i = True, 0  # lost, unless a wall helps that gains nothing
            count = _list(board, tree, height, wide, first)
        _bring_forward(tree, height, i, count)
        move, low = moves[i], max(alpha, best)
        less = _reduction(tree, depth, i, height, open_window)
        tree.played[height + 1] = move
        origin = make(board, move)
        if i == 0:
            score = -negamax(board, tree, network, depth - 1, -beta, -low, height + 1)
        else:
            score = -negamax(board, tree, network, depth - 1 - less, -low - 1, -low, height + 1)
            if score > low and less > 0:
                score = -negamax(board, tree, network, depth - 1, -low - 1, -low, height + 1)
            if low < score < beta:
                score = -negamax(board, tree, network, depth - 1, -beta, -low, height + 1)
        unmake(board, move, origin)
        if settings[STOPPED] != 0:
            return 0
        if score > best:
            best, best_move = score, move
            if score > alpha:
                keep_line(tree.line, tree.length, height, move)
            if score >= beta:
                _reward(board, tree, height, i, depth)
                break
    bound = LOWER if best >= beta else (UPPER if best <= alpha else EXACT)
    _remember(tree, row, key, best, best_move, depth, bound, height)
    return best
