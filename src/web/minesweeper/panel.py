"""The panel beside the board: board sizes, odds and agents."""

from collections.abc import Mapping
from typing import Protocol

from nicegui import events, ui

from .. import shell
from ..players import Player
from .advice import odds_sources
from .match import BOARDS, read_size
from .statistics import Statistics
from .tools import whole

CUSTOM = "custom"
SPEEDS = 1, 20
GUESSING = {"luck": "at random", "none": "winnable without a guess"}
KEYS = "Keys: arrows move, Enter reveals, F flags, H hint, S step, P play, N new game. Long press or right click flags."


class Handlers(Protocol):
    """The actions and choices of the page."""

    setup: dict[str, str]
    players: Mapping[str, Player]

    @property
    def titles(self) -> dict[str, str]: ...
    def dropdown(self, name: str, options: Mapping[str, str], label: str) -> ui.select: ...
    async def choose(self, name: str, value: object) -> None: ...
    async def new_game(self) -> None: ...
    async def hint(self) -> None: ...
    async def step(self) -> None: ...
    async def play_on(self) -> None: ...
    async def edit_position(self) -> None: ...


class Panel:
    def __init__(self, do: Handlers) -> None:
        self.do = do
        self.speed = 4.0  # moves per second
        with ui.element("div").classes("panel"):
            self._boards()
            self._agents()
            with ui.row().classes("items-start no-wrap w-full"):
                self.advice = ui.label().classes("advice grow")
                self.busy = shell.Busy()
            self.statistics = Statistics()
            set_up = ui.button("Set up a position", icon="edit", on_click=shell.handler(self.do.edit_position))
            set_up.props("flat dense").classes("set-up")
            ui.label(KEYS).classes("faint")

    def _set_speed(self, event: events.ValueChangeEventArguments) -> None:
        with shell.show_errors():
            self.speed = shell.between(event.value, *SPEEDS)

    def show(self, text: str, playing: bool) -> None:
        self.advice.text = text
        self._play.text, self._play.icon = ("Pause", "pause") if playing else ("Play on", "play_arrow")

    def show_thinking(self, thinking: bool) -> None:
        if not self._hint.is_deleted:
            self._hint.text, self._hint.icon = ("Cancel", "close") if thinking else ("Hint", "lightbulb")

    def _boards(self) -> None:
        self._board = shell.dropdown(self._board_options(), self.do.setup["board"], "Board", self._board_chosen)
        self._board.classes("choose-board")
        self.do.dropdown("guess", GUESSING, "Mines are placed")
        ui.button("New game", icon="replay", on_click=shell.handler(self.do.new_game)).classes("new-game w-full")

    def _agents(self) -> None:
        self.do.dropdown("odds", odds_sources(self.do.players), "Odds of a mine")
        self.do.dropdown("agent", self.do.titles, "Agent")
        with ui.row().classes("w-full gap-2 no-wrap"):
            self._hint = ui.button("Hint", icon="lightbulb", on_click=shell.handler(self.do.hint))
            self._hint.props("outline").classes("ask grow")
            step = ui.button("Step", icon="skip_next", on_click=shell.handler(self.do.step))
            step.props("outline").classes("step grow")
            self._play = ui.button("Play on", icon="play_arrow", on_click=shell.handler(self.do.play_on))
            self._play.classes("play grow")
        with ui.row().classes("w-full items-center no-wrap"):
            ui.label("Speed").classes("faint")
            slider = ui.slider(min=SPEEDS[0], max=SPEEDS[1], value=self.speed, on_change=self._set_speed)
            slider.props('label aria-label="moves per second"').classes("speed")

    def _board_options(self) -> dict[str, str]:
        current = self.do.setup["board"]
        rows, cols, mines = read_size(current)
        return {current: f"{rows} by {cols}, {mines} mines"} | BOARDS | {CUSTOM: "Another size …"}

    async def _board_chosen(self, event: events.ValueChangeEventArguments) -> None:
        size = await self._ask_size() if event.value == CUSTOM else str(event.value)
        if size is not None and size != self.do.setup["board"]:
            await self.do.choose("board", size)
        if event.value == CUSTOM:
            self._board.set_options(self._board_options(), value=self.do.setup["board"])

    async def _ask_size(self) -> str | None:
        """Ask for a board size; return None if the dialog is cancelled."""
        with ui.dialog() as dialog, ui.card().classes("custom"):
            now = zip(("Rows", "Columns", "Mines"), read_size(self.do.setup["board"]), strict=True)
            fields = [ui.number(name, value=number, min=1, precision=0) for name, number in now]

            def accept() -> None:
                with shell.show_errors():
                    size = "x".join(str(whole(field.value)) for field in fields)
                    read_size(size)
                    dialog.submit(size)

            with ui.row():
                ui.button("Play", on_click=accept).classes("accept")
                ui.button("Cancel", on_click=lambda: dialog.submit(None)).props("flat")
        return await dialog
