"""Compiled encoding of observations: complete, or updated cell by cell during a game."""

from typing import Any

import numpy as np

from .rules import kernel, neighbors
from .variant import FLAGGED, FLAGS, NUMBERS, REVEALED, Encoding, Layout


def encode(encoding: Encoding, visible: np.ndarray, mines: int) -> np.ndarray:
    """Return the observation of a board (H, W) with `mines` mines."""
    if encoding.compact:
        return visible.copy()
    near, degree = neighbors(*visible.shape)
    planes, frontier = np.zeros((encoding.planes, visible.size), np.float32), np.zeros(visible.size, np.bool_)
    _encode(planes, frontier, visible.ravel(), near, degree, encoding.layout, mines)
    return planes.reshape(encoding.planes, *visible.shape)


def frontier_or_hidden(visible: np.ndarray) -> np.ndarray:
    """Return the unrevealed cells next to a revealed one, (HW,) bool; all unrevealed cells if there are none."""
    near, degree = neighbors(*visible.shape)
    flat, frontier = visible.ravel(), np.zeros(visible.size, np.bool_)
    for cell in np.flatnonzero(flat >= 0):
        spread_frontier(frontier, flat, cell, near, degree)
    return frontier if frontier.any() else flat < 0


@kernel
def _encode(
    planes: np.ndarray,
    frontier: np.ndarray,
    visible: np.ndarray,
    near: np.ndarray,
    degree: np.ndarray,
    layout: Layout,
    mines: int,
) -> None:
    flags, safe_left = 0, visible.size - mines
    for cell in range(visible.size):
        if visible[cell] >= 0:
            safe_left -= 1
            show_cell(planes, visible, cell)
            spread_frontier(frontier, visible, cell, near, degree)
        elif visible[cell] == FLAGGED:
            flags += 1
            planes[FLAGS, cell] = 1
    show_options(planes, frontier, layout, mines, flags, safe_left)


@kernel
def show_cell(planes: np.ndarray, visible: np.ndarray, cell: int) -> None:
    """Write a newly revealed cell into the planes (C, HW)."""
    planes[REVEALED, cell] = 1
    planes[FLAGS, cell] = 0
    planes[NUMBERS + visible[cell], cell] = 1


@kernel
def spread_frontier(frontier: np.ndarray, visible: np.ndarray, cell: int, near: np.ndarray, degree: np.ndarray) -> None:
    """Update the frontier (HW,) for a newly revealed cell."""
    frontier[cell] = False
    for k in range(degree[cell]):
        frontier[near[cell, k]] = visible[near[cell, k]] < 0


@kernel
def show_options(planes: np.ndarray, frontier: np.ndarray, layout: Any, mines: int, flags: int, safe_left: int) -> None:
    """Write the optional planes, of which any step may change every cell; `layout` has the fields of a `Layout`."""
    cells = frontier.size
    if layout.frontier >= 0:
        for cell in range(cells):
            planes[layout.frontier, cell] = frontier[cell]
    if layout.remaining_mines_ratio >= 0:
        unflagged = safe_left + mines - flags
        planes[layout.remaining_mines_ratio] = max(mines - flags, 0) / max(unflagged, 1)
    if layout.progress >= 0:
        planes[layout.progress] = 1 - safe_left / (cells - mines)
