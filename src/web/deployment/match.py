"""A match of the wargame: who plays, and every step so far with an account of it."""

from typing import NamedTuple, cast

import numpy as np

from src.core.errors import UserError, require
from src.core.play.agent import Agent
from src.core.seeding import generator
from src.envs.deployment.account import Account, Step, apply_and_describe, perform
from src.envs.deployment.bots import Bot
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.placement import FrontLine
from src.envs.deployment.scenario import Hex
from src.envs.deployment.state import GameState
from src.web.match import Match


class Seat(NamedTuple):
    """Who plays one side."""

    name: str
    agent: Agent | None  # None: a person at this page
    rng: np.random.Generator


class DeploymentMatch(Match[GameState, Step, Account]):
    """A move is a step, as not everything that a person does in the deployment is an action."""

    game: DeploymentGame

    def __init__(self, game: DeploymentGame, seats: tuple[Seat, Seat], seed: int) -> None:
        persons = {number for number, seat in enumerate(seats) if seat.agent is None}
        super().__init__(game, lambda: game.initial(generator(seed, "dice")), persons)
        self.seats, self.seed = seats, seed

    def apply(self, state: GameState, move: Step) -> GameState:
        return perform(self.game, state, move)

    def play(self, move: Step, note: Account | None = None) -> None:
        """Perform a step. A refused one raises and leaves no trace."""
        account = apply_and_describe(self.game, self.state, move)
        self.moves.append(move)
        self.notes.append(account)

    @property
    def accounts(self) -> list[Account]:
        """What came of each step."""
        return cast(list[Account], self.notes)

    @property
    def to_move(self) -> int:
        """The player, 1 or 2, who acts next."""
        return self.seat + 1

    @property
    def agent(self) -> Agent | None:
        """Who acts next, where that is no person."""
        return None if self.is_over else self.seats[self.seat].agent

    @property
    def unconfirmed(self) -> int | None:
        """A person who has placed everything and is asked to confirm before an agent goes on."""
        deployment = self.state.deployment_state
        if self.agent is None or self.state.phase != "deployment":
            return None
        other = 3 - self.to_move
        done = not deployment.deployable_units_by_player[other] and other not in deployment.confirmed_players
        return other if done and other - 1 in self.persons else None

    def decide(self) -> Step:
        """What the agent to move would do."""
        player = self.seats[self.seat]
        assert player.agent is not None
        action = player.agent.decide(self.game, self.game.view(self.state), player.rng).action
        if action is None:
            raise UserError(f"player {self.to_move}, {player.name}, does not know what to do")
        return Step("play", (action,))

    def require_person(self) -> None:
        player = self.seats[self.seat]
        over = "the game is over: start a new one"
        require(not self.is_over, over)
        require(player.agent is None, f"it is the turn of player {self.to_move}, {player.name}: let it play first")

    def step_at(self, at: Hex, unit: str | None) -> Step:
        """What picking a hex asks for: to place a unit on it, to aim at the enemy there, or to go there."""
        if self.state.phase == "deployment":
            if unit is None:
                raise UserError("choose a unit of the roster first, then its hex")
            return Step("deploy_unit", (unit, *at))
        cell = self.state.cell_of(at)
        seat, there = self.to_move - 1, int(self.state.games.cells["occupant"][self.state.i, cell])
        if there >= 0 and there // self.state.slots != seat:
            return Step("play", (self.game.actions.aim(there),))
        return Step("play", (self.game.actions.go(seat, cell),))

    def candidates(self, unit: str | None) -> list[Hex]:
        """Where the unit may be placed, go or aim, by column and row; read from the engine's legal actions alone."""
        actions, legal = self.game.actions, self.game.legal_actions(self.state)
        if self.state.phase == "deployment":
            number = None if unit is None else self.state.number(unit)
            slot = -1 if number is None or number // self.state.slots != self.to_move - 1 else number % self.state.slots
            legal = [action for action in legal if actions.slots_of(action)[0] == slot]
        hexes = (actions.points_at(self.state, action) for action in legal)
        return sorted({one for one in hexes if one is not None})

    def latest_placement(self) -> str | None:
        """The unit that who deploys now has placed last."""
        state, units = self.state, self.state.games.units[self.state.i]
        own = [u for u in state.numbers if u // state.slots == self.seat and units["deployed"][u]]
        return state.unit_id(max(own, key=lambda u: units["order"][u])) if own else None

    def place_rest(self) -> None:
        """Place what is left in front, as long as it is this player's turn."""
        helper, seat = Bot(FrontLine(), 0, 0, 0, 0, 0, 0), self.seat
        while self.state.phase == "deployment" and self.seat == seat and not self.is_over:
            action = helper.decide(self.game, self.state, self.seats[seat].rng).action
            self.play(Step("play", (action,)))


def warm_up(game: DeploymentGame) -> None:
    """A game that nobody sees: what has to be compiled or loaded for it is there when people play."""
    bot = Bot(FrontLine(), damage=1, threat=0, objective=0, to_objective=0, to_enemy=1, explore=0)
    seat = Seat("rehearsal", bot, generator(0, "rehearsal"))
    match = DeploymentMatch(game, (seat, seat), 0)
    while not match.is_over:
        match.play(match.decide())
