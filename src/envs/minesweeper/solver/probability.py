"""Exact mine probabilities from all numbers and the mine count.

Components are independent except for the total number of mines: solutions of a component with m mines are weighted by
the number of ways to place the other mines in the other components and in cells without adjacent numbers.
"""

import threading
from collections.abc import Callable
from functools import partial
from math import lgamma
from typing import NamedTuple, TypeVar

import numpy as np

from ....core.errors import UserError
from ....core.interrupt import is_cancellable, stoppable
from ....core.kernels import by_reference
from .constraints import (
    MINE,
    SAFE,
    Frontier,
    group_boxes,
    lean_kernel,
    make_frontier,
    order_boxes,
    padded_neighbors,
    propagate_all,
)
from .counting import FLOOR, Sweep, backward, forward, make_sweep, share
from .ending import STOP, Ending, make_ending

Result = TypeVar("Result")

CONSISTENT, INCONSISTENT, TOO_WIDE = 0, 1, 2
STATES = 1 << 14  # enough for practically all positions
GROWTH = 8  # factor of the next attempt with more states; a power of two, for the hash table
MAX_STATES = STATES * GROWTH**2
SHORTLIST = 24  # guesses that are looked at

_kept = threading.local()


class InconsistentPosition(UserError):  # noqa: N818 (the name says what is wrong)
    """No placement of the mines agrees with what is visible."""


@by_reference
class Guess(NamedTuple):
    """What guesses are compared by, and the position after one."""

    risk: np.ndarray  # (cells,) float64: the chance to lose by a coin toss in each box
    safety: np.ndarray  # (cells,) float64
    cost: np.ndarray  # (cells,) float64
    shortlist: np.ndarray  # (SHORTLIST + 1,) int64: cells
    after: np.ndarray  # (cells,) int8: what is known
    chance: np.ndarray  # (cells,) float64: mine probability


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
    ending: Ending


def make_engine(shape: tuple[int, ...], states: int = STATES) -> Engine:
    rows, cols = shape
    cells = rows * cols
    return Engine(
        near=padded_neighbors(rows, cols),
        frontier=make_frontier(cells),
        sweep=make_sweep(cells, states),
        chance=np.zeros(cells),
        differ=np.zeros(cells),
        first=np.zeros(cells + 1, np.int32),
        value=np.zeros(cells + 1, np.int64),
        width=np.zeros(cells, np.int32),
        later=np.empty((cells + 1, cells + 1)),
        earlier=np.zeros(cells + 1),
        guess=Guess(
            risk=np.zeros(cells),
            safety=np.zeros(cells),
            cost=np.zeros(cells),
            shortlist=np.zeros(SHORTLIST + 1, np.int64),
            after=np.zeros(cells, np.int8),
            chance=np.zeros(cells),
        ),
        ending=make_ending(cells),
    )


def with_room(shape: tuple[int, ...], mines: int, attempt: Callable[[Engine], tuple[int, Result]]) -> Result:
    """Return the result of `attempt`, retrying with larger engines until its states fit."""
    states = STATES
    while states <= MAX_STATES:
        engine = _kept_engine(shape) if states == STATES else make_engine(shape, states)
        status, result = _stoppable(attempt, engine) if is_cancellable() else attempt(engine)  # the former takes longer
        if status == CONSISTENT:
            return result
        if status == INCONSISTENT:
            raise InconsistentPosition(f"no placement of {mines} mines agrees with the numbers on the board")
        states *= GROWTH
    raise UserError(f"the numbers of this position are too entangled to count within {MAX_STATES} states")


def _stoppable(attempt: Callable[[Engine], Result], engine: Engine) -> Result:
    """Call `attempt`; raise `KeyboardInterrupt` if it was stopped. Every search clears the buffers that it uses."""
    total = engine.ending.total
    try:
        with stoppable(partial(total.__setitem__, STOP, 1)):
            result = attempt(engine)
    finally:
        stopped, total[STOP] = total[STOP], 0
    if stopped:
        raise KeyboardInterrupt
    return result


def _kept_engine(shape: tuple[int, ...]) -> Engine:
    """Return the engine of this thread, cached because allocating megabytes for every move would take longer than the
    move.
    """
    key = (shape, STATES)
    if getattr(_kept, "key", None) != key:
        _kept.key, _kept.engine = key, make_engine(shape, STATES)
    return _kept.engine


def flatten(visible: np.ndarray) -> np.ndarray:
    """Return a position in the format of the kernels: (cells,) int8, contiguous."""
    if visible.ndim != 2:
        raise UserError(f"a position is a (rows, cols) array, not one of shape {visible.shape}")
    if visible.size and not -2 <= visible.min() <= visible.max() <= 8:
        raise UserError(f"a position holds -2 (flag), -1 (hidden) and 0 to 8, not {visible.min()} to {visible.max()}")
    return np.ascontiguousarray(visible, np.int8).reshape(-1)


@lean_kernel
def examine(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray
) -> tuple[int, float]:
    """Fill in `known` and `probability` (cells,) from scratch. Return status and log completions."""
    if not propagate_all(visible, e.near, known, e.frontier):
        return INCONSISTENT, 0.0
    return solve(visible, known, mines, e, probability)


@lean_kernel
def solve(visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray) -> tuple[int, float]:
    """Fill in `probability` for a position whose `known` is already propagated. Return status and log completions."""
    f = e.frontier
    status, components, most, unseen, hidden_mines, scale = count_ways(visible, known, mines, e)
    if status != CONSISTENT:
        return status, 0.0
    elsewhere = weigh(e, components, most, unseen, hidden_mines)
    for cell in range(visible.size):
        if visible[cell] >= 0 or known[cell] == SAFE:
            probability[cell] = 0.0
        elif known[cell] == MINE:
            probability[cell] = 1.0
        else:
            probability[cell] = elsewhere if f.box_of[cell] < 0 else e.chance[f.box_of[cell]]
    return CONSISTENT, scale + np.log(e.later[0, 0])


@lean_kernel
def count_ways(visible: np.ndarray, known: np.ndarray, mines: int, e: Engine) -> tuple[int, int, int, int, int, float]:
    """Sweep every component. Returns a status, the number of components, the most mines they hold, the unseen cells,
    the mines not known, and the logarithm that the ways to go on were divided by.

    These are in `e.later[:components + 1, :most + 1]`: row c counts the ways to complete the components from c on and
    the unseen cells.
    """
    f = e.frontier
    boxes, unseen, known_mines = group_boxes(visible, e.near, known, f)
    components = order_boxes(boxes, f)
    hidden_mines = mines - known_mines
    most, scale = 0, 0.0
    if hidden_mines < 0:
        return INCONSISTENT, components, most, unseen, hidden_mines, scale
    e.first[0], e.value[0] = 0, 0
    for c in range(components):
        e.width[c] = min(hidden_mines, most_mines(f, c)) + 1
        end, log_scale = forward(f, e.sweep, c, e.first[c], e.value[c], e.width[c])
        if end < 0 or e.ending.total[STOP]:  # a stopped search ends like one without room
            return TOO_WIDE, components, most, unseen, hidden_mines, scale
        if end == e.sweep.layer[f.start[c + 1] + c]:
            return INCONSISTENT, components, most, unseen, hidden_mines, scale
        e.first[c + 1] = end
        e.value[c + 1] = e.value[c] + (end - e.first[c]) * e.width[c]
        most = min(hidden_mines, most + e.width[c] - 1)
        scale += log_scale
    scale += spread_unseen(e.later[components], most, unseen, hidden_mines)
    for c in range(components - 1, -1, -1):
        scale += spread_component(e, c, e.later[c + 1], e.later[c], most)
    status = CONSISTENT if e.later[0, 0] > 0.0 else INCONSISTENT
    return status, components, most, unseen, hidden_mines, scale


@lean_kernel
def most_mines(f: Frontier, component: int) -> int:
    """Return an upper bound on the mines of a component: the needs of enough witnesses to cover every box."""
    most = 0
    for position in range(f.start[component], f.start[component + 1]):
        box = f.order[position]
        if f.seen[box]:  # set for all boxes by the ordering; here it means: not counted yet
            witness = f.box_witness[box, 0]
            most += f.need[witness]
            for j in range(f.witness_degree[witness]):
                f.seen[f.witness_box[witness, j]] = False
    return most


@lean_kernel
def spread_unseen(ways: np.ndarray, most: int, unseen: int, mines: int) -> float:
    """Ways to put what is left of the mines into the unseen cells, by mines used before; returns their log scale."""
    largest = -np.inf
    for used in range(most + 1):
        ways[used] = 0.0
        if mines - used <= unseen:
            largest = max(largest, log_choose(unseen, mines - used))
    for used in range(most + 1):
        if mines - used <= unseen:
            ways[used] = max(np.exp(log_choose(unseen, mines - used) - largest), FLOOR)
    return largest if largest > -np.inf else 0.0


@lean_kernel
def log_choose(n: int, k: int) -> float:
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)


@lean_kernel
def spread_component(e: Engine, c: int, after: np.ndarray, before: np.ndarray, most: int) -> float:
    """before[used] = sum over m of (solutions with m mines) * after[used + m], scaled; returns the log scale."""
    solved = e.value[c + 1] - e.width[c]  # the last layer is the one state in which no witness lacks anything
    largest = 0.0
    for used in range(most + 1):
        before[used] = 0.0
        for m in range(min(e.width[c], most + 1 - used)):
            before[used] += e.sweep.ways[solved + m] * after[used + m]
        largest = max(largest, before[used])
    if largest == 0.0:
        return 0.0
    for used in range(most + 1):
        if before[used] > 0.0:
            before[used] = max(before[used] / largest, FLOOR)
    return np.log(largest)


@lean_kernel
def weigh(e: Engine, components: int, most: int, unseen: int, mines: int) -> float:
    """Fill in the chances of all boxes; returns that of an unseen cell."""
    earlier, later = e.earlier, e.later
    for used in range(1, most + 1):
        earlier[used] = 0.0
    earlier[0] = 1.0
    reach = 1  # the rest of `earlier` is 0
    for c in range(components):
        solved = e.value[c + 1] - e.width[c]
        for m in range(e.width[c]):
            weight = 0.0
            for used in range(min(reach, most + 1 - m)):
                weight += earlier[used] * later[c + 1, used + m]
            e.sweep.rest[solved + m] = weight
        backward(e.frontier, e.sweep, c, e.first[c], e.value[c], e.width[c], e.chance, e.differ)
        reach = add_component(e, c, earlier, most, reach)
    total, left, gaps = 0.0, 0.0, 0.0
    for used in range(reach):
        weight = earlier[used] * later[components, used]
        total += weight * unseen
        left += weight * (mines - used)
        gaps += weight * (unseen - (mines - used))
    return share(left, gaps, total)


@lean_kernel
def add_component(e: Engine, c: int, earlier: np.ndarray, most: int, reach: int) -> int:
    """Convolve `earlier` with a component's solutions in place, scaled; returns the new reach."""
    solved = e.value[c + 1] - e.width[c]
    reach = min(most + 1, reach + e.width[c] - 1)
    largest = 0.0
    for used in range(reach - 1, -1, -1):
        ways = 0.0
        for m in range(min(e.width[c], used + 1)):
            ways += earlier[used - m] * e.sweep.ways[solved + m]
        earlier[used] = ways
        largest = max(largest, ways)
    for used in range(reach):
        if earlier[used] > 0.0:
            earlier[used] = max(earlier[used] / largest, FLOOR)
    return reach
