"""The timed search: principal variation search with the learned evaluation, as chess programs have it.

Unlike the exact search of the levels (`search`) it is selective by depth: it looks at few moves close to the leaves,
searches late moves less deep, keeps its transposition table between moves and treats a repeated position as a draw.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.kernel_references import by_reference
from ...core.play.search import DECIDED, WIN
from .board import inlined, kernel, make, on_goal, unmake
from .evaluation import position_key
from .features import PATH_WORDS, WORDS, trace, write_features
from .nnue import HIDDEN, Network, output, refresh, update
from .ordering import list_moves
from .race import plies_to_win

MAX_DEPTH, ROWS = 60, 64
MAX_MOVES, ACTIONS = 256, 209
PAST = 256  # positions of the game before the root that are remembered
LOWER, EXACT, UPPER = 1, 2, 3
INFINITY = 2 * WIN
NOWHERE = -1
UNKNOWN = 4 * WIN
MOST_HISTORY = 16_384

ENTRY = np.dtype(
    [
        ("key", np.uint64),
        ("score", np.int32),
        ("static", np.int16),
        ("move", np.int16),
        ("depth", np.int8),
        ("bound", np.int8),
        ("age", np.uint8),
    ],
    align=True,
)


@by_reference
class Tree(NamedTuple):
    """The buffers of a search; rows are plies from the root."""

    moves: np.ndarray  # (ROWS, MAX_MOVES) int64
    gains: np.ndarray  # (ROWS, MAX_MOVES) int64: see `ordering`
    urgency: np.ndarray  # (ROWS, MAX_MOVES) int64: move ordering, highest first
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
    table: np.ndarray  # (2^bits,) ENTRY
    settings: np.ndarray  # int64, see below


# Indices of Tree.settings; those after AGE are switches and numbers of `SearchOptions`.
NODES, NODE_LIMIT, STOP, STOPPED, BEFORE, AGE = range(6)
CONTEMPT, NARROW_DEPTH, FUTILITY, LATE_MOVES, REDUCE, NULL_MOVE, MARGIN = range(6, 13)
SETTINGS = 13


def new_tree(table_bits: int) -> Tree:
    depth, number = np.ogrid[:ROWS, :MAX_MOVES]
    reductions = 0.3 + np.log(np.maximum(depth, 1)) * np.log(np.maximum(number, 1)) / 2.0
    return Tree(
        moves=np.zeros((ROWS, MAX_MOVES), np.int64),
        gains=np.zeros((ROWS, MAX_MOVES), np.int64),
        urgency=np.zeros((ROWS, MAX_MOVES), np.int64),
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
        table=np.zeros(1 << table_bits, ENTRY),
        settings=np.zeros(SETTINGS, np.int64),
    )


@kernel
def survey(board: Any, tree: Tree, height: int, steps_too: bool) -> None:
    """Find the shortest paths of both players."""
    for player in range(2):
        tree.lengths[height, player] = trace(board, player, steps_too, tree.paths[height, player])


@kernel
def assess(board: Any, tree: Tree, network: Network, height: int) -> int:
    """Return the network's score after `survey`; the first layer is updated from an earlier ply of the line."""
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
    if _is_repeated(tree, key, height):
        return tree.settings[CONTEMPT] * (2 * (height & 1) - 1)
    plies = plies_to_win(board)
    if plies == 0:
        return UNKNOWN
    return WIN - height - plies if plies > 0 else height - plies - WIN


@inlined
def _recall(entry: Any, depth: int, alpha: int, beta: int, height: int) -> int:
    """Return the table's score if it suffices, else UNKNOWN; wins are counted from the root, in the table from here."""
    if entry.depth < depth or entry.bound == 0:
        return UNKNOWN
    score = int(entry.score)
    if score > DECIDED:
        score -= height
    elif score < -DECIDED:
        score += height
    enough = entry.bound == EXACT or (score >= beta if entry.bound == LOWER else score <= alpha)
    return score if enough else UNKNOWN


@inlined
def _remember(tree: Tree, entry: Any, key: Any, score: int, move: int, depth: int, bound: int, height: int) -> None:
    age = tree.settings[AGE]
    if entry.key != key and entry.age == age and entry.depth > depth + 2:
        return
    if move != NOWHERE or entry.key != key:
        entry.move = move
    if score > DECIDED:
        score += height
    elif score < -DECIDED:
        score -= height
    entry.key, entry.score, entry.static = key, score, tree.static[height]
    entry.depth, entry.bound, entry.age = depth, bound, age


@kernel
def _list(board: Any, tree: Tree, height: int, wide: bool, first: int) -> int:
    """List the moves with their priorities: `first`, the steps they gain, killers and counter-move, history."""
    me, moves, urgency = board.ply & 1, tree.moves[height], tree.urgency[height]
    count = list_moves(board, tree.paths[height], tree.lengths[height], wide, moves, tree.gains[height])
    last = tree.played[height]
    reply = tree.counter_moves[me, last] if last >= 0 else NOWHERE
    for i in range(count):
        move = moves[i]
        urgency[i] = tree.history[me, move] + 6_000 * tree.gains[height, i]
        if move == first:
            urgency[i] = np.int64(1) << 60
        elif move == tree.killers[height, 0] or move == tree.killers[height, 1]:
            urgency[i] += 12_000
        elif move == reply:
            urgency[i] += 8_000
    return count


@inlined
def _bring_forward(tree: Tree, height: int, i: int, count: int) -> None:
    """Swap the move with the highest priority from i on to index i."""
    moves, gains, urgency, top = tree.moves[height], tree.gains[height], tree.urgency[height], i
    for k in range(i + 1, count):
        if urgency[k] > urgency[top]:
            top = k
    moves[i], moves[top] = moves[top], moves[i]
    gains[i], gains[top] = gains[top], gains[i]
    urgency[i], urgency[top] = urgency[top], urgency[i]


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
def _keep_line(tree: Tree, height: int, move: int) -> None:
    tree.line[height, 0] = move
    below = tree.length[height + 1]
    for i in range(below):
        tree.line[height, i + 1] = tree.line[height + 1, i]
    tree.length[height] = below + 1


@inlined
def _reduction(tree: Tree, depth: int, number: int, height: int, open_window: bool) -> int:
    """Return by how many plies a late move is searched less deep."""
    if tree.settings[REDUCE] == 0 or depth < 3 or number < 2:
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
    entry = tree.table[np.int64(key & np.uint64(tree.table.size - 1))]
    found, open_window = entry.key == key, beta - alpha > 1
    if found:
        score = _recall(entry, depth, alpha, beta, height)
        if score != UNKNOWN and not open_window and board.ply + depth < board.ply_limit:
            return score  # near the limit the same position with fewer plies left has another value
        if depth <= 0:
            return int(entry.static)
    survey(board, tree, height, depth > 0)
    static = int(entry.static) if found else assess(board, tree, network, height)
    tree.static[height] = static
    if depth <= 0 or height >= ROWS - 2:
        _remember(tree, entry, key, static, NOWHERE, 0, EXACT, height)
        return static
    if not open_window and abs(beta) < DECIDED:
        if depth <= settings[FUTILITY] and static - settings[MARGIN] * depth >= beta:
            return static
        if settings[NULL_MOVE] != 0 and depth >= 3 and static >= beta and tree.played[height] != NOWHERE:
            tree.played[height + 1] = NOWHERE
            board.ply += 1
            score = -negamax(board, tree, network, depth - 3 - depth // 4, -beta, 1 - beta, height + 1)
            board.ply -= 1
            if score >= beta and settings[STOPPED] == 0:
                return score if score < DECIDED else beta
    first = int(entry.move) if found else NOWHERE
    if first == NOWHERE and depth >= 4:
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
        if best > -DECIDED and not open_window and i > settings[LATE_MOVES] * depth and tree.gains[height, i] <= 0:
            continue
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
                _keep_line(tree, height, move)
            if score >= beta:
                _reward(board, tree, height, i, depth)
                break
    bound = LOWER if best >= beta else (UPPER if best <= alpha else EXACT)
    _remember(tree, entry, key, best, best_move, depth, bound, height)
    return best
