"""What the solvers share: codes, the reused buffers of a thread, and retries where those are too small.

Every kernel works on flat boards: a cell is `row * cols + col`.
"""

import threading
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

import numpy as np

from ....core.errors import UserError
from ....core.interrupt import is_cancellable, stoppable
from ....core.kernels import by_reference, jit
from ...splitmix import STRIDE, mix
from ..rules import neighbors

Result = TypeVar("Result")

kernel = jit(nogil=True, _nrt=True)  # explicit, because a lean_kernel may be the caller
lean_kernel = jit(nogil=True, _nrt=False)  # for kernels without allocations: reference counting is slow to compile

UNKNOWN, SAFE, MINE = 0, 1, 2  # knowledge of a hidden cell
CONSISTENT, INCONSISTENT, TOO_WIDE = 0, 1, 2  # status of a position; too wide: more states than the engine has
STUCK, PROVEN, SEARCHED, GUESSED = 0, 1, 2, 3  # reasons of a solver's moves

STATES = 1 << 14  # enough for practically all positions
GROWTH = 8  # factor of the next attempt with more states; a power of two, for the hash table
MAX_STATES = STATES * GROWTH**2
SHORTLIST = 24  # guesses that are compared

COMPLETIONS = 2000  # the most that an endgame search takes
MEMO = 1 << 16  # entries of its table; half of them are used at most
DEPTH = 24  # times the number of completions: room for the nested subsets of a search
UNDECIDED, SIZE, BUDGET, STOP = range(4)  # indices of `Endgame.total`

# 64 random bits for each completion: two of a million subsets share an xor with a chance below 1e-7.
LABELS = mix.py_func(STRIDE * np.arange(1, COMPLETIONS + 1, dtype=np.uint64))

_cached = threading.local()


class InconsistentPosition(UserError):  # noqa: N818 (the name says what is wrong)
    """No placement of the mines agrees with what is visible."""


@by_reference
class Frontier(NamedTuple):
    """See `counting.py`; cells and witnesses are indexed by cell number, boxes in order of discovery."""

    stack: np.ndarray  # (cells,) int32: numbers to process
    queued: np.ndarray  # (cells,) bool: the number is on the stack
    need: np.ndarray  # (cells,) int32: undecided mines around a witness
    room: np.ndarray  # (cells,) int32: undecided cells around a witness
    box_of: np.ndarray  # (cells,) int32: box of a cell, -1 without
    box_size: np.ndarray  # (cells,) int32
    box_degree: np.ndarray  # (cells,) int32: number of witnesses
    box_witness: np.ndarray  # (cells, 8) int32
    witness_degree: np.ndarray  # (cells,) int32: number of boxes
    witness_box: np.ndarray  # (cells, 8) int32
    left: np.ndarray  # (cells,) int32: boxes of a witness that are not yet in the order
    seen: np.ndarray  # (cells,) bool: boxes already assigned to a component
    placed: np.ndarray  # (cells,) bool: boxes that are in the order
    open: np.ndarray  # (cells,) int32: witnesses with some boxes in the order, some not
    members: np.ndarray  # (cells,) int32: boxes of the component that is being ordered
    order: np.ndarray  # (cells,) int32: boxes, component after component
    start: np.ndarray  # (cells + 1,) int32: where each component begins in the order


@by_reference
class Sweep(NamedTuple):
    """All states of all layers of all components, with the ways to reach and to continue each."""

    state: np.ndarray  # (states,) int64
    follow: np.ndarray  # (states, 9) int32: the next state after k more mines, -1 if impossible
    low: np.ndarray  # (states,) int32: fewest mines used
    high: np.ndarray  # (states,) int32: most mines used
    ways: np.ndarray  # (values,) float64: `width` values per state, from the start of its component
    rest: np.ndarray  # (values,) float64: ways to continue
    table: np.ndarray  # (2 * states,) int32: hash table over one layer, -1 empty
    layer: np.ndarray  # (2 * cells + 2,) int32: first state of each layer; n boxes make n + 1 layers
    slot: np.ndarray  # (cells,) int64: the first bit of an open witness in the state, -1 if not open yet
    mask: np.ndarray  # (cells,) int64: its bits, shifted down to 0
    todo: np.ndarray  # (cells,) int32: undecided cells of a witness


@by_reference
class Guess(NamedTuple):
    """What guesses are compared by, and the position after one, see `guess.py`."""

    risk: np.ndarray  # (cells,) float64: the chance to lose by a coin toss in each box
    safety: np.ndarray  # (cells,) float64
    cost: np.ndarray  # (cells,) float64
    shortlist: np.ndarray  # (SHORTLIST + 1,) int64: cells
    after: np.ndarray  # (cells,) int8: what is known
    chance: np.ndarray  # (cells,) float64: mine probability


@by_reference
class Endgame(NamedTuple):
    """The tables of `endgame.py`; they are flat, as their width is the number of undecided cells."""

    cells: np.ndarray  # (cells,) int32: the undecided ones
    place: np.ndarray  # (cells + 1,) int32: of each box in the order, or of each undecided cell in `cells`
    begin: np.ndarray  # (cells + 2,) int32: where the cells of each place begin
    tried: np.ndarray  # (cells,) int8: what comes next at each depth: 2 mine, 1 no mine, 0 neither
    mined: np.ndarray  # (cells,) bool: one completion
    shown: np.ndarray  # (completions * undecided,) int8: number revealed there, 9 for a mine
    label: np.ndarray  # (completions,) uint64: random; a subset is known by their xor
    subset: np.ndarray  # (DEPTH * completions,) int32: nested subsets, one behind the other
    frame: np.ndarray  # (undecided + 3, 9) int64: a row of fields for each subset of the nest
    order: np.ndarray  # ((undecided + 2) * undecided,) int32: cells worth revealing in each
    mine_count: np.ndarray  # ((undecided + 2) * undecided,) int32: mines on each cell, counted over the subset
    active: np.ndarray  # ((undecided + 3) * undecided,) int32: cells not the same all over the subset one level up
    memo_key: np.ndarray  # (MEMO,) uint64
    memo_wins: np.ndarray  # (MEMO,) int32, 0 empty
    total: np.ndarray  # (4,) int64: undecided cells, completions, positions that may still be looked at, stop flag


@by_reference
class Engine(NamedTuple):
    """The buffers of one thread for boards of one shape."""

    near: np.ndarray  # (cells, 8) int32
    frontier: Frontier
    sweep: Sweep
    chance: np.ndarray  # (cells,) float64: mine probability in each box
    differ: np.ndarray  # (cells,) float64: probability that exactly one of two cells of a box is a mine
    first: np.ndarray  # (cells + 1,) int32: first state of each component
    value: np.ndarray  # (cells + 1,) int64: its first value
    width: np.ndarray  # (cells,) int32: values a state
    later: np.ndarray  # (cells + 1, cells + 1) float64: row c: ways to go on from component c, by mines used before
    earlier: np.ndarray  # (cells + 1,) float64: ways to complete the components so far, by mines used
    guess: Guess
    endgame: Endgame


def make_engine(shape: tuple[int, ...], states: int = STATES) -> Engine:
    """Return buffers for boards of this shape; the large ones take memory only where they are used."""
    rows, cols = shape
    cells = rows * cols

    def ints(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.int32)

    frontier = Frontier(**{name: ints(cells) for name in Frontier._fields})._replace(
        box_witness=ints(cells, 8),
        witness_box=ints(cells, 8),
        start=ints(cells + 1),
        **{name: np.zeros(cells, np.bool_) for name in ("queued", "seen", "placed")},
    )
    sweep = Sweep(
        state=np.zeros(states, np.int64),
        follow=ints(states, 9),
        low=ints(states),
        high=ints(states),
        ways=np.zeros(16 * states),
        rest=np.zeros(16 * states),
        table=np.full(2 * states, -1, np.int32),
        layer=ints(2 * cells + 2),
        slot=np.zeros(cells, np.int64),
        mask=np.zeros(cells, np.int64),
        todo=ints(cells),
    )
    guess = Guess(
        risk=np.zeros(cells),
        safety=np.zeros(cells),
        cost=np.zeros(cells),
        shortlist=np.zeros(SHORTLIST + 1, np.int64),
        after=np.zeros(cells, np.int8),
        chance=np.zeros(cells),
    )
    endgame = Endgame(
        cells=np.empty(cells, np.int32),
        place=np.empty(cells + 1, np.int32),
        begin=np.empty(cells + 2, np.int32),
        tried=np.empty(cells, np.int8),
        mined=np.empty(cells, np.bool_),
        shown=np.empty(COMPLETIONS * cells, np.int8),
        label=LABELS,
        subset=np.empty(DEPTH * COMPLETIONS, np.int32),
        frame=np.empty((cells + 3, 9), np.int64),
        order=np.empty((cells + 2) * cells, np.int32),
        mine_count=np.empty((cells + 2) * cells, np.int32),
        active=np.empty((cells + 3) * cells, np.int32),
        memo_key=np.empty(MEMO, np.uint64),
        memo_wins=np.empty(MEMO, np.int32),
        total=np.zeros(4, np.int64),
    )
    return Engine(
        near=padded_neighbors(rows, cols),
        frontier=frontier,
        sweep=sweep,
        chance=np.zeros(cells),
        differ=np.zeros(cells),
        first=ints(cells + 1),
        value=np.zeros(cells + 1, np.int64),
        width=ints(cells),
        later=np.empty((cells + 1, cells + 1)),
        earlier=np.zeros(cells + 1),
        guess=guess,
        endgame=endgame,
    )


@lru_cache(maxsize=64)
def padded_neighbors(rows: int, cols: int) -> np.ndarray:
    """Return the neighbors of each cell, (cells, 8) int32, ascending and padded with -1."""
    near, degree = neighbors(rows, cols)
    return np.where(np.arange(8) < degree[:, None], near, -1).astype(np.int32)


def flatten(visible: np.ndarray) -> np.ndarray:
    """Return a position in the format of the kernels: (cells,) int8, contiguous."""
    if visible.ndim != 2:
        raise UserError(f"a position is a (rows, cols) array, not one of shape {visible.shape}")
    if visible.size and not -2 <= visible.min() <= visible.max() <= 8:
        raise UserError(f"a position holds -2 (flag), -1 (hidden) and 0 to 8, not {visible.min()} to {visible.max()}")
    return np.ascontiguousarray(visible, np.int8).reshape(-1)


def run_with_engine(shape: tuple[int, ...], mines: int, attempt: Callable[[Engine], tuple[int, Result]]) -> Result:
    """Return the result of `attempt`, retrying with larger engines until its states fit."""
    states = STATES
    while states <= MAX_STATES:
        if states > STATES:
            engine = make_engine(shape, states)
        else:  # cached for each thread: allocating megabytes for every move would take longer than the move
            if getattr(_cached, "key", None) != (shape, STATES):
                _cached.key, _cached.engine = (shape, STATES), make_engine(shape, STATES)
            engine = _cached.engine
        status, result = _stoppable(attempt, engine) if is_cancellable() else attempt(engine)  # the former takes longer
        if status == CONSISTENT:
            return result
        if status == INCONSISTENT:
            raise InconsistentPosition(f"no placement of {mines} mines agrees with the numbers on the board")
        states *= GROWTH
    raise UserError(f"the numbers of this position are too entangled to count within {MAX_STATES} states")


def _stoppable(attempt: Callable[[Engine], Result], engine: Engine) -> Result:
    """Call `attempt`; raise `KeyboardInterrupt` if it was stopped. Every search clears the buffers that it uses."""
    total = engine.endgame.total
    try:
        with stoppable(partial(total.__setitem__, STOP, 1)):
            result = attempt(engine)
    finally:
        stopped, total[STOP] = total[STOP], 0
    if stopped:
        raise KeyboardInterrupt
    return result
