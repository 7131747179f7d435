"""Exact mine probabilities from all numbers and the mine count.

Components are independent except for the total number of mines: solutions of a component with m mines are weighted by
the number of ways to place the other mines in the other components and in cells without adjacent numbers.
"""

from math import lgamma

import numpy as np

from .counting import FLOOR, backward, forward, group_boxes, order_boxes, ratio, scale_down
from .engine import CONSISTENT, INCONSISTENT, MINE, SAFE, STOP, TOO_WIDE, Engine, lean_kernel
from .single_point import propagate_all


@lean_kernel
def examine(visible: np.ndarray, mines: int, e: Engine) -> tuple[int, float]:
    """Fill in `e.known` and `e.probability` from scratch. Return status and log completions."""
    if not propagate_all(visible, e):
        return INCONSISTENT, 0.0
    return solve(visible, e.known, mines, e, e.probability)


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
    """Count the solutions of every component, and in `e.later[c, used]` the ways to complete components c, c + 1, ...

    Return a status, the numbers of components, mines that they hold at most, unseen cells and unknown mines, and the
    logarithm of the scale of `e.later`.
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
        needed = 0  # an upper bound on the mines of the component: the needs of enough witnesses to cover every box
        for position in range(f.start[c], f.start[c + 1]):
            box = f.order[position]
            if f.seen[box]:  # set for all boxes by the ordering; here it means: not counted yet
                witness = f.box_witness[box, 0]
                needed += f.need[witness]
                for j in range(f.witness_degree[witness]):
                    f.seen[f.witness_box[witness, j]] = False
        e.width[c] = min(hidden_mines, needed) + 1
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
        solved, largest = e.value[c + 1] - e.width[c], 0.0  # the last layer is one state: no witness lacks anything
        for used in range(most + 1):
            e.later[c, used] = 0.0
            for m in range(min(e.width[c], most + 1 - used)):
                e.later[c, used] += e.sweep.ways[solved + m] * e.later[c + 1, used + m]
            largest = max(largest, e.later[c, used])
        if largest > 0.0:
            scale_down(e.later[c], 0, most + 1, largest)
            scale += np.log(largest)
    status = CONSISTENT if e.later[0, 0] > 0.0 else INCONSISTENT
    return status, components, most, unseen, hidden_mines, scale


@lean_kernel
def spread_unseen(ways: np.ndarray, most: int, unseen: int, mines: int) -> float:
    """Write the ways to place the remaining mines in the unseen cells, by mines used before; return their log scale."""
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
def fill_chances(e: Engine, components: int, most: int, unseen: int, mines: int) -> float:
    """Fill in the mine probabilities of all boxes; return the probability of an unseen cell."""
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
        reach, largest = min(most + 1, reach + e.width[c] - 1), 0.0
        for used in range(reach - 1, -1, -1):  # convolve `earlier` with the component's solutions
            ways = 0.0
            for m in range(min(e.width[c], used + 1)):
                ways += earlier[used - m] * e.sweep.ways[solved + m]
            earlier[used] = ways
            largest = max(largest, ways)
        scale_down(earlier, 0, reach, largest)
    total, left, gaps = 0.0, 0.0, 0.0
    for used in range(reach):
        weight = earlier[used] * later[components, used]
        total += weight * unseen
        left += weight * (mines - used)
        gaps += weight * (unseen - (mines - used))
    return ratio(left, gaps, total)
