"""Why a cell is certain: a few numbers that prove it by themselves.

To prove that a cell is safe, suppose it is a mine and look for a placement around it that agrees with the numbers
nearby. Where there is none they are proof, and those that can be left out without losing it are left out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from src.envs.minesweeper.rules import neighbors

PATIENCE = 20_000  # placements begun before a proof is given up


class Proof(NamedTuple):
    numbers: tuple[int, ...]  # cells whose numbers prove it, ascending; none of them can do without the others
    counted: bool = False  # no numbers do by themselves: it takes the number of mines on the whole board as well


class Constraint(NamedTuple):
    number: int  # the cell it stands on
    cells: tuple[int, ...]  # the hidden ones around it
    mines: int  # among those


class _GivenUp(Exception):  # noqa: N818 (it never leaves this module)
    pass


def prove(visible: np.ndarray, cell: int, mine: bool) -> Proof | None:
    """Why `cell` of a consistent position holds a mine, or holds none, where that is certain; None if given up."""
    opposite = {cell: not mine}
    try:
        core = _refuting(_constraints(visible), opposite)
        for leave_out in sorted(core, key=lambda known: (cell in known.cells, known.number)):
            fewer = [known for known in core if known is not leave_out]
            if not _agrees(fewer, opposite, [PATIENCE]):
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
    """The constraints nearest to a supposition that no placement can satisfy; none where all of them can be."""
    reached = set(opposite)
    near: list[Constraint] = []
    while True:
        wider = [known for known in constraints if not reached.isdisjoint(known.cells)]
        if len(wider) == len(near):
            return []
        near = wider
        if not _agrees(near, opposite, [PATIENCE]):
            return near
        reached.update(*(known.cells for known in near))


def _agrees(constraints: Sequence[Constraint], placed: Mapping[int, bool], patience: list[int]) -> bool:
    """Whether some placement agrees with all constraints and with what is placed already."""
    patience[0] -= 1
    if patience[0] < 0:
        raise _GivenUp
    settled = _settle(constraints, dict(placed))
    if settled is None:
        return False
    open_cells = Counter(cell for known in constraints for cell in known.cells if cell not in settled)
    if not open_cells:
        return True
    cell = open_cells.most_common(1)[0][0]
    return any(_agrees(constraints, settled | {cell: value}, patience) for value in (True, False))


def _settle(constraints: Sequence[Constraint], placed: dict[int, bool]) -> dict[int, bool] | None:
    """What single constraints leave no choice in, placed as well; None where one cannot be satisfied any more."""
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
