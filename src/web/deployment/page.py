"""The page of the wargame: a placeholder at once, and the match of the URL when it is built."""

from functools import cache
from typing import Any

from nicegui import ui
from starlette.requests import Request

from ...core.errors import UserError
from ...envs.deployment.game import DeploymentGame
from ...envs.deployment.rules.deployment import why_not_confirm, why_not_pass
from .. import shell
from ..clickable import Clickable
from ..event_loop import Busy
from ..game_page import Visit, read_visit
from ..match_panel import ResultBox
from ..saved_games import SavedGame
from ..services import Services
from . import PAGE, board, descriptions, match_setup
from .advice import AdvicePanel, Advisor, Suggestion
from .board import Marks
from .match import DeploymentMatch, warm_up
from .match_page import SPEEDS, DeploymentMatchPage
from .match_setup import MatchSetup
from .odds import range_of, targets
from .panels import NewGame, Roster, keys_help

ZOOM_BUTTONS = (("remove", -1, "zoom out"), ("add", 1, "zoom in"), ("fit_screen", 0, "fit the board"))
LOG_CHUNK = 20  # log lines per element
NO_UNIT = '<div class="dp-unit faint">Tap a unit, or point at it, to see its card and its range.</div>'
# The unit under the mouse, or an empty text.
_HOVER = """(e) => {
  if (e.pointerType !== 'mouse') return;
  const box = e.currentTarget, at = e.target.closest('[data-id]')?.dataset.id, columns = +box.dataset.columns;
  const cell = at ? +at.split('-')[1] : -1;
  const unit = box.querySelector(`.token[data-at="${cell % columns} ${Math.floor(cell / columns)}"]`)?.dataset.unit;
  if ((unit ?? '') !== (box.looked ?? '')) { box.looked = unit; emit(unit ?? ''); }
}"""


def prepare(services: Services) -> None:
    """Load the compiled rules of the usual game."""
    _new_match(services, MatchSetup(), None)


async def build(services: Services, request: Request) -> None:
    ui.run_javascript(shell.asset(__package__, "page.js"))
    box = ui.element("div").classes("w-full")
    with box, ui.element("div").classes("dp w-full"):  # the space of the board, so that the layout does not shift
        with ui.element("div").classes("dp-left"):
            ui.element("div").classes("dp-status-room")
            ui.label("Setting up the board").classes("dp-headline")
            ui.element("div").classes("dp-bar-room")
            with ui.element("div").classes("board dp-board grid place-items-center"):
                busy = Busy()
        ui.element("div").classes("dp-right")
    ui.timer(0, lambda: _show_match(services, box, busy, request), once=True)


async def _show_match(services: Services, box: ui.element, busy: Busy, request: Request) -> None:
    """Show the match of a URL in an element of the page, or the reason why it is invalid."""
    visit, setup, match, problem = Visit(services), MatchSetup(), None, ""
    try:
        visit = await busy.do(read_visit, services, PAGE.path, request)
        setup = match_setup.read(visit.saved.setup if visit.saved else visit.query)
        match = await busy.do(_new_match, services, setup, visit.saved)
    except UserError as error:
        problem = str(error)
    box.clear()
    with box:
        new_game = NewGame(services, setup)
        if match is not None:
            page = DeploymentPage(visit, match, new_game)
            ui.on("dp-key", lambda event: page.on_key(event.args))
            with shell.show_errors():
                await page.open()
            return
        with ui.element("div").classes("panel mx-auto"):
            ui.label("This game cannot be set up").classes("headline")
            ui.label(problem).props('data-part="problem"')
            ui.button("Choose another", on_click=new_game.open)


def _new_match(services: Services, setup: MatchSetup, saved: SavedGame | None) -> DeploymentMatch:
    game = _prepared_game(services, setup.scenario, setup.order, setup.zones, setup.people)
    seeded = setup if saved is None else match_setup.read({**saved.setup, "seed": str(saved.start)})
    return match_setup.match_of(services, game, seeded)


@cache
def _prepared_game(
    services: Services, scenario: str, order: str, zones: str, people: tuple[int, ...]
) -> DeploymentGame:
    """Cached for all visitors: rules are stateless."""
    game = match_setup.game_of(services, scenario, order, zones, people)
    warm_up(game)
    return game


class DeploymentPage(DeploymentMatchPage):
    """What is shown."""

    def __init__(self, visit: Visit, match: DeploymentMatch, new_game: NewGame) -> None:
        super().__init__(visit, match, new_game.current)
        self._was_deploying = match.state.phase == "deployment"
        self.advice = AdvicePanel(match.game, Advisor(self.services, match.game, new_game.current.scenario), self.draw)
        self.shortcuts["a"] = self.advice.toggle
        with ui.element("div").classes("dp w-full").props(f'data-seed="{match.seed}"'):
            with ui.element("div").classes("dp-left"):
                self.status = ui.html(sanitize=False).props('data-part="status"').classes("w-full")
                self.title = ui.label().classes("dp-headline").props('data-part="headline" aria-live=polite')
                with ui.element("div").classes("dp-bar"):
                    shell.MessageLine()
                    self.advice.add_switch()
                    with ui.element("div").classes("dp-zoom").props('role=group aria-label="zoom"'):
                        for icon, by, label in ZOOM_BUTTONS:
                            button = ui.button(icon=icon).props(f'outline dense data-zoom="{by}" title="{label}"')
                            button.props(f'aria-label="{label}"')
                            if by < 0:
                                ui.label().classes("dp-zoom-level").props("aria-live=polite")
                self._add_board()
            with ui.element("div").classes("dp-right"):
                with ui.element("div").classes("dp-card flex flex-col gap-2"):
                    self.result_box = ResultBox(new_game.again, self.review)
                    self.busy = Busy()
                    self.last = ui.html(sanitize=False).classes("dp-last").props('data-part="last"')
                    self._add_buttons(new_game)
                self.advice.add_panel()
                with ui.element("div").classes("dp-card"):
                    self.card = ui.html(sanitize=False).props('data-part="card"')
                    self.odds = ui.html(sanitize=False).props('data-part="odds"')
                self.rosters = []
                for player in (1, 2):
                    units = [unit for unit in match.state.units.values() if unit.player == player]
                    self.rosters.append(Roster(player, units, self.choose_unit, self.take_back_unit))
                self.tables = []
                for player in (1, 2):
                    with ui.element("div").classes("dp-card dp-scroll").props(f'data-part="units-{player}"'):
                        ui.label(f"Player {player}: units").classes("font-bold")
                        self.tables.append(ui.html(sanitize=False))
                self._add_log()
        self.timer = ui.timer(self.pace.value, self.tick)
        self.refresh()

    # Layout

    def _add_board(self) -> None:
        box = ui.element("div").classes("board dp-board").props('tabindex=0 data-part="board"')
        box.props(f"data-columns={self.match.game.scenario.board.cols}")
        box.on("pointerover", lambda event: self.inspect(event.args), js_handler=_HOVER)
        with box, ui.element("div").classes("dp-layers"):
            Clickable(board.ground(self.match.game.scenario), self.pick)
            self.pieces = ui.html(sanitize=False).classes("dp-over")

    def _add_buttons(self, new_game: NewGame) -> None:
        keys = keys_help()
        with ui.element("div").classes("dp-buttons"):
            self.confirm_button = _add_button("Confirm", "check", self.confirm, "confirm")
            self.wait_button = _add_button("Wait", "hourglass_empty", self.wait, "wait")
            self.undo_button = _add_button("Undo", "undo", self.undo, "undo")
            self.rest_button = _add_button("Place the rest", "auto_awesome", self.place_rest, "rest")
            self.pass_button = _add_button("Pass", "block", self.pass_, "pass")
        with ui.element("div").classes("dp-buttons"):
            self.play_button = _add_button("", "play_arrow", self.toggle, "play").props('aria-label="play or pause"')
            _add_button("Step", "skip_next", self.step, "step")
            self.pace = ui.toggle(SPEEDS, value=0.5, on_change=lambda event: self.set_pace(event.value))
            self.pace.props("dense no-caps unelevated toggle-color=primary size=sm")
        with ui.element("div").classes("dp-buttons replay"):
            _add_button("", "chevron_left", lambda: self.look_by(-1), "back").props('aria-label="a step back"')
            self.slider = ui.slider(min=0, max=0, value=0, on_change=lambda event: self.show_moment(event.value))
            self.slider.props('data-part="replay" aria-label="moment of the game"')
            _add_button("", "chevron_right", lambda: self.look_by(1), "forth").props('aria-label="a step forward"')
            self.moment = ui.label().classes("faint").props('data-part="moment"')
        with ui.element("div").classes("dp-buttons"):
            _add_button("New game", "casino", new_game.open, "new")
            self.again_button = _add_button("Again", "replay", new_game.again, "again")
            _add_button("Keys", "keyboard", keys.open, "keys")

    def _add_log(self) -> None:
        def jump(message: object) -> None:
            if isinstance(message, str) and message.isascii() and message.isdigit() and len(message) < 6:
                self.show_moment(int(message))

        with ui.element("div").classes("dp-card"):
            ui.label("Log").classes("font-bold")
            self.log_pieces: list[ui.html] = []
            self.log = ui.element("div").classes("dp-log").props('data-part="log"')
            script = "(e) => { const one = e.target.closest('[data-moment]'); if (one) emit(one.dataset.moment); }"
            self.log.on("click", lambda event: jump(event.args), js_handler=script)

    # Display

    def result_detail(self) -> str:
        return descriptions.result_text(self.match, self.match.state)

    def headline(self) -> str:
        return descriptions.address_player(
            descriptions.headline(self.match, self.state, self.acting), self.match.human_seats
        )

    def refresh(self, is_new: bool = False) -> None:
        deploying = self.match.state.phase == "deployment"
        if self._was_deploying and not deploying:
            for roster in self.rosters:  # make room for the tables
                roster.box.close()
        self._was_deploying = deploying
        super().refresh(is_new)

    def draw(self, is_new: bool = False) -> None:
        state, match, now = self.state, self.match, self.now
        last = match.reports[now - 1] if now else None
        odds = targets(state) if self.human_to_move else {}
        advice = self._advice()
        # the range of the unit that is looked at, or of the one that a person moves or shoots with
        armed = self.acting if self.human_to_move and state.phase in ("move", "shoot") else None
        marks = Marks(
            candidates=self.candidates,
            unit=self.acting,
            cursor=self.cursor,
            last=last,
            is_new=is_new,
            range=range_of(state, self.looked_at or armed or ""),
            odds={} if advice.choices else odds,  # one number for a target
            heat=advice.heat,
            choices=() if advice.heat else advice.choices,
        )
        self.pieces.set_content(board.pieces(state, marks))
        self.status.set_content(descriptions.status(match, state))
        self.title.set_text(self.headline())
        self.title.classes(**{"add" if match.game.outcome(state) is not None else "remove": "dp-over-now"})
        self.result_box.show(self.result if self.ply is None else None)
        named = descriptions.voices(match.human_seats)
        self.last.set_content(descriptions.log_entry(now, last, named) if last else "")
        self.odds.set_content(descriptions.odds_table(odds))
        unit = state.units.get(self.looked_at or self.acting or "")
        self.card.set_content(NO_UNIT if unit is None else descriptions.unit_card(unit, named[unit.player - 1].name))
        for player, (roster, table) in enumerate(zip(self.rosters, self.tables, strict=True), 1):
            roster.show(state, self.unit, self.ply is None and match.agent is None)
            table.set_content(descriptions.unit_table(state, player))
        self._show_log()
        self.slider.props(f"max={len(match.moves)}")
        self.slider.value = now
        self.moment.set_text(f"{now} / {len(match.moves)}" + ("" if self.ply is None else " · history"))
        self.show_buttons()

    def _advice(self) -> Suggestion:
        """Show the advice on the position shown, unless agents are playing."""
        wait = ""
        if self.match.game.outcome(self.state) is not None:
            wait = "The game is over."
        elif self.ply is None and self.timer.active:
            wait = "It advises when it is your turn, or when the agents are paused."
        elif self.ply is None and self.match.unconfirmed is not None:
            wait = "Every unit is placed: confirm the deployment."
        return self.advice.show(self.match.moves[: self.now], self.state, self.acting, wait)

    def _show_log(self) -> None:
        """Add new lines on top, grouped in elements, so that full ones are not sent again."""
        pieces, reports = self.log_pieces, self.match.reports
        count, named = -(-len(reports) // LOG_CHUNK), descriptions.voices(self.match.human_seats)
        while len(pieces) > count:  # steps were taken back
            pieces.pop().delete()
        for number in range(max(len(pieces) - 1, 0), count):
            if number == len(pieces):
                with self.log:
                    pieces.append(ui.html(sanitize=False))
                pieces[number].move(target_index=0)
            lines = enumerate(reports[number * LOG_CHUNK : (number + 1) * LOG_CHUNK], number * LOG_CHUNK + 1)
            entries = [descriptions.log_entry(moment, report, named) for moment, report in lines]
            pieces[number].set_content("".join(reversed(entries)))

    def show_buttons(self) -> None:
        match, state = self.match, self.match.state
        deploying, by_hand = state.phase == "deployment" and not match.is_over, match.agent is None
        for button in (self.confirm_button, self.rest_button, self.pass_button):
            button.set_visibility(deploying)
            button.set_enabled(bool(match.human_seats))
        self.undo_button.set_enabled(bool(match.human_seats))
        self.wait_button.set_visibility(not deploying)
        self.wait_button.set_enabled(by_hand and not match.is_over)
        self.rest_button.set_enabled(by_hand)
        confirmable = deploying and any(why_not_confirm(state, seat + 1) is None for seat in match.human_seats)
        self.confirm_button.props(remove="outline") if confirmable else self.confirm_button.props("outline")
        passable = deploying and why_not_pass(state) is None
        self.pass_button.props(remove="outline") if passable else self.pass_button.props("outline")
        self.again_button.props(remove="outline") if match.is_over else self.again_button.props("outline")
        self.play_button.props(f"icon={'pause' if self.playing and not match.is_over else 'play_arrow'}")
        self.play_button.set_enabled(not match.is_over)


def _add_button(title: str, icon: str, action: Any, part: str) -> ui.button:
    return ui.button(title, icon=icon, on_click=action).props(f'outline dense no-caps size=sm data-part="{part}"')
