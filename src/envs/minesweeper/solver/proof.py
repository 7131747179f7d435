"""Explain why a cell is certain, by a minimal set of numbers.

To prove that a cell is safe, assume that it is a mine and search for a placement that agrees with the numbers nearby.
If there is none, these numbers are a proof; numbers that are not needed are then removed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..rules import neighbors

MAX_NODES = 20_000  # budget of the search for one proof


class Proof(NamedTuple):
    numbers: tuple[int, ...]  # cells whose numbers prove it, ascending; all of them are needed
    counted: bool = False  # the numbers are not enough: the mine count of the whole board is needed as well


class Constraint(NamedTuple):
    number: int  # the cell of the number
    cells: tuple[int, ...]  # hidden cells around it
    mines: int  # among those


class _GivenUp(Exception):  # noqa: N818 (it never leaves this module)
    pass


def find_proof(visible: np.ndarray, cell: int, mine: bool) -> Proof | None:
    """Return a proof that `cell` of a consistent position is a mine, or is safe; None if the search was given up."""
    opposite = {cell: not mine}
    try:
        core = _refuting(_constraints(visible), opposite)
        for leave_out in sorted(core, key=lambda known: (cell in known.cells, known.number)):
            fewer = [known for known in core if known is not leave_out]
            if not _agrees(fewer, opposite, [MAX_NODES]):
                core = fewer
    except _GivenUp:
        return None
    return Proof(tuple(sorted(known.number for known in core)), counted=not core)


def _constraints(visible: np.ndarray) -> list[Constraint]:
    near, degree = neighbors(*visible.shape)
    flat = visible.ravel()
    found = []
    for number in np.flatnonzero(flat >= 0).tolist():
        around = near[number, : degree[number]]
        hidden = tuple(around[flat[around] < 0].tolist())
        if hidden:
            found.append(Constraint(number, hidden, int(flat[number])))
    return found


def _refuting(constraints: list[Constraint], opposite: Mapping[int, bool]) -> list[Constraint]:
    """Return the nearest constraints that contradict the assumption; [] if all constraints can be satisfied."""
    reached = set(opposite)
    near: list[Constraint] = []
    while True:
        wider = [known for known in constraints if not reached.isdisjoint(known.cells)]
        if len(wider) == len(near):
            return []
        near = wider
        if not _agrees(near, opposite, [MAX_NODES]):
            return near
        reached.update(*(known.cells for known in near))


def _agrees(constraints: Sequence[Constraint], placed: Mapping[int, bool], nodes: list[int]) -> bool:
    """Whether some placement agrees with all constraints and with the cells already placed."""
    nodes[0] -= 1
    if nodes[0] < 0:
        raise _GivenUp
    settled = _settle(constraints, dict(placed))
    if settled is None:
        return False
    open_cells = Counter(cell for known in constraints for cell in known.cells if cell not in settled)
    if not open_cells:
        return True
    cell = open_cells.most_common(1)[0][0]
    return any(_agrees(constraints, settled | {cell: value}, nodes) for value in (True, False))


def _settle(constraints: Sequence[Constraint], placed: dict[int, bool]) -> dict[int, bool] | None:
    """Place the cells that single constraints force; return None on a contradiction."""
    changed = True
    while changed:
        changed = False
        for known in constraints:
            left = [cell for cell in known.cells if cell not in placed]
            need = known.mines - sum(placed.get(cell, False) for cell in known.cells)
            if not 0 <= need <= len(left):
                return None
            if left and need in (0, len(left)):
                placed.update(dict.fromkeys(left, need > 0))
                changed = True
    return placed
