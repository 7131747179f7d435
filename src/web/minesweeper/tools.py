"""The tools below the board for setting up a position by hand."""

import math
from collections.abc import Awaitable, Callable

from nicegui import ui

from ...core.errors import UserError
from .. import shell
from .custom_position import BRUSHES, CustomPosition

NAMES = BRUSHES | {".": "hidden", "F": "flag"}


class Tools:
    def __init__(self, analyse: Callable[[str, int], Awaitable[None]], back: Callable[[], Awaitable[None]]) -> None:
        """`analyse` takes the rows and mines of a position; `back` returns to the game."""
        self._analyse = analyse
        with ui.column().classes("w-full gap-2 tools") as self._box:
            ui.label("Choose what to paint and click on cells, or write the rows: . hidden, F flag, 0 to 8.").classes(
                "faint"
            )
            self._brush = ui.toggle({sign: str(NAMES[sign]) for sign in BRUSHES}, value=".")
            self._brush.props('unelevated no-caps padding="4px 11px"').classes("brushes")
            self._text = ui.textarea("Position").props("outlined dense autogrow").classes("w-full position")
            with ui.row().classes("w-full gap-2 items-center"):
                self._mines = ui.number("Mines on the whole board", min=0, precision=0, value=10).props(
                    "outlined dense"
                )
                self._mines.classes("grow custom-mines")
                ui.button("Analyse", icon="functions", on_click=self._submit).classes("analyse")
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
            await self._analyse(str(self._text.value or ""), whole(self._mines.value))


def whole(value: object) -> int:
    """Return a number sent by the browser as an int; raise `UserError` if it is not whole."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value == int(value):
        return int(value)
    raise UserError(f"{str(value)[:80]!r} is not a whole number")
