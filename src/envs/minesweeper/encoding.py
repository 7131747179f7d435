"""What a network is shown: stacked planes of 0s and 1s, or the board itself as one int8 plane."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from gymnasium import spaces

from src.core.errors import LabError
from src.envs.minesweeper.rules import FLAGGED, kernel, neighbors

REVEALED, FLAGS, NUMBERS = 0, 1, 2  # plane indices; the numbers 0..8 have a plane each
BASE_PLANES = 11


class Layout(NamedTuple):
    """Where the optional planes are; -1 when absent."""

    frontier: int
    remaining_mines_ratio: int
    progress: int


@dataclass(frozen=True)
class Encoding:
    compact: bool = False  # one int8 plane (H, W): -1 hidden, -2 flagged, 0..8
    frontier: bool = False  # plane: unrevealed cells next to a revealed one
    remaining_mines_ratio: bool = False  # plane: unflagged mines, as a share of the hidden cells without a flag
    progress: bool = False  # plane: share of the safe cells that is revealed

    def __post_init__(self) -> None:
        extra = [name for name in Layout._fields if getattr(self, name)]
        if self.compact and extra:
            raise LabError(f"a compact observation is the bare board: it cannot carry the plane(s) {', '.join(extra)}")

    @property
    def layout(self) -> Layout:
        places, following = [], BASE_PLANES
        for name in Layout._fields:
            places.append(following if getattr(self, name) else -1)
            following += getattr(self, name)
        return Layout(*places)

    @property
    def planes(self) -> int:
        return 0 if self.compact else BASE_PLANES + self.frontier + self.remaining_mines_ratio + self.progress

    def space(self, rows: int, cols: int) -> spaces.Box:
        if self.compact:
            return spaces.Box(FLAGGED, 8, (rows, cols), np.int8)
        return spaces.Box(0.0, 1.0, (self.planes, rows, cols), np.float32)

    def encode(self, visible: np.ndarray, mines: int) -> np.ndarray:
        """The observation of a board (H, W) that holds `mines` mines."""
        if self.compact:
            return visible.copy()
        near, degree = neighbors(*visible.shape)
        planes, frontier = np.zeros((self.planes, visible.size), np.float32), np.zeros(visible.size, np.bool_)
        _encode(planes, frontier, visible.ravel(), near, degree, self.layout, mines)
        return planes.reshape(self.planes, *visible.shape)


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
    """Bring the frontier (HW,) up to date with a newly revealed cell."""
    frontier[cell] = False
    for k in range(degree[cell]):
        frontier[near[cell, k]] = visible[near[cell, k]] < 0


@kernel
def show_options(
    planes: np.ndarray, frontier: np.ndarray, layout: Layout, mines: int, flags: int, safe_left: int
) -> None:
    """Write the optional planes, which any step may change all over."""
    cells = frontier.size
    if layout.frontier >= 0:
        for cell in range(cells):
            planes[layout.frontier, cell] = frontier[cell]
    if layout.remaining_mines_ratio >= 0:
        unflagged = safe_left + mines - flags
        planes[layout.remaining_mines_ratio] = max(mines - flags, 0) / max(unflagged, 1)
    if layout.progress >= 0:
        planes[layout.progress] = 1 - safe_left / (cells - mines)
