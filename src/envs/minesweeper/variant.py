"""The variants of Minesweeper, the codes of cells and the format of observations, shared by all implementations."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from gymnasium import spaces

from ...core.errors import UserError
from ...core.ranges import Bounds, Interval, check_fields

HIDDEN, FLAGGED = -1, -2  # codes in the player's view; revealed cells have 0..8
MINE = 9  # code in the solution; safe cells have their number of adjacent mines
PLANES = ("revealed", "flags", *(f"adjacent_counts_{number}" for number in range(9)))  # of every observation of planes
REVEALED, FLAGS, NUMBERS = 0, 1, 2  # their indices; NUMBERS is that of number 0
BASE_PLANES = len(PLANES)

Side = Annotated[int, Bounds(ge=1, le=1000)]  # cells along an edge
FirstClick = Literal["agent", "uniform"]


@dataclass(eq=False)
class Variant:
    """The rules of a game; impossible ones raise `UserError`."""

    rows: Side
    cols: Side
    mines: int
    _: KW_ONLY
    safe_neighborhood: bool = True  # the first reveal keeps its neighbors free of mines too
    first_click: FirstClick = "agent"  # "uniform": the game plays the first reveal on a random cell
    mine_density: Sequence[float] | None = None  # [low, high]: the mine count is drawn, this fraction of the cells
    max_steps: Interval | None = None  # None: no limit
    flag_actions: bool = True  # False: actions reveal only

    def __post_init__(self) -> None:
        check_fields(self)
        self.cells = self.rows * self.cols
        self.num_actions = self.cells * (2 if self.flag_actions else 1)
        self.mine_range = fewest, most = self._mine_range()  # the smallest and largest mine count of a game
        board = f"{self.rows}x{self.cols} board"
        if fewest < 1:
            raise UserError(f"{fewest} mines on a {board}: there must be at least one")
        kept_free = min(3, self.rows) * min(3, self.cols) if self.safe_neighborhood else 1
        if most > self.cells - kept_free:
            raise UserError(
                f"{most} mines do not fit on a {board}: the first reveal keeps {kept_free} of its {self.cells} cells "
                f"free, so at most {self.cells - kept_free} fit"
            )
        if self.first_click == "uniform" and self.cells - most == 1:
            raise UserError(
                f"{most} mines on a {board} leave one safe cell: with first_click='uniform' nothing is left to play"
            )

    def _mine_range(self) -> tuple[int, int]:
        if self.mine_density is None:
            return self.mines, self.mines
        match list(self.mine_density) if isinstance(self.mine_density, Sequence) else self.mine_density:
            case [int() | float() as low, int() | float() as high] if 0 < low <= high < 1:
                # Rounded first, as 0.14 * 50 is 7.000000000000001 and must be 7 mines, not 8.
                fewest, most = math.ceil(round(low * self.cells, 6)), math.floor(round(high * self.cells, 6))
                if fewest > most:
                    raise UserError(
                        f"mine_density={[low, high]} contains no whole number of mines on a {self.rows}x{self.cols} "
                        f"board: make the band at least 1/{self.cells} wide"
                    )
                return fewest, most
            case other:
                raise UserError(f"mine_density={other}: expected [low, high] with 0 < low <= high < 1")


class Layout(NamedTuple):
    """Indices of the optional observation planes; -1 if absent."""

    frontier: int
    remaining_mines_ratio: int
    progress: int


@dataclass(frozen=True)
class Encoding:
    """The format of observations: stacked planes, or the board itself."""

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
    def channels(self) -> tuple[str, ...]:
        """The names of the planes in their order; none if compact."""
        return () if self.compact else PLANES + tuple(name for name in Layout._fields if getattr(self, name))

    @property
    def planes(self) -> int:
        return len(self.channels)

    def space(self, rows: int, cols: int) -> spaces.Box:
        if self.compact:
            return spaces.Box(FLAGGED, 8, (rows, cols), np.int8)
        return spaces.Box(0.0, 1.0, (self.planes, rows, cols), np.float32)
