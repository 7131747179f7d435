"""Exact mine probabilities from all numbers and the mine count, and uniform samples of the completions.

Components are independent except for the total number of mines: solutions of a component with m mines are weighted by
the number of ways to place the other mines in the other components and in cells without adjacent numbers.
"""

from math import lgamma

import numpy as np

from .counting import CHOOSE, FLOOR, backward, forward, group_boxes, order_boxes, ratio, scale_down
from .engine import (
    CONSISTENT,
    INCONSISTENT,
    MINE,
    SAFE,
    STOP,
    TOO_WIDE,
    UNKNOWN,
    Engine,
    Frontier,
    kernel,
    lean_kernel,
)
from .single_point import propagate_all


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
    elsewhere = fill_chances(e, components, most, unseen, hidden_mines)
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
        if end < 0 or e.endgame.total[STOP]:  # a stopped search ends like one without room
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
    scale_down(before, 0, most + 1, largest)
    return np.log(largest)


@lean_kernel
def fill_chances(e: Engine, components: int, most: int, unseen: int, mines: int) -> float:
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
    return ratio(left, gaps, total)


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
    scale_down(earlier, 0, reach, largest)
    return reach


@kernel
def draw_completions(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, random: np.random.Generator, mined: np.ndarray
) -> int:
    """Fill in `mined` (completions, cells) bool for a position whose `known` was propagated; returns a status.

    First the number of mines of each component is drawn, weighted by the ways to complete the rest; then its boxes are
    sampled backwards from the final state, each step weighted by the ways to reach it.
    """
    status, components, most, _, hidden_mines, _ = count_ways(visible, known, mines, e)
    if status != CONSISTENT:
        return status
    for completion in range(mined.shape[0]):
        board = mined[completion]
        for cell in range(visible.size):
            board[cell] = visible[cell] < 0 and known[cell] == MINE
        used = 0
        for c in range(components):
            here = draw_mines(e, c, e.later[c + 1, : most + 1], used, random)
            draw_boxes(visible, known, e, c, here, random, board)
            used += here
        place(visible, known, e.frontier.box_of, -1, hidden_mines - used, random, board)
    return status


@kernel
def draw_mines(e: Engine, c: int, after: np.ndarray, used: int, random: np.random.Generator) -> int:
    """Draw the mines of component `c`, given `used` mines before it and the ways to complete the rest, `after`."""
    solved, most = e.value[c + 1] - e.width[c], min(e.width[c], after.size - used)
    total = 0.0
    for m in range(most):
        total += e.sweep.ways[solved + m] * after[used + m]
    chance, drawn = random.random() * total, -1
    for m in range(most):
        weight = e.sweep.ways[solved + m] * after[used + m]
        if weight > 0.0 and chance >= 0.0:
            drawn = m
            chance -= weight
    return drawn


@kernel
def draw_boxes(
    visible: np.ndarray,
    known: np.ndarray,
    e: Engine,
    c: int,
    mines: int,
    random: np.random.Generator,
    board: np.ndarray,
) -> None:
    """Distribute the mines of component `c` over its boxes, from the last to the first."""
    f, s, state = e.frontier, e.sweep, e.first[c + 1] - 1
    for position in range(f.start[c + 1] - 1, f.start[c] - 1, -1):
        box, begin, end = f.order[position], s.layer[position + c], s.layer[position + c + 1]
        total = 0.0
        for i in range(begin, end):
            for k in range(min(f.box_size[box], mines) + 1):
                total += ways_through(e, c, box, i, k, mines, state)
        chance, source, here = random.random() * total, -1, -1
        for i in range(begin, end):
            for k in range(min(f.box_size[box], mines) + 1):
                weight = ways_through(e, c, box, i, k, mines, state)
                if weight > 0.0 and chance >= 0.0:
                    source, here = i, k
                    chance -= weight
        place(visible, known, f.box_of, box, here, random, board)
        state, mines = source, mines - here


@kernel
def ways_through(e: Engine, c: int, box: int, i: int, k: int, mines: int, state: int) -> float:
    """Return the ways to reach `state` with this number of mines through state `i` with `k` mines in the box."""
    s = e.sweep
    if s.follow[i, k] != state or not s.low[i] <= mines - k <= s.high[i]:
        return 0.0
    return CHOOSE[e.frontier.box_size[box], k] * s.ways[e.value[c] + (i - e.first[c]) * e.width[c] + mines - k]


@kernel
def place(
    visible: np.ndarray,
    known: np.ndarray,
    box_of: np.ndarray,
    box: int,
    mines: int,
    random: np.random.Generator,
    board: np.ndarray,
) -> None:
    """Place the mines of a box on random cells of it; -1 stands for the cells without adjacent numbers."""
    left = 0
    for cell in range(visible.size):
        left += visible[cell] < 0 and known[cell] == UNKNOWN and box_of[cell] == box
    for cell in range(visible.size):
        if visible[cell] < 0 and known[cell] == UNKNOWN and box_of[cell] == box:
            if random.random() * left < mines:
                board[cell] = True
                mines -= 1
            left -= 1
