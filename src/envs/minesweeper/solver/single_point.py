"""Solvers that use one number at a time: the two classic rules, and guesses by local mine probabilities."""

import numpy as np

from ..variant import FLAGGED, HIDDEN
from . import engine
from .engine import CONSISTENT, GUESSED, INCONSISTENT, MINE, PROVEN, SAFE, STUCK, UNKNOWN, Engine, Frontier, lean_kernel


def forced_moves(visible: np.ndarray, mines: int) -> list[tuple[str, int]]:
    """Return the moves that the two classic rules and the mine count prove; flags on the board are ignored."""
    flat, buffers = engine.flatten(visible), engine.make_engine(visible.shape, 1)
    if not deduce(flat, mines, buffers):
        raise engine.InconsistentPosition(f"no placement of {mines} mines agrees with the numbers on the board")
    reveals = [("reveal", int(cell)) for cell in np.flatnonzero((buffers.known == SAFE) & (flat < 0))]
    return reveals + [("flag", int(cell)) for cell in np.flatnonzero((buffers.known == MINE) & (flat == HIDDEN))]


@lean_kernel
def propagate_all(visible: np.ndarray, e: Engine) -> bool:
    """Decide cells in `e.known` by the two classic rules; return False if the numbers are contradictory."""
    known, f, count = e.known, e.frontier, 0
    for cell in range(visible.size):
        known[cell] = UNKNOWN
        f.queued[cell] = visible[cell] >= 0
        if visible[cell] >= 0:
            f.stack[count] = cell
            count += 1
    return propagate(visible, known, e, count)


@lean_kernel
def propagate_from(visible: np.ndarray, known: np.ndarray, e: Engine, cell: int) -> bool:
    """Update `known` after one more number was revealed at `cell`; return False on a contradiction."""
    e.frontier.stack[0] = cell
    e.frontier.queued[cell] = True
    return propagate(visible, known, e, push_neighbors(visible, e.near, e.frontier, cell, 1))


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
def propagate(visible: np.ndarray, known: np.ndarray, e: Engine, count: int) -> bool:
    """Process the stack: the undecided cells around a number are safe if it needs no more mines, or all mines."""
    near, f, sound = e.near, e.frontier, True
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
def deduce(visible: np.ndarray, mines: int, e: Engine) -> bool:
    """Decide cells in `e.known` from single numbers and the mine count; return False on a contradiction."""
    if not propagate_all(visible, e):
        return False
    known, undecided = e.known, 0
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
def apply_rules_to_flags(visible: np.ndarray, e: Engine) -> None:
    """Decide cells in `e.known` by the two classic rules as applied to the flags, which must be on mines.

    A number that equals its flags makes its other hidden cells safe, one that equals all its hidden cells makes them
    mines. Neither what other numbers decide nor the mine count is used.
    """
    for cell in range(visible.size):
        e.known[cell] = MINE if visible[cell] == FLAGGED else UNKNOWN
    for number in range(visible.size):
        hidden = flags = 0
        for n in e.near[number]:
            hidden += n >= 0 and visible[n] < 0
            flags += n >= 0 and visible[n] == FLAGGED
        if visible[number] == flags or visible[number] == hidden:
            for n in e.near[number]:
                if n >= 0 and visible[n] == HIDDEN:
                    e.known[n] = SAFE if visible[number] == flags else MINE


@lean_kernel
def list_safe(visible: np.ndarray, e: Engine) -> int:
    """Write the hidden cells that are known as safe to `e.moves`; return their number."""
    count = 0
    for cell in range(visible.size):
        if visible[cell] < 0 and e.known[cell] == SAFE:
            e.moves[count] = cell
            count += 1
    return count


@lean_kernel
def rules_moves(visible: np.ndarray, mines: int, e: Engine) -> tuple[int, int, int]:
    """Write the cells to reveal to `e.moves`: all forced ones, or none. Return status, their number, and the reason."""
    e.probability[:] = 0.0
    if not deduce(visible, mines, e):
        return INCONSISTENT, 0, STUCK
    count = list_safe(visible, e)
    return CONSISTENT, count, PROVEN if count > 0 else STUCK


@lean_kernel
def heuristic_moves(visible: np.ndarray, mines: int, e: Engine) -> tuple[int, int, int]:
    """Write all forced cells, or else the one with the smallest local mine probability; the first one wins ties."""
    status, count, why = rules_moves(visible, mines, e)
    if status != CONSISTENT or count > 0:
        return status, count, why
    e.moves[0] = safest(visible, mines, e)
    return (CONSISTENT, 1, GUESSED) if e.moves[0] >= 0 else (CONSISTENT, 0, STUCK)


@lean_kernel
def safest(visible: np.ndarray, mines: int, e: Engine) -> int:
    """Estimate mine probabilities; return the undecided cell with the smallest one, the first wins ties, or -1.

    An estimate is the largest fraction of mines required by any one adjacent number, or the density of the remaining
    mines where there is none. An estimate of 0 or 1 is not certain.
    """
    known, probability, undecided = e.known, e.probability, 0
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
