"""Unavoidable guesses.

Two hidden cells with the same adjacent numbers can be distinguished only by a number adjacent to one but not the other.
If all such cells are mines, the pair is a coin toss when it holds exactly one mine:

    * * |
    2 a |      Both 2s see both a and b. Only the two cells above see a without b, and they are mines.
    2 b |
    ----+
"""

import numpy as np

from .constraints import count_boxes, lean_kernel
from .probability import Engine

NEGLIGIBLE = 0.01


@lean_kernel
def coin_tosses(visible: np.ndarray, e: Engine, probability: np.ndarray, risk: np.ndarray) -> float:
    """Write the probability of losing by a coin toss in each box to `risk` (boxes,); return the probability to survive
    all.

    An estimate: cells are treated as independent, and only the worst pair of a box counts.
    """
    f = e.frontier
    boxes = count_boxes(f)
    risk[:boxes] = 0.0
    for cell in range(visible.size):
        box = f.box_of[cell]
        if box < 0 or f.box_size[box] < 2 or not 0.0 < probability[cell] < 1.0:
            continue
        for other in e.near[f.box_witness[box, 0]]:
            if other > cell and f.box_of[other] == box:
                toss = e.differ[box] / 2.0
                toss *= all_mines(visible, e.near, probability, cell, other)
                toss *= all_mines(visible, e.near, probability, other, cell)
                risk[box] = max(risk[box], toss)
    survival = 1.0
    for box in range(boxes):
        survival *= 1.0 - risk[box]
    return survival


@lean_kernel
def all_mines(visible: np.ndarray, near: np.ndarray, probability: np.ndarray, cell: int, other: int) -> float:
    """Return the probability that all hidden neighbours of `cell` that are not neighbours of `other` are mines."""
    chance = 1.0
    for n in near[cell]:
        if n < 0 or chance < NEGLIGIBLE:
            break
        if visible[n] < 0 and n != other and not touches(near, other, n):
            chance *= probability[n]
    return chance if chance >= NEGLIGIBLE else 0.0


@lean_kernel
def touches(near: np.ndarray, cell: int, other: int) -> bool:
    for n in near[cell]:  # noqa: SIM110 (numba compiles no generator expressions)
        if n == other:
            return True
    return False
