"""What the solvers share: codes, the reused buffers of a thread, and retries where those are too small.

Every kernel works on flat boards: a cell is `row * cols + col`.
"""

import threading
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Annotated, NamedTuple, TypeVar

import numpy as np

from ....core.errors import UserError
from ....core.interrupt import is_cancellable, stoppable
from ....core.kernels import by_reference, jit
from ...arrays import allocate
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
    """See `counting.py`; cells and witnesses are indexed by cell, boxes in order of discovery."""

    stack: Annotated[np.ndarray, np.int32, "cells"]  # numbers to process
    queued: Annotated[np.ndarray, np.bool_, "cells"]  # the number is on the stack
    need: Annotated[np.ndarray, np.int32, "cells"]  # undecided mines around a witness
    room: Annotated[np.ndarray, np.int32, "cells"]  # undecided cells around a witness
    box_of: Annotated[np.ndarray, np.int32, "cells"]  # box of a cell, -1 without
    box_size: Annotated[np.ndarray, np.int32, "cells"]
    box_degree: Annotated[np.ndarray, np.int32, "cells"]  # number of witnesses
    box_witness: Annotated[np.ndarray, np.int32, "cells", 8]
    witness_degree: Annotated[np.ndarray, np.int32, "cells"]  # number of boxes
    witness_box: Annotated[np.ndarray, np.int32, "cells", 8]
    left: Annotated[np.ndarray, np.int32, "cells"]  # boxes of a witness that are not yet in the order
    seen: Annotated[np.ndarray, np.bool_, "cells"]  # boxes already assigned to a component
    placed: Annotated[np.ndarray, np.bool_, "cells"]  # boxes that are in the order
    open: Annotated[np.ndarray, np.int32, "cells"]  # witnesses with some boxes in the order, some not
    members: Annotated[np.ndarray, np.int32, "cells"]  # boxes of the component that is being ordered
    order: Annotated[np.ndarray, np.int32, "cells"]  # boxes, component after component
    start: Annotated[np.ndarray, np.int32, "ends"]  # where each component begins in the order


@by_reference
class Sweep(NamedTuple):
    """All states of all layers of all components, with the ways to reach and to continue each."""

    state: Annotated[np.ndarray, np.int64, "states"]
    follow: Annotated[np.ndarray, np.int32, "states", 9]  # the next state after k more mines, -1 if impossible
    low: Annotated[np.ndarray, np.int32, "states"]  # fewest mines used
    high: Annotated[np.ndarray, np.int32, "states"]  # most mines used
    ways: Annotated[np.ndarray, np.float64, "values"]  # `width` values per state, from the start of its component
    rest: Annotated[np.ndarray, np.float64, "values"]  # ways to continue
    table: Annotated[np.ndarray, np.int32, "slots"]  # hash table over one layer, -1 empty
    layer: Annotated[np.ndarray, np.int32, "layers"]  # first state of each layer; n boxes make n + 1 layers
    slot: Annotated[np.ndarray, np.int64, "cells"]  # the first bit of an open witness in the state, -1 if not open yet
    mask: Annotated[np.ndarray, np.int64, "cells"]  # its bits, shifted down to 0
    todo: Annotated[np.ndarray, np.int32, "cells"]  # undecided cells of a witness


@by_reference
class Guess(NamedTuple):
    """What guesses are compared by, and the position after one; see `guess.py`."""

    risk: Annotated[np.ndarray, np.float64, "cells"]  # the chance to lose by a coin toss in each box
    safety: Annotated[np.ndarray, np.float64, "cells"]
    cost: Annotated[np.ndarray, np.float64, "cells"]
    shortlist: Annotated[np.ndarray, np.int64, SHORTLIST + 1]  # cells
    after: Annotated[np.ndarray, np.int8, "cells"]  # `known` of that position
    chance: Annotated[np.ndarray, np.float64, "cells"]  # its `probability`


@by_reference
class Endgame(NamedTuple):
    """The tables of `endgame.py`; those whose width is the number of undecided cells are flat."""

    cells: Annotated[np.ndarray, np.int32, "cells"]  # the undecided ones
    place: Annotated[np.ndarray, np.int32, "ends"]  # of each box in the order, or of each undecided cell in `cells`
    begin: Annotated[np.ndarray, np.int32, "ends"]  # where the cells of each place begin
    tried: Annotated[np.ndarray, np.int8, "cells"]  # what comes next at each depth: 2 mine, 1 no mine, 0 neither
    mined: Annotated[np.ndarray, np.bool_, "cells"]  # one completion
    shown: Annotated[np.ndarray, np.int8, "outcomes"]  # what each undecided cell shows in each completion, 9 for a mine
    label: Annotated[np.ndarray, np.uint64, COMPLETIONS]  # random; a subset is known by their xor
    subset: Annotated[np.ndarray, np.int32, DEPTH * COMPLETIONS]  # nested subsets, one behind the other
    frame: Annotated[np.ndarray, np.int64, "ends", 9]  # a row of fields for each subset of the nest
    order: Annotated[np.ndarray, np.int32, "nested"]  # cells worth revealing in each subset
    mine_count: Annotated[np.ndarray, np.int32, "nested"]  # mines on each cell, counted over the subset
    active: Annotated[np.ndarray, np.int32, "nested"]  # cells not the same all over the subset one level up
    memo_key: Annotated[np.ndarray, np.uint64, MEMO]
    memo_wins: Annotated[np.ndarray, np.int32, MEMO]  # 0 empty
    total: Annotated[np.ndarray, np.int64, 4]  # undecided cells, completions, positions left to look at, stop flag


@by_reference
class Engine(NamedTuple):
    """The buffers of one thread for boards of one shape."""

    known: Annotated[np.ndarray, np.int8, "cells"]  # UNKNOWN, SAFE or MINE for each hidden cell
    probability: Annotated[np.ndarray, np.float64, "cells"]  # of a mine in each cell
    moves: Annotated[np.ndarray, np.int32, "cells"]  # cells that a solver reveals
    near: Annotated[np.ndarray, np.int32, "cells", 8]
    frontier: Frontier
    sweep: Sweep
    chance: Annotated[np.ndarray, np.float64, "cells"]  # mine probability in each box
    differ: Annotated[np.ndarray, np.float64, "cells"]  # probability that exactly one of two cells of a box is a mine
    first: Annotated[np.ndarray, np.int32, "ends"]  # first state of each component
    value: Annotated[np.ndarray, np.int64, "ends"]  # its first value
    width: Annotated[np.ndarray, np.int32, "cells"]  # values a state
    later: Annotated[np.ndarray, np.float64, "ends", "ends"]  # row c: ways to complete components c, c + 1, ...
    earlier: Annotated[np.ndarray, np.float64, "ends"]  # ways to complete the components so far, by mines used
    guess: Guess
    endgame: Endgame


def make_engine(shape: tuple[int, ...], states: int = STATES) -> Engine:
    """Return buffers for boards of this shape."""
    rows, cols = shape
    cells = rows * cols
    sizes = {
        "cells": cells,
        "ends": cells + 3,  # room for bounds behind the last one
        "states": states,
        "values": 16 * states,
        "slots": 2 * states,
        "layers": 2 * cells + 2,
        "outcomes": COMPLETIONS * cells,
        "nested": (cells + 3) * cells,
    }
    tuples = {"frontier": Frontier, "sweep": Sweep, "guess": Guess}
    engine = allocate(
        Engine,
        sizes,
        near=padded_neighbors(rows, cols),
        endgame=allocate(Endgame, sizes, label=LABELS),
        **{name: allocate(cls, sizes) for name, cls in tuples.items()},
    )
    engine.sweep.table[:] = -1
    return engine


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
