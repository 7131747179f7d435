"""The geometry of the board, in SVG units.

Rank 1 is at the bottom, or at the top where the board is `turned` for player 2. Cells and grooves between them:

    +----+ +----+        A wall lies in a groove along two cells and is centred on the corner between four. The click
    | a2 | | b2 |        area of a wall is the groove up to half a cell to either side of its corner, or up to the edge
    +----+ +----+        of the board.
    ==== + ====    a1h
    +----+ +----+        Where two grooves cross, the square is split along its diagonals.
    | a1 | | b1 |
    +----+ +----+
"""

from dataclasses import dataclass
from typing import NamedTuple

CELL, GROOVE = 52.0, 12.0
PITCH = CELL + GROOVE
FRAME = 34.0  # margin for file and rank names
RACK = 40.0  # margin for the walls in hand
TOUCH = 8.0  # extra click area of a groove, for touch screens


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class BoardGeometry:
    size: int
    turned: bool

    @property
    def field(self) -> Box:
        """All cells and the grooves between them."""
        side = self.size * PITCH - GROOVE
        return Box(FRAME, RACK + FRAME, side, side)

    @property
    def width(self) -> float:
        return self.field.width + 2 * FRAME

    @property
    def height(self) -> float:
        return self.width + 2 * RACK

    def cell(self, cell: int) -> Box:
        row, col = divmod(cell, self.size)
        col, row = (self.size - 1 - col, row) if self.turned else (col, self.size - 1 - row)
        return Box(self.field.x + col * PITCH, self.field.y + row * PITCH, CELL, CELL)

    def wall(self, move: int) -> Box:
        x, y = self._corner(move)
        length = CELL + GROOVE / 2
        if self.is_horizontal(move):
            return Box(x - length, y - GROOVE / 2, 2 * length, GROOVE)
        return Box(x - GROOVE / 2, y - length, GROOVE, 2 * length)

    def is_horizontal(self, move: int) -> bool:
        return move < self.size**2 + (self.size - 1) ** 2

    def groove(self, move: int) -> list[tuple[float, float]]:
        """Return the outline of the click area of a wall; see the drawing above."""
        x, y = self._corner(move)
        along = self._reach(x, self.field.x) if self.is_horizontal(move) else self._reach(y, self.field.y)
        across, meet = GROOVE / 2 + TOUCH, GROOVE / 2
        before, after = along
        outline = [
            (-before, -across), (-meet - TOUCH, -across), (0.0, 0.0), (meet + TOUCH, -across), (after, -across),
            (after, across), (meet + TOUCH, across), (0.0, 0.0), (-meet - TOUCH, across), (-before, across),
        ]  # fmt: skip
        return [(x + a, y + b) if self.is_horizontal(move) else (x + b, y + a) for a, b in outline]

    def area(self, move: int) -> Box:
        """Return the larger click area of a wall in the mode of its direction."""
        x, y = self._corner(move)
        (left, right), (up, down) = self._reach(x, self.field.x), self._reach(y, self.field.y)
        return Box(x - left, y - up, left + right, up + down)

    def _corner(self, move: int) -> tuple[float, float]:
        """Return the corner between the four cells of a wall."""
        side = self.size - 1
        row, col = divmod((move - self.size**2) % side**2, side)
        here, there = self.cell(row * self.size + col).center, self.cell((row + 1) * self.size + col + 1).center
        return (here[0] + there[0]) / 2, (here[1] + there[1]) / 2

    def _reach(self, at: float, start: float) -> tuple[float, float]:
        """Return the click range before and after a corner: half way to the next one, or to the edge."""
        before, after = at - start, start + self.field.width - at
        return (before if before < PITCH else PITCH / 2), (after if after < PITCH else PITCH / 2)
