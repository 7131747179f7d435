"""Count the ways to place mines around the numbers, component by component.

A revealed number with undecided neighbors is a *witness*; undecided cells with exactly the same witnesses are
interchangeable and form a *box*. Boxes that share witnesses, directly or over others, are a *component*:

    1 2 1      the 2 and both 1s are witnesses
    a b b      {a} is seen by 1 and 2, {b, b} by all three: two boxes, one component

The solutions of a component are counted by number of mines, by dynamic programming: boxes are decided one after
another, in an order that keeps few witnesses open. The rest of the component depends only on how many mines each open
witness still needs, so partial solutions with equal needs are merged into one state:

    state = (need of one open witness) | (need of another) << (bits of the first) | ...

A state has the number of ways to reach it for each number of mines used. A backward pass multiplies this by the ways to
continue, which gives how often each box has 0, 1, 2, ... mines. Counts are floats, rescaled layer by layer; possible
states never fall below `FLOOR`, so that 0 always means impossible.
"""

import numpy as np

from .engine import MINE, SAFE, Frontier, Sweep, lean_kernel

NARROW = 1000.0  # estimated number of states above which a better order of boxes is searched for
BITS = 62  # usable bits of a state; an open witness takes one to four of them
FLOOR = 1e-140  # the product of two is still a normal float

CHOOSE = np.array([[1, 0, 0, 0, 0, 0, 0, 0, 0]] * 9, np.float64)  # CHOOSE[n, k] for boxes of up to 8 cells
for _n in range(1, 9):
    CHOOSE[_n, 1:] = CHOOSE[_n - 1, 1:] + CHOOSE[_n - 1, :-1]


@lean_kernel
def group_boxes(visible: np.ndarray, near: np.ndarray, known: np.ndarray, f: Frontier) -> tuple[int, int, int]:
    """Fill in witnesses and boxes; return the numbers of boxes, undecided cells without witnesses, and known mines."""
    boxes, unseen, known_mines = 0, 0, 0
    for cell in range(visible.size):
        f.box_of[cell] = -1
        f.need[cell] = visible[cell]
        f.room[cell] = 0
        f.witness_degree[cell] = 0
    for cell in range(visible.size):
        if visible[cell] >= 0 or known[cell] == SAFE:
            continue
        degree = 0
        for n in near[cell]:
            if n < 0:
                break
            if visible[n] >= 0:
                f.box_witness[boxes, degree] = n
                degree += 1
                if known[cell] == MINE:
                    f.need[n] -= 1
                else:
                    f.room[n] += 1
        if known[cell] == MINE:
            known_mines += 1
        elif degree == 0:
            unseen += 1
        else:
            boxes = join_box(near, f, cell, boxes, degree)
    return boxes, unseen, known_mines


@lean_kernel
def join_box(near: np.ndarray, f: Frontier, cell: int, boxes: int, degree: int) -> int:
    """Add a cell, whose witnesses are in the next free row, to its box; return the new number of boxes."""
    for n in near[f.box_witness[boxes, 0]]:  # every cell of the same box is a neighbor of its first witness
        if n < 0 or n >= cell:
            break
        box = f.box_of[n]
        same = box >= 0 and f.box_degree[box] == degree
        for j in range(degree):
            same = same and f.box_witness[box, j] == f.box_witness[boxes, j]
        if same:
            f.box_of[cell] = box
            f.box_size[box] += 1
            return boxes
    f.box_of[cell] = boxes
    f.box_size[boxes] = 1
    f.box_degree[boxes] = degree
    for j in range(degree):
        witness = f.box_witness[boxes, j]
        f.witness_box[witness, f.witness_degree[witness]] = boxes
        f.witness_degree[witness] += 1
    return boxes + 1


@lean_kernel
def count_boxes(f: Frontier) -> int:
    """Return the number of boxes of the latest position."""
    most = -1
    for box in f.box_of:
        most = max(most, box)
    return most + 1


@lean_kernel
def order_boxes(boxes: int, f: Frontier) -> int:
    """Order the boxes so that few witnesses are open at any time; return the number of independent components."""
    for box in range(boxes):
        f.seen[box] = False
    components, end = 0, 0
    for box in range(boxes):
        if f.seen[box]:
            continue
        f.start[components] = begin = done = end
        f.order[end] = box
        f.seen[box] = True
        end += 1
        while done < end:  # list the boxes connected with it, breadth first
            member = f.order[done]
            done += 1
            for j in range(f.box_degree[member]):
                witness = f.box_witness[member, j]
                for i in range(f.witness_degree[witness]):
                    other = f.witness_box[witness, i]
                    if not f.seen[other]:
                        f.seen[other] = True
                        f.order[end] = other
                        end += 1
        size = end - begin
        for i in range(size):
            f.members[i] = f.order[begin + i]
        best = f.members[size - 1]  # the last box that a walk reaches lies at an end of the frontier, if it has ends
        least = order_component(f, size, best, begin)
        if least > NARROW:
            for i in range(size):
                cost = order_component(f, size, f.members[i], begin)
                if cost < least:
                    best, least = f.members[i], cost
            order_component(f, size, best, begin)
        components += 1
    f.start[components] = end
    return components


@lean_kernel
def order_component(f: Frontier, size: int, box: int, begin: int) -> float:
    """Order a component from `box` on, greedily by witnesses opened and closed; return an estimate of its states."""
    for i in range(size):
        member = f.members[i]
        f.placed[member] = False
        for j in range(f.box_degree[member]):
            f.left[f.box_witness[member, j]] = f.witness_degree[f.box_witness[member, j]]
    opened, states = 0, 0.0
    for position in range(begin, begin + size):
        f.order[position] = box
        f.placed[box] = True
        for j in range(f.box_degree[box]):
            witness = f.box_witness[box, j]
            if f.left[witness] == f.witness_degree[witness]:
                f.open[opened] = witness
                opened += 1
            f.left[witness] -= 1
        kept = 0
        for j in range(opened):
            if f.left[f.open[j]] > 0:
                f.open[kept] = f.open[j]
                kept += 1
        opened = kept
        states += 2.0**opened
        least = 1 << 20
        for j in range(opened):
            for i in range(f.witness_degree[f.open[j]]):
                other = f.witness_box[f.open[j], i]
                if f.placed[other]:
                    continue
                cost = 0
                for k in range(f.box_degree[other]):
                    witness = f.box_witness[other, k]
                    cost += 2 * (f.left[witness] == f.witness_degree[witness]) - (f.left[witness] == 1)
                if cost < least:
                    box, least = other, cost
    return states


@lean_kernel
def forward(f: Frontier, s: Sweep, component: int, first: int, value: int, width: int) -> tuple[int, float]:
    """Run the forward pass for a component whose states begin at `first` and their values at `value`.

    Returns the end of its states, -1 if they do not fit, and the logarithm of the scale of its counts. If the component
    has no solution its last layer is empty.
    """
    begin, end = f.start[component], f.start[component + 1]
    for position in range(begin, end):
        box = f.order[position]
        for j in range(f.box_degree[box]):
            s.slot[f.box_witness[box, j]] = -1
            s.todo[f.box_witness[box, j]] = f.room[f.box_witness[box, j]]
    if first >= s.state.size or value + width > s.ways.size:
        return -1, 0.0
    s.layer[begin + component] = first
    s.state[first] = 0
    s.low[first] = 0
    s.high[first] = 0
    s.ways[value] = 1.0
    last, free, scale = first + 1, (1 << BITS) - 1, 0.0
    for position in range(begin, end):
        box, layer = f.order[position], position + component
        s.layer[layer + 1] = last
        opened = 0  # the bits of the box's new witnesses, added to each state
        for j in range(f.box_degree[box]):
            witness = f.box_witness[box, j]
            if s.slot[witness] < 0:
                mask, slot = 1, 0
                while mask < f.need[witness]:
                    mask = mask << 1 | 1
                while free >> slot & mask != mask:
                    slot += 1
                    if slot == BITS:
                        return -1, 0.0
                free ^= mask << slot
                s.slot[witness], s.mask[witness] = slot, mask
                opened += f.need[witness] << slot
            s.todo[witness] -= f.box_size[box]
        last = decide(f, s, box, s.layer[layer], last, opened, first, value, width)
        if last < 0:
            return -1, 0.0
        start, stop, largest = value + (s.layer[layer + 1] - first) * width, value + (last - first) * width, 0.0
        for v in range(start, stop):
            largest = max(largest, s.ways[v])
        if largest >= 1e100:
            scale_down(s.ways, start, stop, largest)
            scale += np.log(largest)
        for j in range(f.box_degree[box]):
            witness = f.box_witness[box, j]
            if s.todo[witness] == 0:
                free |= s.mask[witness] << s.slot[witness]
    s.layer[end + component + 1] = last
    return last, scale


@lean_kernel
def decide(
    f: Frontier, s: Sweep, box: int, begin: int, end: int, opened: int, first: int, value: int, width: int
) -> int:
    """Derive the next layer (from `end`) by placing every possible number of mines in `box`; return its end."""
    last, step, wrap = end, 0, s.table.size - 1
    for j in range(f.box_degree[box]):
        step += 1 << s.slot[f.box_witness[box, j]]
    for i in range(begin, end):
        state = s.state[i] + opened
        least, most = 0, f.box_size[box]
        for j in range(f.box_degree[box]):
            witness = f.box_witness[box, j]
            lacks = state >> s.slot[witness] & s.mask[witness]
            least = max(least, lacks - s.todo[witness])
            most = min(most, lacks)
        most = min(most, width - 1 - s.low[i])
        for k in range(9):
            s.follow[i, k] = -1
        for k in range(least, most + 1):
            target = state - k * step
            place = (target * 0x9E3779B97F4A7C1 >> 20) & wrap
            while s.table[place] >= 0 and s.state[s.table[place]] != target:
                place = (place + 1) & wrap
            if s.table[place] < 0:
                if last == s.state.size or value + (last + 1 - first) * width > s.ways.size:
                    s.table[:] = -1
                    return -1
                s.table[place] = last
                s.state[last] = target
                s.low[last], s.high[last] = width, -1
                for m in range(width):
                    s.ways[value + (last - first) * width + m] = 0.0
                last += 1
            to = s.table[place]
            s.follow[i, k] = to
            source, sink = value + (i - first) * width, value + (to - first) * width + k
            low, high = s.low[i], min(s.high[i], width - 1 - k)
            for m in range(low, high + 1):
                s.ways[sink + m] += CHOOSE[f.box_size[box], k] * s.ways[source + m]
            s.low[to] = min(s.low[to], low + k)
            s.high[to] = max(s.high[to], high + k)
    for i in range(end, last):  # clear each state in the hash table, and the entries after it, which are of this layer
        place = (s.state[i] * 0x9E3779B97F4A7C1 >> 20) & wrap
        while s.table[place] >= 0:
            s.table[place] = -1
            place = (place + 1) & wrap
    return last


@lean_kernel
def backward(
    f: Frontier, s: Sweep, component: int, first: int, value: int, width: int, chance: np.ndarray, differ: np.ndarray
) -> None:
    """Run the backward pass, from the ways to continue of the last layer, given in `rest`.

    Writes the mine probability of the cells of each box to `chance`, exactly 0 or 1 if and only if certain, and to
    `differ` the probability that exactly one of two cells of the box is a mine.
    """
    for position in range(f.start[component + 1] - 1, f.start[component] - 1, -1):
        box, layer = f.order[position], position + component
        size, total, mines, gaps, mixed, largest = f.box_size[box], 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(s.layer[layer], s.layer[layer + 1]):
            source = value + (i - first) * width
            for m in range(width):
                s.rest[source + m] = 0.0
            for k in range(size + 1):
                if s.follow[i, k] < 0:
                    continue
                target = value + (s.follow[i, k] - first) * width + k
                factor, weight = CHOOSE[size, k], 0.0
                for m in range(s.low[i], min(s.high[i], width - 1 - k) + 1):
                    gain = factor * s.rest[target + m]
                    s.rest[source + m] += gain
                    weight += s.ways[source + m] * gain
                total += weight
                mines += weight * k
                gaps += weight * (size - k)
                mixed += weight * k * (size - k)
            for m in range(s.low[i], s.high[i] + 1):
                largest = max(largest, s.rest[source + m])
        chance[box] = ratio(mines, gaps, total * size)
        differ[box] = 2.0 * mixed / (total * size * max(size - 1, 1))
        if largest > 1e100:
            start, stop = value + (s.layer[layer] - first) * width, value + (s.layer[layer + 1] - first) * width
            scale_down(s.rest, start, stop, largest)


@lean_kernel
def scale_down(values: np.ndarray, begin: int, end: int, largest: float) -> None:
    """Divide values[begin:end] by the largest of them; positive values stay positive."""
    for i in range(begin, end):
        if values[i] > 0.0:
            values[i] = max(values[i] / largest, FLOOR)


@lean_kernel
def ratio(mines: float, gaps: float, total: float) -> float:
    """Return mines / total, strictly between 0 and 1 unless there are no mines or no gaps."""
    if mines == 0.0:
        return 0.0
    if gaps == 0.0:
        return 1.0
    return min(max(mines / total, 1e-300), 1.0 - 2.0**-53)
