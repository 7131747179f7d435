"""The panel beside the board (board sizes, odds, agents, statistics) and the editor of positions below it."""

import json
import math
from collections.abc import Awaitable, Callable

import numpy as np
from nicegui import events, ui

from ...core.errors import UserError, require
from ...envs.minesweeper.game import View
from ...envs.minesweeper.notation import SIGNS, read_board, write_board
from ...envs.minesweeper.solver import analyze
from .. import shell
from ..game_page import GamePage
from ..match_panel import HintButton, Work
from .advice import odds_sources
from .board import LEGEND
from .match import BOARDS, MAX_COLS, MAX_ROWS, MinesweeperMatch, read_size, today

BRUSHES = {sign: value for value, sign in SIGNS.items()}
NAMES = BRUSHES | {".": "hidden", "F": "flag"}
CUSTOM = "custom"
SPEEDS = 1, 20
GUESSING = {"luck": "at random", "none": "winnable without a guess"}
KEYS = {
    **{"arrows": "move", "Enter": "reveal", "F, right click": "flag", "H": "hint", "S": "step", "P": "play on"},
    **{"N": "new board", "[ ]": "look back and forward"},
}

_TABLE = "<dl>" + "".join(
    f"<div><dt>{label}</dt><dd data-name={name}>-</dd></div>"
    for name, label in (
        *(("games", "games"), ("wins", "wins"), ("streak", "wins in a row"), ("best", "best time")),
        ("rate", "best 3BV/s"),
    )
) + "</dl>"  # fmt: skip
MEANING = "Games on such boards without hints or odds, kept in this browser. 3BV: the clicks that a board needs."


class Panel:
    def __init__(self, page: GamePage[MinesweeperMatch], hint: Work, step: Work, play_on: Work, set_up: Work) -> None:
        self._page = page
        self.speed = 4.0  # moves per second
        with page.actions, ui.row().classes("w-full gap-2 no-wrap"):
            self.hint = HintButton(hint).props("outline").classes("ask grow")
            ui.button("Step", icon="skip_next", on_click=step).props("outline").classes("step grow")
            self._play = ui.button("Play on", icon="play_arrow", on_click=play_on).props("outline").classes("play grow")
        with page.details:
            self._advice = ui.label().classes("advice")
            self._board = shell.dropdown(self._board_options(), page.setup["board"], "Board", self._board_chosen)
            self._board.classes("choose-board")
            page.dropdown("guess", GUESSING, "Mines are placed")
            page.dropdown("odds", odds_sources(page.players), "Odds of a mine")
            self.legend = ui.html(LEGEND, sanitize=False).classes("ms-legend")
            page.dropdown("agent", page.titles, "Agent")
            with ui.row().classes("w-full items-center no-wrap"):
                ui.label("Speed").classes("faint")
                slider = ui.slider(min=SPEEDS[0], max=SPEEDS[1], value=self.speed, on_change=self._set_speed)
                slider.props('label aria-label="moves per second"').classes("speed")
            ui.run_javascript(shell.asset(__package__, "statistics.js"))
            with ui.element("section").classes("ms-statistics w-full").props('aria-label="statistics"'):
                ui.html(f"{_TABLE}<ol></ol>", sanitize=False)
                with ui.row().classes("w-full items-center no-wrap"):
                    ui.label(MEANING).classes("faint grow")
                    reset = ui.button("Reset").props("flat no-caps").classes("reset-statistics")
                    reset.on("click", js_handler="() => minesweeperStatistics.reset()")
            edit = ui.button("Set up a position", icon="edit", on_click=set_up)
            edit.props("flat dense").classes("set-up")
            shell.add_keys(KEYS)

    def _set_speed(self, event: events.ValueChangeEventArguments) -> None:
        self.speed = shell.between(event.value, *SPEEDS)

    def show(self, text: str, playing: bool) -> None:
        self._advice.text = text
        self._play.text, self._play.icon = ("Pause", "pause") if playing else ("Play on", "play_arrow")

    def _board_options(self) -> dict[str, str]:
        current, daily = self._page.setup["board"], today()
        (rows, cols, mines), day = read_size(current), current.partition("@")[2]
        named = {current: f"{rows} by {cols}, {mines} mines{day and f', of {day}'}"}
        return named | {daily: "Today's board, without a guess"} | BOARDS | {CUSTOM: "Another size …"}

    async def _board_chosen(self, event: events.ValueChangeEventArguments) -> None:
        size = await self._ask_size() if event.value == CUSTOM else str(event.value)
        try:
            if size is not None and size != self._page.setup["board"]:
                await self._page.choose("board", size)
        finally:
            if event.value == CUSTOM:  # also after a refused size, so that it can be chosen again
                self._board.set_options(self._board_options(), value=self._page.setup["board"])

    async def _ask_size(self) -> str | None:
        """Ask for a board size; return None if the dialog is cancelled."""
        with ui.dialog() as dialog, ui.card().classes("custom"):
            now = zip(("Rows", "Columns", "Mines"), read_size(self._page.setup["board"]), strict=True)
            fields = [ui.number(name, value=number, min=1, precision=0) for name, number in now]

            def accept() -> None:
                size = "x".join(str(whole(field.value)) for field in fields)
                read_size(size)
                dialog.submit(size)

            with ui.row():
                ui.button("Play", on_click=accept).classes("accept")
                ui.button("Cancel", on_click=lambda: dialog.submit(None)).props("flat")
        return await dialog


def show_statistics(board: str, no_guess: bool) -> None:
    """Show the statistics of a board size; boards without a guess are counted separately."""
    key = json.dumps(f"minesweeper {board}{' without a guess' if no_guess else ''}")
    ui.run_javascript(f"minesweeperStatistics.key = {key}; minesweeperStatistics.show()")


def count_game(won: bool, seconds: float, bv: int) -> None:
    """Count a game of the board whose statistics are shown."""
    ui.run_javascript(f"minesweeperStatistics.add({int(won)}, {seconds:.3f}, {bv})")


def custom_position(visible: np.ndarray, mines: int) -> View:
    """Return a position set up by hand, which need not be reachable in a game."""
    rows, cols = visible.shape
    require(
        rows <= MAX_ROWS and cols <= MAX_COLS and visible.size > 1,
        f"a position of {rows}x{cols} is not supported: it must have at least two cells, at most {MAX_ROWS} rows "
        f"and at most {MAX_COLS} columns",
    )
    require(0 <= mines <= visible.size, f"{mines} mines do not fit on {visible.size} cells")
    return View(visible, mines)


def describe_consistency(view: View) -> str:
    """Describe how many mine placements are consistent with a position; raise `UserError` if none is."""
    count = analyze(view.visible, view.mines).log_completions
    if count > math.log(1e6):
        return f"Possible: about 10^{count / math.log(10):.0f} placements of the mines agree with it."
    placements = round(math.exp(count))
    many = "one placement of the mines agrees" if placements == 1 else f"{placements:,} placements of the mines agree"
    return f"Possible: {many} with it."


class Editor:
    def __init__(self, show: Callable[[View | None], Awaitable[None]]) -> None:
        """`show` takes the position that is written here, or None to return to the game."""
        self._show = show
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
                ui.button("Back to the game", on_click=lambda: show(None)).props("outline").classes("back")
        self.edit(None)

    @property
    def brush(self) -> int:
        """The cell value that a click sets."""
        return BRUSHES[shell.checked(self._brush.value, BRUSHES)]

    def edit(self, position: View | None) -> None:
        """Show the tools for a position, or hide them for None."""
        self._box.set_visibility(position is not None)
        if position is not None:
            self._text.value, self._mines.value = write_board(position.visible), position.mines

    async def _submit(self) -> None:
        await self._show(custom_position(read_board(str(self._text.value or "")), whole(self._mines.value)))


def whole(value: object) -> int:
    """Return a number sent by the browser as an int; raise `UserError` if it is not whole."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value == int(value):
        return int(value)
    raise UserError(f"{str(value)[:80]!r} is not a whole number")
