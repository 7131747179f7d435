"""Uniform samples of the completions of a position."""

import numpy as np

from src.envs.minesweeper.solver.counting import CHOOSE
from src.envs.minesweeper.solver.engine import CONSISTENT, MINE, UNKNOWN, Engine, kernel
from src.envs.minesweeper.solver.probability import count_ways


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
