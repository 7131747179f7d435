"""The variants of Minesweeper and the codes of cells, shared by all implementations."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

from ...core.errors import UserError
from ...core.ranges import Bounds, Interval, check_fields

HIDDEN, FLAGGED = -1, -2  # codes in the player's view; revealed cells have 0..8
MINE = 9  # code in the solution; safe cells have their number of adjacent mines

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
    mine_density: Sequence[float] | None = None  # [low, high]: the mine count is drawn from this fraction of the cells
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
                return round(low * self.cells), round(high * self.cells)
            case other:
                raise UserError(f"mine_density={other}: expected [low, high] with 0 < low <= high < 1")
