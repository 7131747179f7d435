"""What a person and the agents do in a match: steps, undo, looking back, and keys."""

import asyncio
import re
from collections.abc import Callable
from typing import TypeVar

from nicegui import ui

from ...core.errors import UserError, require
from ...core.play.agent import NOTHING
from ...envs.deployment.rules.deployment import why_not_confirm, why_not_undeploy
from ...envs.deployment.rules.scenario import Hex
from ...envs.deployment.step_report import Command
from .. import shell
from ..clickable import LEFT, Pick, parse_id
from ..game_page import GamePage, Visit
from . import PAGE
from .descriptions import address_player
from .match import DeploymentMatch
from .match_setup import MatchSetup

Option = TypeVar("Option")

ARROWS = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}
SPEEDS = {1.2: "slow", 0.5: "normal", 0.15: "fast", 0.03: "blitz"}  # seconds per step
BLITZ, BLITZ_STEPS = 0.05, 8  # below this pace (seconds), several steps per redraw


class DeploymentMatchPage(GamePage[DeploymentMatch]):
    """Subclasses set the attributes below and implement `draw`."""

    path = PAGE.path
    timer: ui.timer  # of the steps of agents
    pace: ui.toggle
    slider: ui.slider

    def __init__(self, visit: Visit, match: DeploymentMatch, setup: MatchSetup) -> None:
        super().__init__(visit._replace(query=NOTHING), NOTHING, setup._asdict())
        self.match = match
        self.unit: str | None = None  # chosen in the roster
        self.cursor: Hex | None = None
        self.looked_at: str | None = None  # the unit whose card is shown; None: the one that acts
        self.playing = bool(match.human_seats)
        self._deciding = False
        self.shortcuts |= {
            "u": self.undo,
            "w": self.wait,
            "p": self.toggle,
            "Enter": self._enter,
            " ": self.step,
        }

    def check_choice(self, name: str, value: str) -> None:
        """Accept every value: the choices of the match were checked before it was set up."""

    def draw(self, is_new: bool = False) -> None:
        """Show everything; `is_new`: animate the latest step."""
        raise NotImplementedError

    def show_buttons(self) -> None:
        """Show which buttons can be pressed."""
        raise NotImplementedError

    async def show(self, moved: bool = False) -> None:
        self.draw(moved)

    def refresh(self, is_new: bool = False) -> None:
        """Select the next unit to place after a change, and show everything."""
        if self.unit not in self.units_to_place:
            self.unit = next(iter(self.units_to_place), None)
        self.cursor = None
        self.timer.active = self.playing and self.match.agent is not None
        if is_new:
            self.save()
        self.draw(is_new)

    async def changed(self, moved: bool = False) -> None:
        self.refresh()

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

    # User actions

    def act(self, step: Callable[[], Command]) -> None:
        """Play a step of the person to move, and show errors."""
        with shell.show_errors(without_coordinates):
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
        cell = parse_id(pick.part, "hex", columns * self.match.game.scenario.board.rows)
        at = (cell % columns, cell // columns)
        there = next((unit for unit in self.state.units.values() if (unit.col, unit.row) == at), None)
        if there is not None and at not in self.candidates:
            self.inspect(there.id)
            if there.player == self.match.to_move and self.state.phase != "deployment":
                return  # nothing can be done to it, so nothing is refused
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
        with shell.show_errors(lambda words: address_player(words, self.match.human_seats)):
            self._require_present()
            self.match.take_back()
            self.cancel_decisions()
            self.clear_refusal()
            self.refresh()
            self.save()

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
        if self.now != before or self.slider.value != self.now:  # reset the slider after an invalid value
            self.draw()

    # Agents

    def toggle(self) -> None:
        self.playing = not self.playing
        self.refresh()

    def set_pace(self, seconds: object) -> None:
        with shell.show_errors():
            self.timer.interval = shell.checked(seconds, SPEEDS)
        self.pace.value = self.timer.interval  # reset the toggle after an invalid value

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
        self._deciding, token = True, self.token
        try:
            while count and self.match.agent is not None:
                count -= 1
                step = await asyncio.to_thread(self.match.decide, self.match.state)
                if token is not self.token:  # the tab was closed, or a step was taken back
                    return
                self.match.play(step)
        except UserError as error:
            self.playing = False
            shell.notify(str(error))
        except Exception:
            self.playing = False  # or the error would repeat at every tick
            self.show_buttons()
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


def without_coordinates(message: str) -> str:
    """Return a message without coordinates: the hex that is meant shakes."""
    return re.sub(r"\b(?:on|to|at) \(\d+, \d+\)", "there", message)


def _next(options: list[Option], current: Option | None, by: int) -> Option:
    if current not in options:
        return options[0]
    return options[(options.index(current) + by) % len(options)]
