"""Iterative deepening with a time budget around the compiled search of `timed_search`."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
    ENTRY,
    FUTILITY,
    INFINITY,
    LATE_MOVES,
    MARGIN,
    MAX_DEPTH,
    NARROW_DEPTH,
    NODE_LIMIT,
    NODES,
    NOWHERE,
    NULL_MOVE,
    PAST,
    REDUCE,
    STOP,
    STOPPED,
    negamax,
    new_tree,
)

UNLIMITED = 1 << 60
ASPIRATION_DEPTH = 4  # first depth that is searched with a narrow window
MAX_WINDOW = 1000
INTERRUPTED = 2  # as stop flag: by Ctrl-C
COPIED = {  # options by their index in the settings of the tree
    CONTEMPT: "contempt",
    NARROW_DEPTH: "narrow_depth",
    FUTILITY: "futility",
    LATE_MOVES: "late_moves",
    REDUCE: "reduce",
    NULL_MOVE: "null_move",
    MARGIN: "margin",
}


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
        for index, name in COPIED.items():
            self.tree.settings[index] = getattr(options, name)
        self._past: list[Position] = []  # positions of the game that the search has been asked about or has produced
        self._lock = threading.Lock()  # of the board and the tree
        self._can_stop = self._is_stopped = False

    def think(
        self, state: Position, seconds: float | None = None, nodes: int | None = None, depth: int = MAX_DEPTH
    ) -> Iterator[Thought]:
        """Yield the result of every depth until the budget is used or a deeper search cannot change it.

        The first depth is always searched. It may have to load or compile the kernels, which takes none of the time.
        """
        with self._lock:
            yield from self._think(state, seconds, nodes, depth)

    def _think(self, state: Position, seconds: float | None, nodes: int | None, depth: int) -> Iterator[Thought]:
        settings = self.tree.settings
        self._can_stop = self._is_stopped = False
        self._begin(state)
        first = self._search(state, 1, None)
        if settings[STOP] == INTERRUPTED:
            raise KeyboardInterrupt
        began = time.perf_counter()
        thought = Thought(1, *first, int(settings[NODES]), 0.0)
        yield thought
        settings[NODE_LIMIT] = UNLIMITED if nodes is None else nodes
        self._can_stop = True
        if self._is_stopped:
            return
        with _alarm(None if seconds is None else seconds - (time.perf_counter() - began), self.stop):
            while thought.depth < depth and not _is_final(thought) and not settings[STOPPED]:
                score, line = self._search(state, thought.depth + 1, thought)
                if settings[STOP] == INTERRUPTED:
                    raise KeyboardInterrupt
                if line:
                    thought = Thought(thought.depth + 1, score, line, int(settings[NODES]), time.perf_counter() - began)
                    yield thought

    def stop(self) -> None:
        """End the running search at its next node, but not before depth 1; may be called from another thread."""
        self._is_stopped = True
        if self._can_stop:
            self.tree.settings[STOP] = 1

    def remember(self, state: Position) -> None:
        """Add a position of the game, so that the search does not return to it."""
        if self._past and not _follows(self._past[-1], state):
            self._forget()
        if not self._past or self._past[-1] != state:
            self._past.append(state)

    def _forget(self) -> None:
        """Begin a new game: what it plays must not depend on those before."""
        self._past.clear()
        self.tree.table[:] = np.zeros(1, ENTRY)
        self.tree.history[:] = 0
        self.tree.counter_moves[:] = NOWHERE

    def _begin(self, state: Position) -> None:
        self.remember(state)
        tree = self.tree
        past = [past for past in self._past if past.left == state.left and past.ply > state.ply - PAST]
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
        better: tuple[int, tuple[int, ...]] | None = None  # what was found above the window
        if last is not None and depth >= ASPIRATION_DEPTH and width > 0:
            low, high = last.score - width, last.score + width
        while True:
            place(self.board, state)
            with stoppable(self._interrupt):
                score = int(negamax(self.board, self.tree, self.network, depth, low, high, 0))
            if self.tree.settings[STOPPED] and last is not None:
                line = self._line(state)
                return better if better is not None and not line else (last.score, line)
            if low < score < high:
                return score, self._line(state)
            width *= 4
            far = width > MAX_WINDOW
            if score <= low:
                low = -INFINITY if far else score - width
            else:
                better = score, self._line(state)
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
