"""The variants of Minesweeper and the codes of cells, shared by all implementations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from ...core.errors import UserError
from ...core.ranges import Bounds, Interval, check_fields

HIDDEN, FLAGGED = -1, -2  # codes in the player's view; revealed cells have 0..8
MINE = 9  # code in the solution; safe cells have their number of adjacent mines

Side = Annotated[int, Bounds(ge=1, le=1000)]  # cells along an edge
FirstClick = Literal["agent", "uniform"]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The rules of a game; impossible ones raise `UserError`."""

    rows: Side
    cols: Side
    mines: int
    safe_neighborhood: bool = True  # the first reveal keeps its neighbours free of mines too
    first_click: FirstClick = "agent"  # "uniform": the game plays the first reveal on a random cell
    mine_density: Sequence[float] | None = None  # [low, high]: the mine count is drawn from this fraction of the cells
    max_steps: Interval | None = None  # None: no limit
    flag_actions: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        self._check_mines()

    @property
    def cells(self) -> int:
        return self.rows * self.cols

    @property
    def num_actions(self) -> int:
        return self.cells * (2 if self.flag_actions else 1)

    @property
    def mine_range(self) -> tuple[int, int]:
        """Return the smallest and largest mine count of a game."""
        if self.mine_density is None:
            return self.mines, self.mines
        match list(self.mine_density) if isinstance(self.mine_density, Sequence) else self.mine_density:
            case [int() | float() as low, int() | float() as high] if 0 < low <= high < 1:
                return round(low * self.cells), round(high * self.cells)
            case other:
                raise UserError(f"mine_density={other}: expected [low, high] with 0 < low <= high < 1")

    def _check_mines(self) -> None:
        fewest, most = self.mine_range
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
