"""Iterative deepening with a time budget around the compiled search of `timed_search`."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Annotated, NamedTuple

import numpy as np

from ...core.interrupt import stoppable
from ...core.play.search import DECIDED, WIN
from ...core.ranges import Bounds, NonNegativeInt, check_fields
from .board import new_board, place, turned
from .evaluation import position_key
from .features import SIZE
from .nnue import Network
from .notation import Position
from .timed_search import (
    AGE,
    BEFORE,
    CONTEMPT,
    INFINITY,
    MAX_DEPTH,
    NODE_LIMIT,
    NODES,
    NOWHERE,
    PAST,
    STOP,
    STOPPED,
    negamax,
    new_tree,
)

UNLIMITED = 1 << 60
ASPIRATION_DEPTH = 4  # first depth that is searched with a narrow window
MAX_WINDOW = 1000
INTERRUPTED = 2  # as stop flag: by Ctrl-C


@dataclass(frozen=True)
class SearchOptions:
    """What the search does to save nodes; scores are hundredths of log odds."""

    contempt: NonNegativeInt = 20  # a repeated position is worth this much less than nothing
    narrow_depth: NonNegativeInt = 2  # depth up to which only walls that gain a step are searched
    futility: NonNegativeInt = 4  # depth up to which a position far above beta is cut off without a search
    late_moves: NonNegativeInt = 8  # moves per ply of depth, after which those that gain nothing are skipped
    reduce: bool = True  # late move reductions
    null_move: bool = False
    margin: NonNegativeInt = 60  # of the futility cutoff, per ply
    window: NonNegativeInt = 25  # first half width of the aspiration window; 0: none
    table_bits: Annotated[int, Bounds(ge=10, le=26)] = 20  # entries of the transposition table, a power of two

    def __post_init__(self) -> None:
        check_fields(self)


class Thought(NamedTuple):
    """The result of a search to a depth."""

    depth: int
    score: int  # for the player to move
    line: tuple[int, ...]  # actions
    nodes: int  # since the search began
    seconds: float


class Thinker:
    """A search of 9x9 positions that keeps its table, and the positions of the game, from move to move."""

    def __init__(self, network: Network, ply_limit: int, options: SearchOptions) -> None:
        self.network, self.options = network._replace(active=np.zeros_like(network.active)), options  # own buffer
        self.board, self.tree = new_board(SIZE, ply_limit), new_tree(options.table_bits)
        numbers = astuple(options)
        self.tree.settings[CONTEMPT : CONTEMPT + 7] = numbers[:7]
        self._past: list[Position] = []  # positions of the game that the search has been asked about or has produced

    def think(
        self, state: Position, seconds: float | None = None, nodes: int | None = None, depth: int = MAX_DEPTH
    ) -> Iterator[Thought]:
        """Yield the result of every depth until the budget is used or a deeper search cannot change it."""
        began, settings = time.perf_counter(), self.tree.settings
        self._begin(state)
        thought = Thought(1, *self._search(state, 1, None), int(settings[NODES]), time.perf_counter() - began)
        yield thought  # the first depth is always searched
        settings[NODE_LIMIT] = UNLIMITED if nodes is None else nodes
        with _alarm(None if seconds is None else seconds - (time.perf_counter() - began), self.stop):
            while thought.depth < depth and not _is_final(thought) and not settings[STOPPED]:
                score, line = self._search(state, thought.depth + 1, thought)
                if settings[STOP] == INTERRUPTED:
                    raise KeyboardInterrupt
                if line:
                    thought = Thought(thought.depth + 1, score, line, int(settings[NODES]), time.perf_counter() - began)
                    yield thought

    def stop(self) -> None:
        """End the running search at its next node; may be called from another thread."""
        self.tree.settings[STOP] = 1

    def remember(self, state: Position) -> None:
        """Add a position of the game, so that the search does not return to it."""
        if self._past and not _follows(self._past[-1], state):
            self._past.clear()
        if not self._past or self._past[-1] != state:
            self._past.append(state)

    def _begin(self, state: Position) -> None:
        self.remember(state)
        tree, past = self.tree, [past for past in self._past[-PAST:] if past.left == state.left]
        tree.keys[:] = 0
        for position in past:  # a placed wall cannot be taken back, so earlier positions cannot occur again
            place(self.board, position)
            tree.keys[position.ply - past[0].ply] = position_key(self.board)
        tree.settings[[NODES, STOP, STOPPED]] = 0
        tree.settings[BEFORE], tree.settings[NODE_LIMIT] = state.ply - past[0].ply, UNLIMITED
        tree.settings[AGE] = (tree.settings[AGE] + 1) % 256
        tree.history[:] //= 2
        tree.killers[:] = NOWHERE
        tree.played[:] = NOWHERE

    def _search(self, state: Position, depth: int, last: Thought | None) -> tuple[int, tuple[int, ...]]:
        """Return score and line at a depth; after a stop, those of the finished moves: the line may be empty."""
        width, low, high = self.options.window, -INFINITY, INFINITY
        if last is not None and depth >= ASPIRATION_DEPTH and width > 0:
            low, high = last.score - width, last.score + width
        while True:
            place(self.board, state)
            with stoppable(self._interrupt):
                score = int(negamax(self.board, self.tree, self.network, depth, low, high, 0))
            if self.tree.settings[STOPPED] and last is not None:
                return last.score, self._line(state)
            if low < score < high:
                return score, self._line(state)
            width *= 4
            far = width > MAX_WINDOW
            if score <= low:
                low = -INFINITY if far else score - width
            else:
                high = INFINITY if far else score + width

    def _interrupt(self) -> None:
        self.tree.settings[STOP] = INTERRUPTED

    def _line(self, state: Position) -> tuple[int, ...]:
        moves = self.tree.line[0, : self.tree.length[0]].tolist()
        return tuple(turned(SIZE, state.ply + i, move) for i, move in enumerate(moves))


def _is_final(thought: Thought) -> bool:
    """Whether the end of the game is within the depth; a win further away may rest on moves that were left out."""
    return abs(thought.score) > DECIDED and thought.depth >= WIN - abs(thought.score)


def _follows(before: Position, after: Position) -> bool:
    """Whether a position may come a few plies after another in the same game."""
    plies = after.ply - before.ply
    more = before.horizontal & ~after.horizontal == 0 and before.vertical & ~after.vertical == 0
    return 0 <= plies <= 2 and more and (plies > 0 or before == after)


@contextmanager
def _alarm(seconds: float | None, call: Callable[[], None]) -> Iterator[None]:
    """Call a function from another thread after some time, unless the block ends before."""
    timer = None if seconds is None else threading.Timer(max(seconds, 0.0), call)
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
