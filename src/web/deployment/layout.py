"""The layout of the page, without game logic."""

from typing import Any, Protocol

from nicegui import ui

from ...envs.deployment.rules.state import Unit
from ..drawing import Drawing, Pick
from ..ending import Ending
from ..shell import Busy, MessageLine
from . import board, view
from .advice import Adviser
from .advice_panel import AdvicePanel
from .match import DeploymentMatch
from .panels import NewGame, Roster, keys_help

SPEEDS = {1.2: "slow", 0.5: "normal", 0.15: "fast", 0.03: "blitz"}  # seconds per step

# The unit under the mouse, or an empty text.
_HOVER = """(e) => {
  if (e.pointerType !== 'mouse') return;
  const box = e.currentTarget, at = e.target.closest('[data-id]')?.dataset.id, columns = +box.dataset.columns;
  const cell = at ? +at.split('-')[1] : -1;
  const unit = box.querySelector(`.token[data-at="${cell % columns} ${Math.floor(cell / columns)}"]`)?.dataset.unit;
  if ((unit ?? '') !== (box.looked ?? '')) { box.looked = unit; emit(unit ?? ''); }
}"""


class Handlers(Protocol):
    """User actions."""

    def pick(self, pick: Pick) -> None: ...
    def inspect(self, unit: object) -> None: ...
    def draw(self) -> None: ...
    def choose_unit(self, unit: str) -> None: ...
    def take_back_unit(self, unit: str) -> None: ...
    def wait(self) -> None: ...
    def confirm(self) -> None: ...
    def pass_(self) -> None: ...
    def undo(self) -> None: ...
    def place_rest(self) -> None: ...
    def toggle(self) -> None: ...
    async def step(self) -> None: ...
    def show_moment(self, moment: object) -> None: ...
    async def review(self) -> None: ...
    async def look_by(self, plies: int) -> None: ...
    def set_pace(self, seconds: object) -> None: ...


class Layout:
    def __init__(self, match: DeploymentMatch, do: Handlers, new_game: NewGame, adviser: Adviser) -> None:
        units = list(match.state.units.values())
        self.advice = AdvicePanel(match.game, adviser, do.draw)
        with ui.element("div").classes("dp w-full").props(f'data-seed="{match.seed}"'):
            with ui.element("div").classes("dp-left"):
                self.status = ui.html(sanitize=False).props('data-part="status"').classes("w-full")
                self.headline = ui.label().classes("dp-headline").props('data-part="headline" aria-live=polite')
                with ui.element("div").classes("dp-bar"):
                    MessageLine()
                    self.advice.add_switch()
                    view.add_zoom()
                self._board(match, do)
            with ui.element("div").classes("dp-right"):
                with ui.element("div").classes("dp-card flex flex-col gap-2"):
                    self.ending = Ending(new_game.again, do.review)
                    self.busy = Busy()
                    self.last = ui.html(sanitize=False).classes("dp-last").props('data-part="last"')
                    self._controls(do, new_game)
                self.advice.add_panel()
                with ui.element("div").classes("dp-card"):
                    self.card = ui.html(sanitize=False).props('data-part="card"')
                    self.odds = ui.html(sanitize=False).props('data-part="odds"')
                self.rosters = [self._roster(player, units, do) for player in (1, 2)]
                self.tables = [self._table(player) for player in (1, 2)]
                self._log(do)

    def _board(self, match: DeploymentMatch, do: Handlers) -> None:
        self.board = ui.element("div").classes("board dp-board").props('tabindex=0 data-part="board"')
        self.board.props(f"data-columns={match.game.scenario.board.cols}")
        self.board.on("pointerover", lambda event: do.inspect(event.args), js_handler=_HOVER)
        with self.board, ui.element("div").classes("dp-layers"):
            Drawing(board.ground(match.game.scenario), do.pick)
            self.pieces = ui.html(sanitize=False).classes("dp-over")

    def _controls(self, do: Handlers, new_game: NewGame) -> None:
        help_ = keys_help()
        with ui.element("div").classes("dp-buttons"):
            self.confirm = _button("Confirm", "check", do.confirm, "confirm")
            self.wait = _button("Wait", "hourglass_empty", do.wait, "wait")
            self.undo = _button("Undo", "undo", do.undo, "undo")
            self.rest = _button("Place the rest", "auto_awesome", do.place_rest, "rest")
            self.passing = _button("Pass", "block", do.pass_, "pass")
        with ui.element("div").classes("dp-buttons"):
            self.play = _button("", "play_arrow", do.toggle, "play").props('aria-label="play or pause"')
            _button("Step", "skip_next", do.step, "step")
            self.pace = ui.toggle(SPEEDS, value=0.5, on_change=lambda event: do.set_pace(event.value))
            self.pace.props("dense no-caps unelevated toggle-color=primary size=sm")
        with ui.element("div").classes("dp-buttons replay"):
            back = _button("", "chevron_left", lambda: do.look_by(-1), "back")
            back.props('aria-label="a step back"')
            self.slider = ui.slider(min=0, max=0, value=0, on_change=lambda event: do.show_moment(event.value))
            self.slider.props('data-part="replay" aria-label="moment of the game"')
            forth = _button("", "chevron_right", lambda: do.look_by(1), "forth")
            forth.props('aria-label="a step forward"')
            self.moment = ui.label().classes("faint").props('data-part="moment"')
        with ui.element("div").classes("dp-buttons"):
            _button("New game", "casino", new_game.open, "new")
            self.again = _button("Again", "replay", new_game.again, "again")
            _button("Keys", "keyboard", help_.open, "keys")

    def _roster(self, player: int, units: list[Unit], do: Handlers) -> Roster:
        return Roster(player, [unit for unit in units if unit.player == player], do.choose_unit, do.take_back_unit)

    def _table(self, player: int) -> ui.html:
        with ui.element("div").classes("dp-card dp-scroll").props(f'data-part="units-{player}"'):
            ui.label(f"Player {player}: units").classes("font-bold")
            return ui.html(sanitize=False)

    def _log(self, do: Handlers) -> None:
        with ui.element("div").classes("dp-card"):
            ui.label("Log").classes("font-bold")
            self.log_pieces: list[ui.html] = []
            self.log = ui.element("div").classes("dp-log").props('data-part="log"')
            script = "(e) => { const one = e.target.closest('[data-moment]'); if (one) emit(one.dataset.moment); }"
            self.log.on("click", lambda event: _jump(event.args, do), js_handler=script)

    def add_log_piece(self) -> ui.html:
        with self.log:
            piece = ui.html(sanitize=False)
        piece.move(target_index=0)
        return piece


def _jump(message: Any, do: Handlers) -> None:
    if isinstance(message, str) and message.isascii() and message.isdigit() and len(message) < 6:
        do.show_moment(int(message))


def _button(text: str, icon: str, action: Any, part: str) -> ui.button:
    return ui.button(text, icon=icon, on_click=action).props(f'outline dense no-caps size=sm data-part="{part}"')
