"""Solvers that use one number at a time: the two classic rules, and guesses by local mine probabilities."""

import numpy as np

from ..variant import HIDDEN
from .engine import (
    CONSISTENT,
    GUESSED,
    INCONSISTENT,
    MINE,
    PROVEN,
    SAFE,
    STUCK,
    UNKNOWN,
    Engine,
    Frontier,
    InconsistentPosition,
    flatten,
    lean_kernel,
    make_engine,
)


def forced_moves(visible: np.ndarray, mines: int) -> list[tuple[str, int]]:
    """Return the moves that the two classic rules and the mine count prove; flags on the board are ignored."""
    flat, known = flatten(visible), np.zeros(visible.size, np.int8)
    if not deduce(flat, known, mines, make_engine(visible.shape, 1)):
        raise InconsistentPosition(f"no placement of {mines} mines agrees with the numbers on the board")
    reveals = [("reveal", int(cell)) for cell in np.flatnonzero((known == SAFE) & (flat < 0))]
    return reveals + [("flag", int(cell)) for cell in np.flatnonzero((known == MINE) & (flat == HIDDEN))]


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
    return propagate(visible, near, known, f, push_neighbors(visible, near, f, cell, 1))


@lean_kernel
def push_neighbors(visible: np.ndarray, near: np.ndarray, f: Frontier, cell: int, count: int) -> int:
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
                count = push_neighbors(visible, near, f, n, count)
    return sound


@lean_kernel
def deduce(visible: np.ndarray, known: np.ndarray, mines: int, e: Engine) -> bool:
    """Decide cells in `known` from single numbers and the mine count; return False on a contradiction."""
    if not propagate_all(visible, e.near, known, e.frontier):
        return False
    undecided = 0
    for cell in range(visible.size):
        if visible[cell] < 0:
            mines -= known[cell] == MINE
            undecided += known[cell] == UNKNOWN
    if not 0 <= mines <= undecided:
        return False
    if 0 < mines < undecided:
        return True
    for cell in range(visible.size):
        if visible[cell] < 0 and known[cell] == UNKNOWN:
            known[cell] = SAFE if mines == 0 else MINE
    return True


@lean_kernel
def list_safe(visible: np.ndarray, known: np.ndarray, moves: np.ndarray) -> int:
    count = 0
    for cell in range(visible.size):
        if visible[cell] < 0 and known[cell] == SAFE:
            moves[count] = cell
            count += 1
    return count


@lean_kernel
def rules_moves(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int]:
    """Write the cells to reveal to `moves`: all forced ones, or none. Return status, their number, and the reason."""
    probability[:] = 0.0
    if not deduce(visible, known, mines, e):
        return INCONSISTENT, 0, STUCK
    count = list_safe(visible, known, moves)
    return CONSISTENT, count, PROVEN if count > 0 else STUCK


@lean_kernel
def heuristic_moves(
    visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray, moves: np.ndarray
) -> tuple[int, int, int]:
    """Write all forced cells, or else the one with the smallest local mine probability; the first one wins ties."""
    status, count, why = rules_moves(visible, known, mines, e, probability, moves)
    if status != CONSISTENT or count > 0:
        return status, count, why
    moves[0] = safest(visible, known, mines, e, probability)
    return (CONSISTENT, 1, GUESSED) if moves[0] >= 0 else (CONSISTENT, 0, STUCK)


@lean_kernel
def safest(visible: np.ndarray, known: np.ndarray, mines: int, e: Engine, probability: np.ndarray) -> int:
    """Estimate mine probabilities; return the undecided cell with the smallest one, the first wins ties, or -1.

    An estimate is the largest fraction of mines required by any one adjacent number, or the density of the remaining
    mines where there is none. An estimate of 0 or 1 is not certain.
    """
    undecided = 0
    for cell in range(visible.size):
        probability[cell] = -1.0
        if visible[cell] < 0:
            mines -= known[cell] == MINE
            undecided += known[cell] == UNKNOWN
    for number in range(visible.size):
        if visible[number] < 0:
            continue
        need, room = visible[number], 0
        for n in e.near[number]:
            if n >= 0 and visible[n] < 0:
                need -= known[n] == MINE
                room += known[n] == UNKNOWN
        for n in e.near[number]:
            if n >= 0 and visible[n] < 0 and known[n] == UNKNOWN:
                probability[n] = max(probability[n], need / room)
    for cell in range(visible.size):
        if visible[cell] >= 0 or known[cell] == SAFE:
            probability[cell] = 0.0
        elif known[cell] == MINE:
            probability[cell] = 1.0
        elif probability[cell] < 0.0:
            probability[cell] = mines / undecided
    best, choice = 1.0, -1
    for cell in range(visible.size):
        if visible[cell] < 0 and known[cell] == UNKNOWN and probability[cell] < best:
            best, choice = probability[cell], cell
    return choice
