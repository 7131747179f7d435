"""Constraints from the numbers: cells that single numbers decide, and groups of equivalent undecided cells.

Every kernel works on flat boards. A revealed number with undecided neighbours is a *witness*; undecided cells with
exactly the same witnesses are interchangeable and form a *box*:

    1 2 1      the 2 and both 1s are witnesses
    a b b      {a} is seen by 1 and 2, {b, b} by all three: two boxes
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ....core.kernels import by_reference, jit
from ..rules import neighbors

kernel = jit(nogil=True, _nrt=True)  # explicit, because a lean_kernel may be the caller
lean_kernel = jit(nogil=True, _nrt=False)  # for kernels without allocations: reference counting is slow to compile

UNKNOWN, SAFE, MINE = 0, 1, 2  # knowledge of a hidden cell
NARROW = 1000.0  # estimated states above which better box orders are searched


@by_reference
class Frontier(NamedTuple):
    """Reused buffers; cells and witnesses are indexed by cell number, boxes in order of discovery."""

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


def make_frontier(cells: int) -> Frontier:
    def ints(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.int32)

    return Frontier(
        stack=ints(cells),
        queued=np.zeros(cells, np.bool_),
        need=ints(cells),
        room=ints(cells),
        box_of=ints(cells),
        box_size=ints(cells),
        box_degree=ints(cells),
        box_witness=ints(cells, 8),
        witness_degree=ints(cells),
        witness_box=ints(cells, 8),
        left=ints(cells),
        seen=np.zeros(cells, np.bool_),
        placed=np.zeros(cells, np.bool_),
        open=ints(cells),
        members=ints(cells),
        order=ints(cells),
        start=ints(cells + 1),
    )


@lru_cache(maxsize=64)
def padded_neighbors(rows: int, cols: int) -> np.ndarray:
    """Return the neighbours of each cell, (cells, 8) int32, ascending and padded with -1."""
    near, degree = neighbors(rows, cols)
    return np.where(np.arange(8) < degree[:, None], near, -1).astype(np.int32)


@lean_kernel
def propagate_all(visible: np.ndarray, near: np.ndarray, known: np.ndarray, f: Frontier) -> bool:
    """Decide cells in `known` by the two classic rules, from scratch; return False if the numbers are contradictory."""
    count = 0
    for cell in range(visible.size):
        known[cell] = UNKNOWN
        f.queued[cell] = visible[cell] >= 0
        if visible[cell] >= 0:
            f.stack[count] = cell
            count += 1
    return propagate(visible, near, known, f, count)


@lean_kernel
def propagate_from(visible: np.ndarray, near: np.ndarray, known: np.ndarray, f: Frontier, cell: int) -> bool:
    """Update `known` after one more number was revealed at `cell`; return False on a contradiction."""
    f.stack[0] = cell
    f.queued[cell] = True
    return propagate(visible, near, known, f, wake(visible, near, f, cell, 1))


@lean_kernel
def wake(visible: np.ndarray, near: np.ndarray, f: Frontier, cell: int, count: int) -> int:
    """Push the numbers around a newly decided cell onto the stack; return its new size."""
    for n in near[cell]:
        if n < 0:
            break
        if visible[n] >= 0 and not f.queued[n]:
            f.queued[n] = True
            f.stack[count] = n
            count += 1
    return count


@lean_kernel
def propagate(visible: np.ndarray, near: np.ndarray, known: np.ndarray, f: Frontier, count: int) -> bool:
    """Process the stack: a number with all mines found makes the rest safe; one with no safe cells left makes the rest
    mines.
    """
    sound = True
    while count > 0:
        count -= 1
        number = f.stack[count]
        f.queued[number] = False
        need, room = visible[number], 0
        for n in near[number]:
            if n < 0:
                break
            if visible[n] < 0:
                need -= known[n] == MINE
                room += known[n] == UNKNOWN
        sound = sound and 0 <= need <= room
        if room == 0 or not sound or 0 < need < room:
            continue
        verdict = SAFE if need == 0 else MINE
        for n in near[number]:
            if n < 0:
                break
            if visible[n] < 0 and known[n] == UNKNOWN:
                known[n] = verdict
                count = wake(visible, near, f, n, count)
    return sound


@lean_kernel
def group_boxes(visible: np.ndarray, near: np.ndarray, known: np.ndarray, f: Frontier) -> tuple[int, int, int]:
    """Fill in witnesses and boxes; return the number of boxes, of undecided cells without witnesses, and of known
    mines.
    """
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
    for n in near[f.box_witness[boxes, 0]]:  # every cell of the same box is a neighbour of its first witness
        if n < 0 or n >= cell:
            break
        box = f.box_of[n]
        if box >= 0 and f.box_degree[box] == degree and same_row(f.box_witness, box, boxes, degree):
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
def same_row(table: np.ndarray, one: int, other: int, length: int) -> bool:
    for j in range(length):  # noqa: SIM110 (numba compiles no generator expressions)
        if table[one, j] != table[other, j]:
            return False
    return True


@lean_kernel
def order_boxes(boxes: int, f: Frontier) -> int:
    """Order the boxes so that few witnesses are open at any time; returns the number of independent components."""
    for box in range(boxes):
        f.seen[box] = False
    components, end = 0, 0
    for box in range(boxes):
        if f.seen[box]:
            continue
        f.start[components] = end
        begin, end = end, list_component(f, box, end)
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
def list_component(f: Frontier, box: int, begin: int) -> int:
    """Append all boxes connected with `box` to the order, breadth first; return the new end."""
    f.order[begin] = box
    f.seen[box] = True
    done, end = begin, begin + 1
    while done < end:
        box = f.order[done]
        done += 1
        for j in range(f.box_degree[box]):
            witness = f.box_witness[box, j]
            for i in range(f.witness_degree[witness]):
                other = f.witness_box[witness, i]
                if not f.seen[other]:
                    f.seen[other] = True
                    f.order[end] = other
                    end += 1
    return end


@lean_kernel
def order_component(f: Frontier, size: int, box: int, begin: int) -> float:
    """Order a component from `box` on, next always what opens least and closes most; returns an estimate of states."""
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
        box = next_box(f, opened)
    return states


@lean_kernel
def next_box(f: Frontier, opened: int) -> int:
    best, best_cost = -1, 1 << 20
    for j in range(opened):
        witness = f.open[j]
        for i in range(f.witness_degree[witness]):
            box = f.witness_box[witness, i]
            if f.placed[box]:
                continue
            cost = 0
            for k in range(f.box_degree[box]):
                other = f.box_witness[box, k]
                cost += 2 * (f.left[other] == f.witness_degree[other]) - (f.left[other] == 1)
            if cost < best_cost:
                best, best_cost = box, cost
    return best
