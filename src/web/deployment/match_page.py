"""The page of a match."""

import asyncio
import re
from collections.abc import Callable
from typing import TypeVar

from nicegui import ui

from ...core.errors import UserError, require
from ...envs.deployment.rules.deployment import why_not_confirm, why_not_pass, why_not_undeploy
from ...envs.deployment.rules.scenario import Hex
from ...envs.deployment.step_report import Command
from .. import shell
from ..drawing import LEFT, Pick, numbered
from ..game_page import GamePage
from ..lab import Lab
from ..saved_games import SavedGame
from . import PAGE, board, labels
from .advice import Adviser, Suggestion
from .board import Marks
from .layout import SPEEDS, Layout
from .match import DeploymentMatch
from .narration import Voice, addressed, voices
from .odds import Range, range_of, targets
from .panels import NewGame

Option = TypeVar("Option")

ARROWS = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}
LOG_CHUNK = 20  # log lines per element
BLITZ, BLITZ_STEPS = 0.05, 8  # below this pace (seconds), several steps per redraw


class DeploymentPage(GamePage[DeploymentMatch]):
    path = PAGE.path

    def __init__(self, lab: Lab, match: DeploymentMatch, new_game: NewGame, saved: SavedGame | None = None) -> None:
        choices = new_game.current._asdict()
        super().__init__(lab, defaults=choices, saved=saved)
        self.match = match
        self.unit: str | None = None  # chosen in the roster
        self.cursor: Hex | None = None
        self.looked_at: str | None = None  # the unit whose card is shown; None: the one that acts
        self.playing = bool(match.human_seats)
        self._deciding, self._was_deploying = False, match.state.phase == "deployment"
        self.shortcuts = {
            "u": self.undo,
            "w": self.wait,
            "p": self.toggle,
            "a": lambda: self.layout.advice.toggle(),
            "[": lambda: self.look_by(-1),
            "]": lambda: self.look_by(1),
            "Enter": self._enter,
            " ": self.step,
        }
        adviser = Adviser(lab, match.game, new_game.current.scenario)
        self.layout = Layout(match, self, new_game, adviser)
        self.busy = self.layout.busy
        self.timer = ui.timer(self.layout.pace.value, self.tick)
        self.refresh()

    def check_choice(self, name: str, value: str) -> None:
        """Accept every value: the choices of the match were checked before it was set up."""

    # Display

    @property
    def acting(self) -> str | None:
        """The unit to act."""
        return self.unit if self.state.phase == "deployment" else self.state.active_unit_id

    @property
    def candidates(self) -> list[Hex]:
        return self.match.candidates(self.acting) if self.human_to_move else []

    @property
    def units_to_place(self) -> list[str]:
        """The units left to place, if a person deploys."""
        by_hand = self.match.agent is None
        return self.match.state.deployment_state.deployable_units_by_player[self.match.to_move] if by_hand else []

    def refresh(self, is_new: bool = False) -> None:
        """Select the next unit to place after a change, and show everything."""
        match = self.match
        if self.unit not in self.units_to_place:
            self.unit = next(iter(self.units_to_place), None)
        self.cursor = None
        deploying = match.state.phase == "deployment"
        if self._was_deploying and not deploying:
            for roster in self.layout.rosters:  # make room for the tables
                roster.box.close()
        self._was_deploying = deploying
        self.timer.active = self.playing and match.agent is not None
        if is_new:
            self.keep()
        self.draw(is_new)

    async def changed(self, moved: bool = False) -> None:
        self.refresh()

    def result_detail(self) -> str:
        return labels.ending(self.match, self.match.state)

    def headline(self) -> str:
        return addressed(labels.headline(self.match, self.state, self.acting), self.match.human_seats)

    async def show(self, moved: bool = False) -> None:
        self.draw(moved)

    def draw(self, is_new: bool = False) -> None:
        state, page, match, now = self.state, self.layout, self.match, self.now
        last = match.reports[now - 1] if now else None
        odds = targets(state) if self.human_to_move else {}
        advice = self._advice()
        marks = Marks(
            candidates=self.candidates,
            unit=self.acting,
            cursor=self.cursor,
            last=last,
            is_new=is_new,
            range=self._range(),
            odds={} if advice.choices else odds,  # one number for a target
            heat=advice.heat,
            choices=() if advice.heat else advice.choices,
        )
        page.pieces.set_content(board.pieces(state, marks))
        page.status.set_content(labels.status(match, state))
        page.headline.set_text(self.headline())
        page.headline.classes(**{"add" if match.game.outcome(state) is not None else "remove": "dp-over-now"})
        page.ending.show(self.result if self.ply is None else None)
        named = voices(match.human_seats)
        page.last.set_content(labels.entry(now, last, named) if last else "")
        page.odds.set_content(labels.odds_table(odds))
        self._show_card(named)
        for player, (roster, table) in enumerate(zip(page.rosters, page.tables, strict=True), 1):
            roster.show(state, self.unit, self.ply is None and match.agent is None)
            table.set_content(labels.unit_table(state, player))
        self._show_log()
        self._show_replay(now)
        self._show_buttons()

    def _advice(self) -> Suggestion:
        """Show the advice on the position shown, unless agents are playing."""
        wait = ""
        if self.match.game.outcome(self.state) is not None:
            wait = "The game is over."
        elif self.ply is None and self.timer.active:
            wait = "It advises when it is your turn, or when the agents are paused."
        elif self.ply is None and self.match.unconfirmed is not None:
            wait = "Every unit is placed: confirm the deployment."
        return self.layout.advice.show(self.match.moves[: self.now], self.state, self.acting, wait)

    def _range(self) -> Range:
        """Return the range of the unit that is looked at, or of the one that a person moves or shoots with."""
        acts = self.human_to_move and self.state.phase in ("move", "shoot")
        unit = self.looked_at or (self.acting if acts else None)
        return range_of(self.state, unit or "")

    def _show_card(self, named: tuple[Voice, Voice]) -> None:
        unit = self.state.units.get(self.looked_at or self.acting or "")
        self.layout.card.set_content(
            '<div class="dp-unit faint">Tap a unit, or point at it, to see its card and its range.</div>'
            if unit is None
            else labels.card(unit, named[unit.player - 1].name)
        )

    def inspect(self, unit: object) -> None:
        """Show the card of a unit, or of the one that acts if the text is empty."""
        looked_at = unit if isinstance(unit, str) and unit in self.state.units else None
        if looked_at != self.looked_at:
            self.looked_at = looked_at
            self.draw()

    def _show_log(self) -> None:
        """Add new lines on top, grouped in elements, so that full ones are not sent again."""
        pieces, reports = self.layout.log_pieces, self.match.reports
        count, named = -(-len(reports) // LOG_CHUNK), voices(self.match.human_seats)
        while len(pieces) > count:  # steps were taken back
            pieces.pop().delete()
        for number in range(max(len(pieces) - 1, 0), count):
            if number == len(pieces):
                pieces.append(self.layout.add_log_piece())
            lines = enumerate(reports[number * LOG_CHUNK : (number + 1) * LOG_CHUNK], number * LOG_CHUNK + 1)
            pieces[number].set_content("".join(reversed([labels.entry(k, report, named) for k, report in lines])))

    def _show_replay(self, now: int) -> None:
        slider, most = self.layout.slider, len(self.match.moves)
        slider.props(f"max={most}")
        slider.value = now
        self.layout.moment.set_text(f"{now} / {most}" + ("" if self.ply is None else " · history"))

    def _show_buttons(self) -> None:
        page, match, state = self.layout, self.match, self.match.state
        deploying, by_hand = state.phase == "deployment" and not match.is_over, match.agent is None
        for button in (page.confirm, page.rest, page.passing):
            button.set_visibility(deploying)
            button.set_enabled(bool(match.human_seats))
        page.undo.set_enabled(bool(match.human_seats))
        page.wait.set_visibility(not deploying)
        page.wait.set_enabled(by_hand and not match.is_over)
        page.rest.set_enabled(by_hand)
        confirmable = deploying and any(why_not_confirm(state, seat + 1) is None for seat in match.human_seats)
        page.confirm.props(remove="outline") if confirmable else page.confirm.props("outline")
        passable = deploying and why_not_pass(state) is None
        page.passing.props(remove="outline") if passable else page.passing.props("outline")
        page.again.props(remove="outline") if match.is_over else page.again.props("outline")
        page.play.props(f"icon={'pause' if self.playing and not match.is_over else 'play_arrow'}")
        page.play.set_enabled(not match.is_over)

    # User actions

    def act(self, step: Callable[[], Command]) -> None:
        """Play a step of the person to move, and show errors."""
        with shell.show_errors(in_sentence):
            self._require_present()
            self.match.require_human_turn()
            self.match.play(step())
            self.clear_refusal()
            self.refresh(is_new=True)

    def _require_present(self) -> None:
        require(self.ply is None, "this is an earlier moment: go to the latest one to play")

    def pick(self, pick: Pick) -> None:
        if pick.button != LEFT:
            return
        columns = self.match.game.scenario.board.cols
        cell = numbered(pick.part, "hex", columns * self.match.game.scenario.board.rows)
        at = (cell % columns, cell // columns)
        there = next((unit for unit in self.state.units.values() if (unit.col, unit.row) == at), None)
        if there is not None and at not in self.candidates:
            self.inspect(there.id)
            if there.player == self.match.to_move and self.state.phase != "deployment":
                return  # nothing can be done to it, so nothing is refused
        self.act_at(at)

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
        with shell.show_errors(lambda words: addressed(words, self.match.human_seats)):
            self._require_present()
            self.match.take_back()
            self.drop_decisions()
            self.clear_refusal()
            self.refresh()
            self.keep()

    def wait(self) -> None:
        self.act(lambda: Command("play", (self.match.game.actions.wait_action,)))

    def pass_(self) -> None:
        self.act(lambda: Command("pass_deployment", ()))

    def confirm(self) -> None:
        """Confirm for a person who has placed all units, even if the other player is still placing."""
        with shell.show_errors():
            self._require_present()
            people = sorted(seat + 1 for seat in self.match.human_seats)
            require(bool(people), "agents do not confirm: press Play")
            done = [player for player in people if why_not_confirm(self.match.state, player) is None]
            self.match.play(Command("confirm_deployment", (done[0] if done else people[0],)))
            self.clear_refusal()
            self.refresh(is_new=True)

    def place_rest(self) -> None:
        with shell.show_errors():
            self._require_present()
            self.match.require_human_turn()
            self.match.place_rest()
            self.clear_refusal()
        self.refresh(is_new=True)

    def show_moment(self, moment: object) -> None:
        """Show an earlier moment; the last one is the current state."""
        before, most = self.now, len(self.match.moves)
        with shell.show_errors():
            chosen = int(shell.between(moment, 0, most))
            self.ply = None if chosen == most else chosen
        if self.now != before or self.layout.slider.value != self.now:  # reset the slider after an invalid value
            self.draw()

    # Agents

    def toggle(self) -> None:
        self.playing = not self.playing
        self.refresh()

    def set_pace(self, seconds: object) -> None:
        with shell.show_errors():
            self.timer.interval = shell.checked(seconds, SPEEDS)
        self.layout.pace.value = self.timer.interval  # reset the toggle after an invalid value

    async def tick(self) -> None:
        if self.playing and self.ply is None:
            await self._advance(BLITZ_STEPS if self.timer.interval < BLITZ else 1)

    async def step(self) -> None:
        if self.ply is not None:
            await self.look_by(1)
        elif self.match.agent is None:
            shell.notify(
                "the game is over: start a new one" if self.match.is_over else "it is your turn, not an agent's"
            )
        else:
            await self._advance(1)

    async def _advance(self, count: int) -> None:
        """Let agents play at most `count` steps; they decide off the event loop."""
        if self._deciding or self.match.agent is None:
            return
        self._deciding, turn = True, self.turn
        try:
            while count and self.match.agent is not None:
                count -= 1
                step = await asyncio.to_thread(self.match.decide, self.match.state)
                if turn is not self.turn:  # the tab was closed, or a step was taken back
                    return
                self.match.play(step)
        except UserError as error:
            self.playing = False
            shell.notify(str(error))
        except Exception:
            self.playing = False  # or the error would repeat at every tick
            self._show_buttons()
            raise
        finally:
            self._deciding = False
        self.refresh(is_new=True)

    # Keys

    async def on_key(self, message: object) -> None:
        """Handle a key event of the page script; `board`: the board has the focus."""
        match message:
            case {"key": str(name), "board": bool(on_board)}:
                if name in ARROWS:
                    self._arrow(*ARROWS[name], on_board)
                else:
                    await self.press(name.lower() if len(name) == 1 else name)

    def _enter(self) -> None:
        if self.cursor is None:
            self.confirm()
        else:
            self.act_at(self.cursor)

    def _arrow(self, across: int, down: int, on_board: bool) -> None:
        """Move the cursor if the board has the focus, otherwise select the next unit or legal hex."""
        if on_board:
            self.point_at(self._beside(across, down))
        elif down and self.units_to_place:
            self.choose_unit(_next(self.units_to_place, self.unit, down))
        elif self.candidates:
            self.point_at(_next(self.candidates, self.cursor, across + down))

    def _beside(self, across: int, down: int) -> Hex:
        board = self.match.game.scenario.board
        if self.cursor is None:
            return next(iter(self.candidates), (board.cols // 2, board.rows // 2))
        col, row = self.cursor
        moved = (col + across, row + down)
        return moved if board.contains(moved) else (col, row)


def in_sentence(message: str) -> str:
    """Return a message without coordinates: the hex that is meant shakes."""
    return re.sub(r"\b(?:on|to|at) \(\d+, \d+\)", "there", message)


def _next(options: list[Option], current: Option | None, by: int) -> Option:
    if current not in options:
        return options[0]
    return options[(options.index(current) + by) % len(options)]
