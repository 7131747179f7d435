"""Observation formats: stacked binary planes, or the board itself as one int8 plane."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from gymnasium import spaces

from ...core.errors import UserError
from .variant import FLAGGED

REVEALED, FLAGS, NUMBERS = 0, 1, 2  # plane indices; the numbers 0..8 have a plane each
BASE_PLANES = 11


class Layout(NamedTuple):
    """Indices of the optional planes; -1 if absent."""

    frontier: int
    remaining_mines_ratio: int
    progress: int


@dataclass(frozen=True)
class Encoding:
    compact: bool = False  # one int8 plane (H, W): -1 hidden, -2 flagged, 0..8
    frontier: bool = False  # plane: unrevealed cells next to a revealed one
    remaining_mines_ratio: bool = False  # plane: unflagged mines / unflagged hidden cells
    progress: bool = False  # plane: fraction of the safe cells revealed

    def __post_init__(self) -> None:
        extra = [name for name in Layout._fields if getattr(self, name)]
        if self.compact and extra:
            raise UserError(
                f"a compact observation has no planes: set {', '.join(extra)} to false, or compact to false"
            )

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
