"""Where things lie in the picture of a board, in the units of its drawing.

Rank 1 is at the bottom, or at the top where the board is `turned` for player 2. Cells and grooves between them:

    +----+ +----+        A wall lies in a groove along two cells and is centred on the corner between four. So the
    | a2 | | b2 |        pointer means the wall whose corner is nearest to it: half a cell to either side of the corner
    +----+ +----+        and the groove there is where it listens, which at the edges of the board is a whole cell.
    ==== + ====    a1h
    +----+ +----+        Where both grooves meet, the square is shared along its diagonals.
    | a1 | | b1 |
    +----+ +----+
"""

from dataclasses import dataclass
from typing import NamedTuple

CELL, GROOVE = 52.0, 12.0
PITCH = CELL + GROOVE
FRAME = 34.0  # around the cells, for the names of files and ranks
RACK = 40.0  # above and below, for the walls in hand
EASY = 8.0  # by how much a groove listens beyond its edges, so that it can be hit with a finger


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class Plan:
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
        """The outline of where the pointer means this wall; see the drawing above."""
        x, y = self._corner(move)
        along = self._reach(x, self.field.x) if self.is_horizontal(move) else self._reach(y, self.field.y)
        across, meet = GROOVE / 2 + EASY, GROOVE / 2
        before, after = along
        outline = [
            (-before, -across), (-meet - EASY, -across), (0.0, 0.0), (meet + EASY, -across), (after, -across),
            (after, across), (meet + EASY, across), (0.0, 0.0), (-meet - EASY, across), (-before, across),
        ]  # fmt: skip
        return [(x + a, y + b) if self.is_horizontal(move) else (x + b, y + a) for a, b in outline]

    def area(self, move: int) -> Box:
        """The large square that means this wall while only walls of its direction are placed."""
        x, y = self._corner(move)
        (left, right), (up, down) = self._reach(x, self.field.x), self._reach(y, self.field.y)
        return Box(x - left, y - up, left + right, up + down)

    def _corner(self, move: int) -> tuple[float, float]:
        """The point between the four cells a wall divides."""
        side = self.size - 1
        row, col = divmod((move - self.size**2) % side**2, side)
        here, there = self.cell(row * self.size + col).center, self.cell((row + 1) * self.size + col + 1).center
        return (here[0] + there[0]) / 2, (here[1] + there[1]) / 2

    def _reach(self, at: float, start: float) -> tuple[float, float]:
        """How far a corner listens before and after it: half way to the next one, or to the edge."""
        before, after = at - start, start + self.field.width - at
        return (before if before < PITCH else PITCH / 2), (after if after < PITCH else PITCH / 2)
