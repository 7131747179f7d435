"""A position set up by hand for analysis, without a game."""

from dataclasses import dataclass
from math import exp, log

import numpy as np

from ...core.errors import require
from ...envs.minesweeper.game import View
from ...envs.minesweeper.notation import SIGNS, read_board, write_board
from ...envs.minesweeper.solver import analyse
from .match import MAX_COLS, MAX_ROWS

BRUSHES = {sign: value for value, sign in SIGNS.items()}


@dataclass(frozen=True)
class CustomPosition:
    """A board and its mine count; need not be reachable in a game."""

    visible: np.ndarray  # (rows, cols) int8
    mines: int

    def __post_init__(self) -> None:
        rows, cols = self.visible.shape
        require(
            rows <= MAX_ROWS and cols <= MAX_COLS and self.visible.size > 1,
            f"a position of {rows}x{cols} is not supported: it must have at least two cells, at most {MAX_ROWS} rows "
            f"and at most {MAX_COLS} columns",
        )
        require(0 <= self.mines <= self.visible.size, f"{self.mines} mines do not fit on {self.visible.size} cells")

    @staticmethod
    def read(text: str, mines: int) -> "CustomPosition":
        return CustomPosition(read_board(text), mines)

    @property
    def text(self) -> str:
        return write_board(self.visible)

    @property
    def view(self) -> View:
        return View(self.visible, self.mines)

    def with_cell(self, cell: int, value: int) -> "CustomPosition":
        visible = self.visible.copy()
        visible.ravel()[cell] = value
        return CustomPosition(visible, self.mines)


def describe_consistency(view: View) -> str:
    """Describe how many mine placements are consistent with a position; raise `UserError` if none is."""
    count = analyse(view.visible, view.mines).log_completions
    if count > log(1e6):
        return f"Possible: about 10^{count / log(10):.0f} placements of the mines agree with it."
    placements = round(exp(count))
    many = "one placement of the mines agrees" if placements == 1 else f"{placements:,} placements of the mines agree"
    return f"Possible: {many} with it."
