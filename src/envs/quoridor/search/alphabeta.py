"""Compiled alpha-beta: principal variation search with a transposition table.

The value of a position at a depth is a pure function of both, so neither move order nor table contents can change the
result, only the time to find it.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from ....core.interrupt import stoppable
from ....core.kernels import by_reference
from ....core.play.search_interface import DECIDED, QUIET_PLIES, WIN, SearcherConfig, SearchResult, parent_score
from ...arrays import allocate
from ...splitmix import hash_word
from .. import rules
from ..rules import MAX_MOVES, Position, inlined, kernel
from .evaluation import FACTORS, list_candidates, list_threats, measure, plies_to_win, position_key

MAX_DEPTH = 64
ROWS = MAX_DEPTH + QUIET_PLIES + 2
TABLE_BITS = 18
LOWER, EXACT, UPPER = 1, 2, 3
INFINITY = 2 * WIN
NO_MOVE = -1
UNDECIDED = 4 * WIN
INTERRUPTED = -1  # a node limit that stops the search

_parent_score = inlined(parent_score)

ENTRY = np.dtype(
    [("key", np.uint64), ("score", np.int32), ("move", np.int16), ("depth", np.int8), ("bound", np.int8)], align=True
)


@by_reference
class SearchBuffers(NamedTuple):
    """The buffers of one search; rows are plies from the root."""

    moves: Annotated[np.ndarray, np.int64, ROWS, MAX_MOVES]
    priorities: Annotated[np.ndarray, np.int64, ROWS, MAX_MOVES]  # move ordering, highest first
    line: Annotated[np.ndarray, np.int64, ROWS, ROWS]  # principal variation from each ply on
    length: Annotated[np.ndarray, np.int64, ROWS]  # its length
    history: Annotated[np.ndarray, np.int64, 2, MAX_MOVES]  # history heuristic, weighted beta cutoffs of a move
    table: Annotated[np.ndarray, ENTRY, 1 << TABLE_BITS]
    factors: Annotated[np.ndarray, np.int64, len(FACTORS)]
    weights: np.ndarray  # of the factors, int64
    settings: Annotated[np.ndarray, np.int64, 9]  # see below


# Indices of SearchBuffers.settings.
NODES, NODE_LIMIT, STOPPED, FIRST, NOISE, SELECTIVE, EVALUATED, WAITING_PLIES, FASTEST_WIN = range(9)


@inlined
def _static_score(board: Any, buffers: SearchBuffers, seed: Any) -> int:
    """Return the weighted factors for the player to move, plus the noise of the position."""
    blocked = measure(board, buffers.factors)
    if blocked != 0:
        return blocked * (WIN - 1)
    score = 0
    for i in range(buffers.weights.size):
        score += buffers.weights[i] * buffers.factors[i]
    noise = buffers.settings[NOISE]
    if noise > 0:
        span = np.uint64(2 * noise + 1)
        score += np.int64(hash_word(position_key(board) ^ seed) % span) - noise
    return score


@inlined
def _child_bound(bound: int, ply: int) -> int:
    """Convert a bound before a move to the bound after it: the inverse of `_parent_score`."""
    if bound > DECIDED:
        return -ply - bound
    return ply - bound if bound < -DECIDED else -bound


@inlined
def _terminal_value(board: Any, selective: bool) -> int:
    """Return the value of a position that needs no search, else UNDECIDED."""
    if rules.on_goal(board, 1 - (board.ply & 1)):
        return -WIN
    if board.ply >= board.ply_limit:
        return 0
    plies = plies_to_win(board) if selective else 0
    if plies == 0:
        return UNDECIDED
    return WIN - plies if plies > 0 else -WIN - plies


@kernel
def negamax(board: Any, buffers: SearchBuffers, seed: Any, depth: int, alpha: int, beta: int, height: int) -> int:
    """Return the value for the player to move if it is between alpha and beta, else a bound outside of them."""
    settings = buffers.settings
    settings[NODES] += 1
    buffers.length[height] = 0
    score = _terminal_value(board, settings[SELECTIVE] != 0 and height > 0)
    if score != UNDECIDED:
        return score
    best, best_move = -INFINITY, NO_MOVE
    if depth <= 0:
        settings[EVALUATED] = 1
        best = _static_score(board, buffers, seed)  # stand pat: a threat is optional
        if best >= beta or depth == -QUIET_PLIES * settings[SELECTIVE]:
            return best
    if settings[NODES] > settings[NODE_LIMIT]:
        settings[STOPPED] = 1
        return 0
    key = position_key(board) ^ hash_word(np.uint64(board.ply))
    entry = buffers.table[np.int64(key & np.uint64(buffers.table.size - 1))]
    if entry.key == key and entry.bound != 0 and entry.depth == depth and beta - alpha <= 1:
        score = int(entry.score)
        if entry.bound == EXACT or (score >= beta if entry.bound == LOWER else score <= alpha):
            return score
    first = settings[FIRST] if height == 0 else (np.int64(entry.move) if entry.key == key else NO_MOVE)
    moves, priorities = buffers.moves[height], buffers.priorities[height]
    selective, waiting_plies, ply = settings[SELECTIVE] != 0, settings[WAITING_PLIES], settings[FASTEST_WIN]
    count = list_candidates(board, selective, waiting_plies, moves) if depth > 0 else list_threats(board, moves)
    for i in range(count):  # order by `first`, then by history of cutoffs
        priorities[i] = -i  # keeps the order at the root, where the first of equal moves is played
        if height > 0:
            priorities[i] += buffers.history[board.ply & 1, moves[i]] * MAX_MOVES
        if moves[i] == first:
            priorities[i] = np.int64(1) << 60
    for i in range(count):
        first_by_priority(moves, priorities, i, count)
        move, low, last = moves[i], _child_bound(max(alpha, best), ply), _child_bound(beta, ply)
        origin = rules.make(board, move)
        high = last if i == 0 else low - 1  # null window after the first move
        score = _parent_score(negamax(board, buffers, seed, depth - 1, high, low, height + 1), ply)
        if i > 0 and max(alpha, best) < score < beta:
            score = _parent_score(negamax(board, buffers, seed, depth - 1, last, low, height + 1), ply)
        rules.unmake(board, move, origin)
        if settings[STOPPED] != 0:
            return 0
        if score > best:
            best, best_move = score, move
            if score > alpha:
                keep_line(buffers.line, buffers.length, height, move)
            if score >= beta:
                buffers.history[board.ply & 1, move] += max(depth, 1) ** 2
                break
    entry.key, entry.score, entry.move, entry.depth = key, best, best_move, depth
    entry.bound = LOWER if best >= beta else (UPPER if best <= alpha else EXACT)
    return best


@inlined
def first_by_priority(moves: np.ndarray, priorities: np.ndarray, i: int, count: int) -> int:
    """Swap the move with the highest priority from i on to index i; return where it was."""
    top = i
    for k in range(i + 1, count):
        if priorities[k] > priorities[top]:
            top = k
    moves[i], moves[top] = moves[top], moves[i]
    priorities[i], priorities[top] = priorities[top], priorities[i]
    return top


@inlined
def keep_line(line: np.ndarray, length: np.ndarray, height: int, move: int) -> None:
    """Store the principal variation: the move, followed by the line of the next ply."""
    line[height, 0] = move
    below = length[height + 1]
    for i in range(below):
        line[height, i + 1] = line[height + 1, i]
    length[height] = below + 1


class CompiledSearch:
    """A `Searcher` for Quoridor positions."""

    def __init__(self, size: int, ply_limit: int, config: SearcherConfig) -> None:
        self.size, self.board = size, rules.new_board(size, ply_limit)
        self.seed = np.uint64(hash_word(np.uint64(config.seed)))
        weights = np.array([config.weights[name] for name in FACTORS], np.int64)
        self.buffers = allocate(SearchBuffers, {}, weights=weights)
        settings = self.buffers.settings
        settings[[NOISE, SELECTIVE]] = config.noise, config.selective
        settings[[WAITING_PLIES, FASTEST_WIN]] = config.waiting_plies, config.fastest_win

    def search(self, state: Position, depth: int, first: int | None, node_limit: int) -> SearchResult | None:
        buffers, settings = self.buffers, self.buffers.settings
        rules.load_position(self.board, state)
        settings[[NODES, STOPPED, EVALUATED]] = 0
        settings[NODE_LIMIT] = node_limit
        settings[FIRST] = NO_MOVE if first is None else rules.turned(self.size, state.ply, first)
        with stoppable(self._interrupt):
            score = negamax(self.board, buffers, self.seed, min(depth, MAX_DEPTH), -INFINITY, INFINITY, 0)
        if settings[NODE_LIMIT] == INTERRUPTED:
            raise KeyboardInterrupt
        if settings[STOPPED]:
            return None
        line = rules.line_actions(self.size, state.ply, buffers.line[0, : buffers.length[0]])
        return SearchResult(int(score), line, int(settings[NODES]), not settings[EVALUATED])

    def _interrupt(self) -> None:
        """Stop the running search at its next node."""
        self.buffers.settings[NODE_LIMIT] = INTERRUPTED
