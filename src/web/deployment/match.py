"""A match of the wargame, with a description of every step."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ...core.errors import UserError, require
from ...core.play.agent import Agent
from ...core.seeding import generator
from ...envs.deployment.bots import Bot
from ...envs.deployment.bots.placement import FrontLine
from ...envs.deployment.game import DeploymentGame
from ...envs.deployment.rules.battle import may_be_chosen
from ...envs.deployment.rules.scenario import Hex
from ...envs.deployment.rules.state import GameState
from ...envs.deployment.step_report import Command, StepReport, apply_and_describe, apply_command
from ..match import Match

METHODS = ("play", "deploy_unit", "undeploy_unit", "confirm_deployment", "pass_deployment")  # of steps


class Seat(NamedTuple):
    name: str
    agent: Agent | None  # None: a person
    rng: np.random.Generator


class DeploymentMatch(Match[GameState, Command, StepReport]):
    """Moves are steps, because undeploying and confirming are not actions of the game."""

    game: DeploymentGame

    def __init__(self, game: DeploymentGame, seats: tuple[Seat, Seat], seed: int) -> None:
        human_seats = {number for number, seat in enumerate(seats) if seat.agent is None}
        super().__init__(game, lambda: game.initial(generator(seed, "dice")), human_seats)
        self.seats, self.seed = seats, seed

    def apply(self, state: GameState, move: Command) -> GameState:
        return apply_command(self.game, state, move)

    def play(self, move: Command, note: StepReport | None = None) -> None:
        """Perform a step; an illegal one raises and changes nothing."""
        report = apply_and_describe(self.game, self.state, move)
        self.moves.append(move)
        self.notes.append(report)

    @property
    def start(self) -> int:
        return self.seed

    def moves_as_json(self) -> list[Any]:
        return [
            [move.method, [one if isinstance(one, str) else int(one) for one in move.arguments]] for move in self.moves
        ]

    def read_move(self, value: Any) -> Command:
        match value:
            case [str(method), list(arguments)] if method in METHODS and all(
                type(one) in (int, str) for one in arguments
            ):
                return Command(method, tuple(arguments))
        raise UserError(f"{str(value)[:40]!r} is not a step")

    def restore(self, start: Any, moves: Sequence[Any]) -> None:
        """Play the steps again, to describe them."""
        for value in moves:
            self.play(self.read_move(value))

    @property
    def reports(self) -> list[StepReport]:
        return cast(list[StepReport], self.notes)

    @property
    def to_move(self) -> int:
        """The player to move, 1 or 2."""
        return self.seat + 1

    @property
    def agent(self) -> Agent | None:
        """The agent to move; None for a person or at the end."""
        return None if self.is_over else self.seats[self.seat].agent

    @property
    def unconfirmed(self) -> int | None:
        """The person who has placed every unit and must confirm before the game continues."""
        return self.state.deployment_state.unconfirmed_player

    def decide(self, state: GameState | None = None) -> Command:
        """Return the step of the agent to move; `state`: where, if the match may go on or back meanwhile."""
        state = self.state if state is None else state
        seat = self.game.to_move(state)
        player = self.seats[seat]
        assert player.agent is not None
        action = player.agent.decide(self.game, self.game.view(state), player.rng).action
        if action is None:
            raise UserError(f"player {seat + 1}, {player.name}, chose no move in this position")
        return Command("play", (action,))

    def require_human_turn(self) -> None:
        player = self.seats[self.seat]
        require(not self.is_over, "the game is over: start a new one")
        require(player.agent is None, f"it is the turn of player {self.to_move}, {player.name}: let it play first")

    def step_at(self, at: Hex, unit: str | None) -> Command:
        """Return the step for a clicked hex: place a unit, attack the enemy there, or move there."""
        if self.state.phase == "deployment":
            if unit is None:
                raise UserError("choose a unit in the roster first, then its hex")
            return Command("deploy_unit", (unit, *at))
        cell = self.state.cell_of(at)
        seat, there = self.to_move - 1, int(self.state.games.occupants[self.state.i, cell])
        if there >= 0 and there // self.state.slots != seat:
            return Command("play", (self.game.actions.attack(there),))
        return Command("play", (self.game.actions.move_to(seat, cell),))

    def candidates(self, unit: str | None) -> list[Hex]:
        """Return the hexes (column, row) of the legal placements, moves or targets of a unit."""
        actions, legal = self.game.actions, self.game.legal_actions(self.state)
        if self.state.phase == "deployment":
            number = None if unit is None else self.state.number(unit)
            slot = -1 if number is None or number // self.state.slots != self.to_move - 1 else number % self.state.slots
            legal = [action for action in legal if actions.slots_of(action)[0] == slot]
        hexes = (actions.target_hex(self.state, action) for action in legal)
        return sorted({one for one in hexes if one is not None})

    def can_choose_instead(self, unit: str) -> bool:
        """Whether a unit of the player to move may act instead of the active one, which the latest step has chosen."""
        if unit == self.state.active_unit_id:
            return False
        u = self.state.number(unit)
        return self.game.world.settings.is_choice and may_be_chosen(self.game.world, self.state.games, self.state.i, u)

    def latest_placement(self) -> str | None:
        """Return the unit placed last by the player to move."""
        state, units = self.state, self.state.games.units[self.state.i]
        own = [u for u in state.numbers if u // state.slots == self.seat and units["deployed"][u]]
        return state.unit_id(max(own, key=lambda u: units["order"][u])) if own else None

    def why_not_take_back(self) -> str | None:
        """Return why the latest step cannot be taken back; None if a person can.

        What a person learns from a step must not be used: the dice it rolled, or what the other side did after it.
        """
        if self.is_over:
            return "the game is over: start a new one"
        if not self.moves:
            return "there is nothing to take back yet"
        last = self.reports[-1]
        if last.action.startswith("confirm"):
            return "a confirmed deployment cannot be taken back"
        if last.player - 1 not in self.human_seats:
            return f"player {last.player} has acted since: only your own latest steps can be taken back"
        if last.dice is not None:
            return "dice were rolled: what was done before them cannot be taken back"
        if last.phase == "deployment" != self.state.phase:
            return "a confirmed deployment cannot be taken back"
        if last.phase == "deployment" and not last.action.startswith("deploy_unit"):
            return "only placements can be taken back during the deployment"
        return None

    def take_back(self) -> None:
        refusal = self.why_not_take_back()
        require(refusal is None, refusal or "")
        self.cut(len(self.moves) - 1)

    def place_rest(self) -> None:
        """Place the remaining units on the front line while it is this player's turn."""
        helper, seat = Bot(FrontLine("first"), 0, 0, 0, 0, 0, 0), self.seat
        while self.state.phase == "deployment" and self.seat == seat and not self.is_over and self.unconfirmed is None:
            action = helper.decide(self.game, self.state, self.seats[seat].rng).action
            self.play(Command("play", (action,)))


def warm_up(game: DeploymentGame) -> None:
    """Play a game of two bots, so that kernels are compiled before users play."""
    bot = Bot(FrontLine("first"), damage=1, threat=0, objective=0, to_objective=0, to_enemy=1, explore=0)
    seat = Seat("warm-up", bot, generator(0, "warm-up"))
    match = DeploymentMatch(game, (seat, seat), 0)
    while not match.is_over:
        waits = match.unconfirmed
        match.play(match.decide() if waits is None else Command("confirm_deployment", (waits,)))
