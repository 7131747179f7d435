"""A position set up by hand for analysis, without a game, and the tools for it below the board."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np
from nicegui import ui

from ...core.errors import UserError, require
from ...envs.minesweeper.game import View
from ...envs.minesweeper.notation import SIGNS, read_board, write_board
from ...envs.minesweeper.solver import analyze
from .. import shell
from .match import MAX_COLS, MAX_ROWS

BRUSHES = {sign: value for value, sign in SIGNS.items()}
NAMES = BRUSHES | {".": "hidden", "F": "flag"}


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
    count = analyze(view.visible, view.mines).log_completions
    if count > math.log(1e6):
        return f"Possible: about 10^{count / math.log(10):.0f} placements of the mines agree with it."
    placements = round(math.exp(count))
    many = "one placement of the mines agrees" if placements == 1 else f"{placements:,} placements of the mines agree"
    return f"Possible: {many} with it."


class Editor:
    def __init__(self, analyze: Callable[[str, int], Awaitable[None]], back: Callable[[], Awaitable[None]]) -> None:
        """`analyze` takes the rows and mines of a position; `back` returns to the game."""
        self._analyze = analyze
        with ui.column().classes("w-full gap-2 tools") as self._box:
            words = "Choose what to paint and click on cells, or write the rows: . hidden, F flag, 0 to 8."
            ui.label(words).classes("faint")
            self._brush = ui.toggle({sign: str(NAMES[sign]) for sign in BRUSHES}, value=".")
            self._brush.props('unelevated no-caps padding="4px 11px"').classes("brushes")
            self._text = ui.textarea("Position").props("outlined dense autogrow").classes("w-full position")
            with ui.row().classes("w-full gap-2 items-center"):
                self._mines = ui.number("Mines on the whole board", min=0, precision=0, value=10)
                self._mines.props("outlined dense").classes("grow custom-mines")
                ui.button("Analyze", icon="functions", on_click=self._submit).classes("analyze")
                ui.button("Back to the game", on_click=shell.handler(back)).props("outline").classes("back")
        self.edit(None)

    @property
    def brush(self) -> int:
        """The cell value that a click sets."""
        return BRUSHES[shell.checked(self._brush.value, BRUSHES)]

    def edit(self, position: CustomPosition | None) -> None:
        """Show the tools for a position, or hide them for None."""
        self._box.set_visibility(position is not None)
        if position is not None:
            self._text.value, self._mines.value = position.text, position.mines

    async def _submit(self) -> None:
        with shell.show_errors():
            await self._analyze(str(self._text.value or ""), whole(self._mines.value))


def whole(value: object) -> int:
    """Return a number sent by the browser as an int; raise `UserError` if it is not whole."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value == int(value):
        return int(value)
    raise UserError(f"{str(value)[:80]!r} is not a whole number")
