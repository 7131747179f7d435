"""Iterative deepening with a time budget around the compiled search of `timed_search`, in one thread or several.

Threads search the same position and share the transposition table, nothing else (lazy SMP): what one of them has found
another does not search again. The main thread gives the result; the others help it by filling the table.
"""

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ....core.interrupt import stoppable
from ....core.play.search_interface import DECIDED, WIN, DepthResult
from ....core.ranges import Bounds, NonNegativeInt, check_fields
from ..rules import Position, line_actions, load_position, new_board
from . import timed_search
from .alphabeta import INFINITY, NO_MOVE
from .clock import extension
from .evaluation import position_key
from .nnue import SIZE, Network
from .timed_search import AGE, BEFORE, MAX_DEPTH, NODE_LIMIT, NODES, PAST, STOP, STOPPED, negamax, new_tree

UNLIMITED = 1 << 60
INTERRUPTED = 2  # a stop flag that means Ctrl-C
HISTORY_NOISE = 256  # in the move ordering: helpers must not search the same tree as the main thread


@dataclass(frozen=True)
class SearchOptions:
    """The numbers of the search; scores are hundredths of log odds."""

    contempt: Annotated[int, Bounds(ge=0, le=20_000)] = 20  # a repeated position is worth this much less than nothing
    narrow_depth: NonNegativeInt = 2  # depth up to which only walls that gain a step are searched
    futility: NonNegativeInt = 4  # depth up to which a position far above beta is cut off without a search
    margin: NonNegativeInt = 60  # futility margin per ply
    table_bits: Annotated[int, Bounds(ge=10, le=26)] = 20  # entries of the transposition table, a power of two

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class SearchFeatures:
    """The parts of the search that can be switched off, so that a match can show what each is worth."""

    killers: bool = True  # order moves by cutoffs at the same ply
    counter_moves: bool = True  # ... by cutoffs after the same move
    history: bool = True  # ... by cutoffs anywhere
    late_move_reductions: bool = True  # search late moves less deep
    internal_reductions: bool = True  # search less deep where the table has no move
    kept_table: bool = True  # keep the transposition table from move to move
    repetitions: bool = True  # a repeated position is a draw, less the contempt
    exact_races: bool = True  # solve races that walls cannot change any more
    corridor_walls: bool = True  # search walls that may close a corridor
    proofs: bool = True  # a position is lost only if all of its legal moves lose

    def __post_init__(self) -> None:
        check_fields(self)


ALL_FEATURES = SearchFeatures()


class Worker:
    """The buffers of one thread, and its search to a depth."""

    def __init__(
        self,
        network: Network,
        ply_limit: int,
        table: np.ndarray,
        number: int,
        options: SearchOptions,
        features: SearchFeatures,
    ) -> None:
        self.network = network._replace(active=np.zeros_like(network.active))  # own buffer
        self.board, self.tree, self.number = new_board(SIZE, ply_limit), new_tree(table), number
        for name, value in (vars(options) | vars(features)).items():
            if name not in ("table_bits", "kept_table"):  # which kernels do not read
                self.tree.settings[getattr(timed_search, name.upper())] = value
        self.start_game()

    def start_game(self) -> None:
        """Reset the move ordering."""
        self.tree.history[:] = 0
        if self.number > 0:
            noise = np.random.default_rng(self.number).integers(HISTORY_NOISE, size=self.tree.history.shape)
            self.tree.history[:] = noise
        self.tree.counter_moves[:] = NO_MOVE

    def start_move(self, keys: np.ndarray, before: int) -> None:
        """Prepare for a position; `keys` are the keys of the game, `before` the number of positions before it."""
        tree = self.tree
        tree.keys[:] = keys
        tree.settings[[NODES, STOP, STOPPED]] = 0
        tree.settings[BEFORE], tree.settings[NODE_LIMIT] = before, UNLIMITED
        tree.settings[AGE] = (tree.settings[AGE] + 1) % 256
        tree.history[:] //= 2
        tree.killers[:] = NO_MOVE
        tree.played[:] = NO_MOVE

    def search(self, state: Position, depth: int) -> tuple[int, tuple[int, ...]]:
        """Return score and line at a depth; after a stop, 0 and the line of the finished moves, which may be empty."""
        load_position(self.board, state)
        with stoppable(lambda: self.stop(INTERRUPTED)):
            score = int(negamax(self.board, self.tree, self.network, depth, -INFINITY, INFINITY, 0))
        return score, line_actions(SIZE, state.ply, self.tree.line[0, : self.tree.length[0]])

    def stop(self, flag: int = 1) -> None:
        """End the search at its next node; may be called from another thread."""
        self.tree.settings[STOP] = flag


class TimedSearch:
    """A search of 9x9 positions that keeps its table, and the positions of the game, from move to move."""

    def __init__(
        self,
        network: Network,
        ply_limit: int,
        options: SearchOptions,
        features: SearchFeatures = ALL_FEATURES,
        threads: int = 1,
    ) -> None:
        self.features, self.ply_limit = features, ply_limit
        self.table = np.zeros((1 << options.table_bits, 2), np.uint64)
        self.workers = [Worker(network, ply_limit, self.table, i, options, features) for i in range(threads)]
        self.main, *self.helpers = self.workers
        self._past: list[Position] = []  # positions of the game that the search has been asked about or has produced
        self._lock = threading.Lock()  # guards the workers
        self._depth = 1  # that the main thread searches
        self._can_stop = self._is_stopped = False

    def deepen(
        self,
        state: Position,
        seconds: float | None = None,
        nodes: int | None = None,
        depth: int = MAX_DEPTH,
        aim: float | None = None,
    ) -> Generator[DepthResult, None, None]:
        """Yield the result of every depth until the budget is used or a deeper search cannot change it.

        The first depth is always searched. It may have to load or compile the kernels, which takes none of the time.
        `nodes` limits the main thread; the results count the nodes of all threads. With `aim` no depth is begun after
        as many seconds, times `extension`.
        """
        with self._lock:
            settings = self.main.tree.settings
            self._can_stop = self._is_stopped = False
            self._start_move(state)
            score, line = self._search(state, 1)
            began = time.perf_counter()
            result = DepthResult(1, score, line, int(settings[NODES]), 0.0)
            yield result
            results = [result]
            settings[NODE_LIMIT] = UNLIMITED if nodes is None else nodes
            self._can_stop = True
            left = None if seconds is None else seconds - (time.perf_counter() - began)
            if self._is_stopped or (left is not None and left <= 0):
                return
            with self._stopped_after(left), self._helped(state):
                while result.depth < depth and not settings[STOPPED]:
                    if result.score > DECIDED and self.features.proofs:
                        break
                    if abs(result.score) > DECIDED and result.depth >= WIN - abs(result.score):
                        break  # the end of the game is within the depth; without proofs a win may rest on omitted moves
                    if aim is not None and time.perf_counter() - began >= aim * extension(results):
                        break
                    score, line = self._search(state, result.depth + 1)
                    if settings[STOPPED]:
                        score = result.score  # the depth was not finished: keep the score of the one before
                    if line:
                        total = sum(int(worker.tree.settings[NODES]) for worker in self.workers)
                        result = DepthResult(result.depth + 1, score, line, total, time.perf_counter() - began)
                        yield result
                        results.append(result)

    def stop(self) -> None:
        """End the running search at its next node, but not before depth 1; may be called from another thread."""
        self._is_stopped = True
        if self._can_stop:
            self.main.stop()

    def start_game(self) -> None:
        """Forget the positions of the game, the table and the move ordering."""
        self._past.clear()
        self.table[:] = 0
        for worker in self.workers:
            worker.start_game()

    def remember(self, state: Position) -> None:
        """Add a position of the game, so that the search does not return to it."""
        if self._past and not _may_follow(self._past[-1], state):  # a new game must not depend on those before
            self.start_game()
        if not self._past or self._past[-1] != state:
            self._past.append(state)

    def _start_move(self, state: Position) -> None:
        self.remember(state)
        if not self.features.kept_table:
            self.table[:] = 0
        past = [past for past in self._past if past.left == state.left and past.ply > state.ply - PAST]
        keys, board = np.zeros_like(self.main.tree.keys), self.main.board
        for position in past:  # a placed wall cannot be taken back, so earlier positions cannot occur again
            load_position(board, position)
            keys[position.ply - past[0].ply] = position_key(board)
        for worker in self.workers:
            worker.start_move(keys, state.ply - past[0].ply)

    def _search(self, state: Position, depth: int) -> tuple[int, tuple[int, ...]]:
        self._depth = depth
        found = self.main.search(state, depth)
        if self.main.tree.settings[STOP] == INTERRUPTED:
            raise KeyboardInterrupt
        return found

    @contextmanager
    def _stopped_after(self, seconds: float | None) -> Iterator[None]:
        """Stop the search from another thread after some time, unless the block ends before."""
        if seconds is None:
            yield
            return
        timer = threading.Timer(seconds, self.stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # else a late call could stop the next search

    @contextmanager
    def _helped(self, state: Position) -> Iterator[None]:
        """Let the helpers search while the block runs."""
        threads = [threading.Thread(target=self._help, args=(one, state), daemon=True) for one in self.helpers]
        try:
            for thread in threads:
                thread.start()
            yield
        finally:
            for worker in self.helpers:
                worker.stop()
            for thread in threads:
                if thread.ident is not None:  # it was started
                    thread.join()

    def _help(self, worker: Worker, state: Position) -> None:
        """Deepen until a stop, every second helper one ply ahead of the main thread."""
        depth = self._depth + worker.number % 2
        while depth <= MAX_DEPTH and not worker.tree.settings[STOP]:
            worker.search(state, depth)
            depth = max(depth + 1, self._depth + worker.number % 2)


def _may_follow(before: Position, after: Position) -> bool:
    """Whether a position may come a few plies after another in the same game."""
    plies = after.ply - before.ply
    more = before.horizontal & ~after.horizontal == 0 and before.vertical & ~after.vertical == 0
    return 0 <= plies <= 2 and more and (plies > 0 or before == after)
