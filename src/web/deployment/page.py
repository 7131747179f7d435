"""The page of the wargame."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from nicegui import ui
from starlette.requests import Request

from ...core.errors import UserError, require
from ...core.play.agent import NOTHING
from ...envs.deployment.game import DeploymentGame
from ...envs.deployment.odds import range_of, targets
from ...envs.deployment.rules.deployment import why_not_confirm, why_not_pass, why_not_undeploy
from ...envs.deployment.rules.scenario import Hex
from ...envs.deployment.step_report import Command
from .. import shell
from ..clickable import LEFT, Clickable, Pick, parse_id
from ..event_loop import in_thread
from ..game_page import GamePage, Visit, read_visit
from ..saved_games import SavedGame
from ..services import Services
from . import PAGE, board, descriptions, match_setup
from .advice import AdvicePanel, Advisor, Suggestion
from .board import Marks
from .match import DeploymentMatch, warm_up
from .match_setup import MatchSetup
from .panels import KEYS, Log, NewGame, Roster

Option = TypeVar("Option")

SPEEDS = {1.2: "slow", 0.5: "normal", 0.15: "fast", 0.03: "blitz"}  # seconds per step
BLITZ, BLITZ_STEPS = 0.05, 8  # below this pace (seconds), several steps per redraw
POLL_SECONDS = 0.02  # while an agent that is cancelled still decides
ZOOM_BUTTONS = (("remove", -1, "zoom out"), ("add", 1, "zoom in"), ("fit_screen", 0, "fit the board"))
NO_UNIT = '<div class="dp-unit faint">Tap a unit, or point at it, to see its card and its range.</div>'


def prepare(services: Services) -> None:
    """Load the compiled rules of the usual game."""
    _new_match(services, MatchSetup(), None)


async def build(services: Services, request: Request) -> None:
    ui.run_javascript(shell.asset(__package__, "page.js"))
    visit = await in_thread(read_visit, services, PAGE.path, request)
    setup = _setup_of(visit.saved) if visit.saved else match_setup.read(visit.query)
    match = await in_thread(_new_match, services, setup, visit.saved)
    page = DeploymentPage(visit, match, NewGame(services, setup))
    ui.on("dp-key", lambda event: page.on_key(event.args))
    ui.timer(0, page.open, once=True)


def _new_match(services: Services, setup: MatchSetup, saved: SavedGame | None) -> DeploymentMatch:
    game = _prepared_game(services, setup.scenario, setup.order, setup.activation, setup.zones, setup.people)
    seeded = setup if saved is None else _setup_of(saved)._replace(seed=str(saved.start))
    return match_setup.match_of(services, game, seeded)


def _setup_of(saved: SavedGame) -> MatchSetup:
    """Return the choices of a saved game; in older ones the first unit by id acts."""
    return match_setup.read({"activation": "by_id", **saved.setup})


@cache
def _prepared_game(
    services: Services, scenario: str, order: str, activation: str, zones: str, people: tuple[int, ...]
) -> DeploymentGame:
    """Cached for all visitors: rules are stateless."""
    game = match_setup.game_of(services, scenario, order, activation, zones, people)
    warm_up(game)
    return game


class DeploymentPage(GamePage[DeploymentMatch]):
    path = PAGE.path

    def __init__(self, visit: Visit, match: DeploymentMatch, new_game: NewGame) -> None:
        super().__init__(visit._replace(query=NOTHING), NOTHING, new_game.current._asdict())
        self.match = match
        self.unit: str | None = None  # chosen in the roster
        self.cursor: Hex | None = None
        self.looked_at: str | None = None  # the unit whose card is shown; None: the one that acts
        self.playing = bool(match.human_seats)
        self._deciding = False
        self.advice = AdvicePanel(match.game, Advisor(self.services, match.game, new_game.current.scenario), self.draw)
        self.shortcuts |= {
            "a": self.advice.toggle,
            "u": self.undo,
            "w": self.wait,
            "p": self.toggle,
            "Enter": lambda: self.confirm() if self.cursor is None else self.act_at(self.cursor),
            " ": self.step,
        }
        self.add_layout()
        self.bench.classes("dp").props(f'data-seed="{match.seed}"')
        with self.status:
            self.scores = ui.html(sanitize=False).props('data-part="status"').classes("w-full")
        with self.stage.classes("dp-board").props('tabindex=0 data-part="board"') as box:
            box.props(f"data-columns={match.game.scenario.board.cols}")
            box.on("pointerover", lambda event: self.inspect(event.args), js_handler="(e) => emitHoveredUnit(e, emit)")
            with ui.element("div").classes("dp-layers"):
                Clickable(board.ground(match.game.scenario), self.pick)
                self.pieces = ui.html(sanitize=False).classes("dp-over")
        with self.actions:
            self._add_buttons(new_game)
        with self.details:
            self.rosters = []
            for player in (1, 2):
                units = [unit for unit in match.state.units.values() if unit.player == player]
                self.rosters.append(Roster(player, units, self.choose_unit, self.take_back_unit))
            self.last = ui.html(sanitize=False).classes("dp-last").props('data-part="last"')
            self.advice.add_panel()
            self.card = ui.html(sanitize=False).props('data-part="card"')
            self.odds = ui.html(sanitize=False).props('data-part="odds"')
            self.tables = []
            for player in (1, 2):
                with ui.element("div").classes("dp-scroll").props(f'data-part="units-{player}"'):
                    ui.label(f"Player {player}: units").classes("font-bold")
                    self.tables.append(ui.html(sanitize=False))
            self.log = Log(self.show_moment)
            with ui.expansion("Legend", icon="map").classes("w-full").props('data-part="legend"'):
                ui.html(descriptions.legend(), sanitize=False)
            shell.add_keys(KEYS)
        self.timer = ui.timer(self.pace.value, self.tick)
        self.refresh()

    def check_choice(self, name: str, value: str) -> None:
        """Accept every value: the choices of the match were checked before it was set up."""

    # Layout

    def _add_buttons(self, new_game: NewGame) -> None:
        with ui.element("div").classes("dp-buttons"):
            self.confirm_button = _add_button("Confirm", "check", self.confirm, "confirm")
            self.wait_button = _add_button("Wait", "hourglass_empty", self.wait, "wait")
            self.undo_button = _add_button("Undo", "undo", self.undo, "undo")
            self.rest_button = _add_button("Place the rest", "auto_awesome", self.place_rest, "rest")
            step = Command("pass_deployment", ())
            self.pass_button = _add_button("Pass", "block", lambda: self.act(lambda: step), "pass")
        with ui.element("div").classes("dp-buttons"):
            self.play_button = _add_button("Play", "play_arrow", self.toggle, "play")
            _add_button("Step", "skip_next", self.step, "step")
            self.pace = ui.toggle(SPEEDS, value=0.5, on_change=lambda event: self.set_pace(event.value))
            self.pace.props("dense unelevated toggle-color=primary")
        with ui.element("div").classes("dp-buttons replay"):
            _add_button("", "chevron_left", lambda: self.look_by(-1), "back").props('aria-label="a step back"')
            self.slider = ui.slider(min=0, max=0, value=0, on_change=lambda event: self.show_moment(event.value))
            self.slider.props('data-part="replay" aria-label="moment of the game"')
            _add_button("", "chevron_right", lambda: self.look_by(1), "forth").props('aria-label="a step forward"')
            self.moment = ui.label().classes("faint").props('data-part="moment"')
        with ui.element("div").classes("dp-buttons"):
            _add_button("New game", "casino", new_game.open, "new")
            self.again_button = _add_button("Again", "replay", new_game.again, "again")
            self.advice.add_switch()
            self.add_share_button()
            with ui.element("div").classes("dp-zoom").props('role=group aria-label="zoom"'):
                for icon, by, label in ZOOM_BUTTONS:
                    button = ui.button(icon=icon).props(f'outline dense data-zoom="{by}" title="{label}"')
                    button.props(f'aria-label="{label}"')
                    if by < 0:
                        ui.label().classes("dp-zoom-level").props("aria-live=polite")

    # Display

    def result_detail(self) -> str:
        words = descriptions.result_text(self.match, self.match.state)
        return words.partition(", ")[2] or words

    def headline(self) -> str:
        if self.ply is None and self.result is not None:
            return self.result.words
        words = descriptions.headline(self.match, self.state, self.acting)
        return descriptions.address_player(words, self.match.human_seats)

    def refresh(self, is_new: bool = False) -> None:
        """Show the match after a change, and choose the next unit to place."""
        for roster in self.rosters:  # in battle the tables take their place
            roster.box.set_visibility(self.match.state.phase == "deployment")
        if self.unit not in self.units_to_place:
            self.unit = next(iter(self.units_to_place), None)
        self.cursor = None
        self.timer.active = self.playing and self.match.agent is not None
        if is_new:
            self.save()
        self.draw(is_new)

    async def changed(self, moved: bool = False) -> None:
        self.refresh()

    async def show(self, moved: bool = False) -> None:
        self.refresh(moved)

    async def play_agents(self) -> None:
        """Agents play at the pace of the timer."""
        self.refresh()

    async def follow(self, game: SavedGame) -> None:
        """States change in place, so the moves are played once no agent reads the state in another thread."""
        while self._deciding:
            self.cancel_decisions()
            await asyncio.sleep(POLL_SECONDS)
        await super().follow(game)

    def give_way(self) -> None:
        super().give_way()
        self.playing = bool(self.match.human_seats)
        self.refresh()

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
        self.scores.set_content(descriptions.status(match, state))
        self.status.show(self.headline(), "", self.result if self.ply is None else None)
        named = descriptions.voices(match.human_seats)
        self.last.set_content(descriptions.log_entry(now, last, named) if last else "")
        self.odds.set_content(descriptions.odds_table(odds))
        unit = state.units.get(self.looked_at or self.acting or "")
        self.card.set_content(NO_UNIT if unit is None else descriptions.unit_card(unit, named[unit.player - 1].name))
        for player, (roster, table) in enumerate(zip(self.rosters, self.tables, strict=True), 1):
            roster.show(state, self.unit, self.ply is None and match.agent is None)
            table.set_content(descriptions.unit_table(state, player))
        self.log.show(match.reports, named)
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
        elif self.state.phase != "deployment" and self.state.active_unit_id is None:
            wait = "Choose a unit: it advises what the unit does."
        elif self.ply is None and self.match.unconfirmed is not None:
            wait = "Every unit is placed: confirm the deployment."
        return self.advice.show(self.match.moves[: self.now], self.state, self.acting, wait)

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
        _emphasize(self.confirm_button, confirmable)
        _emphasize(self.pass_button, deploying and why_not_pass(state) is None)
        _emphasize(self.again_button, match.is_over)
        runs = self.playing and not match.is_over
        self.play_button.text, self.play_button.icon = ("Pause", "pause") if runs else ("Play", "play_arrow")
        self.play_button.set_enabled(not match.is_over)
        _emphasize(self.play_button, not runs and match.agent is not None)

    @property
    def acting(self) -> str | None:
        return self.unit if self.state.phase == "deployment" else self.state.active_unit_id

    @property
    def candidates(self) -> list[Hex]:
        return self.match.candidates(self.acting) if self.human_to_move else []

    @property
    def units_to_place(self) -> list[str]:
        """The units left to place, if a person deploys."""
        by_hand = self.match.agent is None
        return self.match.state.deployment_state.deployable_units_by_player[self.match.to_move] if by_hand else []

    # User actions

    @contextmanager
    def _change(self, is_new: bool = True, worded: Callable[[str], str] = str) -> Iterator[None]:
        """Change the match within, and show it; `worded` puts the message of an error into words for a player."""
        require(self.ply is None, "this is an earlier moment: go to the latest one to play")
        try:
            yield
        except UserError as error:
            raise UserError(worded(str(error))) from error
        self.status.message.clear_refusal()
        self.refresh(is_new)

    def act(self, step: Callable[[], Command]) -> None:
        """Play a step of the person to move."""
        with self._change(worded=without_coordinates):
            self.match.require_human_turn()
            self.match.play(step())

    def pick(self, pick: Pick) -> None:
        if pick.button != LEFT:
            return
        columns = self.match.game.scenario.board.cols
        cell = parse_id(pick.part, "hex", columns * self.match.game.scenario.board.rows)
        at = (cell % columns, cell // columns)
        there = next((unit for unit in self.state.units.values() if (unit.col, unit.row) == at), None)
        if there is not None and at not in self.candidates:
            self.inspect(there.id)
            if there.player == self.match.to_move and self.state.phase != "deployment":
                if self.human_to_move and self.match.can_choose_instead(there.id):
                    with self._change():
                        self.match.take_back()
                        self.match.play(self.match.step_at(at, None))
                return  # nothing else can be done to it, so nothing is refused
        self.act_at(at)

    def inspect(self, unit: object) -> None:
        """Show the card of a unit, or of the one that acts if the text is empty."""
        looked_at = unit if isinstance(unit, str) and unit in self.state.units else None
        if looked_at != self.looked_at:
            self.looked_at = looked_at
            self.draw()

    def act_at(self, at: Hex) -> None:
        self.act(lambda: self.match.step_at(at, self.unit))

    def point_at(self, at: Hex) -> None:
        self.cursor = at
        self.draw()

    def choose_unit(self, unit: str) -> None:
        """Select a unit; whether it can be placed is checked by the game."""
        if self.state.phase == "deployment":
            self.unit, self.cursor = unit, None
            self.draw()

    def take_back_unit(self, unit: str) -> None:
        self.act(lambda: Command("undeploy_unit", (unit,)))
        if unit in self.units_to_place:
            self.choose_unit(unit)

    def undo(self) -> None:
        """Take back the latest placement of the player to move, or else the latest step if it was a person's."""
        placed = self.match.latest_placement() if self.state.phase == "deployment" else None
        if placed is not None and self.match.waits_for_human and why_not_undeploy(self.match.state, placed) is None:
            self.take_back_unit(placed)
            return
        with self._change(False, lambda words: descriptions.address_player(words, self.match.human_seats)):
            self.match.take_back()
            self.cancel_decisions()
        self.save()

    def wait(self) -> None:
        """Let the active unit wait, or the first one that may be chosen."""
        if self.human_to_move and self.state.phase != "deployment" and self.state.active_unit_id is None:
            self.act_at(self.candidates[0])
        self.act(lambda: Command("play", (self.match.game.actions.wait_action,)))

    def confirm(self) -> None:
        """Confirm for a person who has placed all units, even if the other player is still placing."""
        with self._change():
            people = sorted(seat + 1 for seat in self.match.human_seats)
            require(bool(people), "agents do not confirm: press Play")
            done = [player for player in people if why_not_confirm(self.match.state, player) is None]
            self.match.play(Command("confirm_deployment", (done[0] if done else people[0],)))

    def place_rest(self) -> None:
        try:
            with self._change():
                self.match.require_human_turn()
                self.match.place_rest()
        except UserError:
            self.refresh(is_new=True)  # some units may have been placed
            raise

    def show_moment(self, moment: object) -> None:
        """Show an earlier moment; the last one is the current state."""
        before, most = self.now, len(self.match.moves)
        with shell.show_errors():
            chosen = int(shell.between(moment, 0, most))
            self.ply = None if chosen == most else chosen
        if self.now != before or self.slider.value != self.now:  # reset the slider after an invalid value
            self.draw()

    # Agents

    def toggle(self) -> None:
        self.playing = not self.playing
        self.shared.lead(self)
        self.refresh()

    def set_pace(self, seconds: object) -> None:
        with shell.show_errors():
            self.timer.interval = shell.checked(seconds, SPEEDS)
        self.pace.value = self.timer.interval  # reset the toggle after an invalid value

    async def tick(self) -> None:
        if self.playing and self.ply is None and self.leads:
            await self._advance(BLITZ_STEPS if self.timer.interval < BLITZ else 1)

    async def step(self) -> None:
        if self.ply is not None:
            await self.look_by(1)
        elif self.match.agent is None:
            over = self.match.is_over
            raise UserError("the game is over: start a new one" if over else "it is your turn, not an agent's")
        else:
            self.shared.lead(self)
            await self._advance(1)

    async def _advance(self, count: int) -> None:
        """Let agents play at most `count` steps; they decide off the event loop."""
        if self._deciding or self.match.agent is None:
            return
        self._deciding, token = True, self.token
        try:
            while count and self.match.agent is not None:
                count -= 1
                step = await asyncio.to_thread(self.match.decide, self.match.state)
                if token is not self.token:  # the tab was closed, or a step was taken back
                    return
                self.match.play(step)
        except Exception:
            self.playing = False  # or the error would repeat at every tick
            self.refresh(is_new=True)
            raise
        finally:
            self._deciding = False
        self.refresh(is_new=True)

    # Keys

    async def on_key(self, message: object) -> None:
        """Handle a key event of the page script; `board`: the board has the focus."""
        match message:
            case {"key": str(name), "board": bool(on_board)}:
                if name in shell.ARROWS:
                    self._arrow(*shell.ARROWS[name], on_board)
                else:
                    await self.press(name.lower() if len(name) == 1 else name)

    def _arrow(self, across: int, down: int, on_board: bool) -> None:
        """Move the cursor if the board has the focus, otherwise select the next unit or legal hex."""
        if on_board:
            field = self.match.game.scenario.board
            here = self.cursor or next(iter(self.candidates), (field.cols // 2, field.rows // 2))
            beside = (here[0] + across, here[1] + down)
            self.point_at(beside if self.cursor is not None and field.contains(beside) else here)
        elif down and self.units_to_place:
            self.choose_unit(_next(self.units_to_place, self.unit, down))
        elif self.candidates:
            self.point_at(_next(self.candidates, self.cursor, across + down))


def _add_button(title: str, icon: str, action: Any, part: str) -> ui.button:
    return ui.button(title, icon=icon, on_click=action).props(f'outline data-part="{part}"')


def _emphasize(button: ui.button, is_next: bool) -> None:
    """Fill a button that is the next to press; others are outlined."""
    button.props(remove="outline") if is_next else button.props("outline")


def without_coordinates(message: str) -> str:
    """Return a message without coordinates: the hex that is meant shakes."""
    return re.sub(r"\b(?:on|to|at) \(\d+, \d+\)", "there", message)


def _next(options: list[Option], current: Option | None, by: int) -> Option:
    if current not in options:
        return options[0]
    return options[(options.index(current) + by) % len(options)]
