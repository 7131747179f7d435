"""One game on the page: the engine's state, who plays, and every step so far.

Nothing is ever copied: an earlier moment is the same game played again from its seed.
"""

from typing import NamedTuple

import numpy as np

from src.core.agent import Agent
from src.core.errors import LabError, require
from src.core.seeding import generator
from src.envs.deployment.account import Account, Step, perform, tell
from src.envs.deployment.bots import Bot
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.placement import FrontLine
from src.envs.deployment.scenario import Hex
from src.envs.deployment.state import GameState


class Player(NamedTuple):
    name: str
    agent: Agent | None  # None: a person at this page
    rng: np.random.Generator


class Match:
    def __init__(self, game: DeploymentGame, players: tuple[Player, Player], seed: int) -> None:
        self.game, self.players, self.seed = game, players, seed
        self.state = self._start()
        self.steps: list[Step] = []
        self.accounts: list[Account] = []
        self._earlier, self._moment = self._start(), 0  # the state that was last looked back at

    def _start(self) -> GameState:
        return self.game.initial(generator(self.seed, "dice"))

    @property
    def is_over(self) -> bool:
        return self.game.outcome(self.state) is not None

    @property
    def to_move(self) -> int:
        """The player, 1 or 2, who acts next."""
        return self.game.to_move(self.state) + 1

    @property
    def agent(self) -> Agent | None:
        """Who acts next, where that is no person."""
        return None if self.is_over else self.players[self.to_move - 1].agent

    @property
    def unconfirmed(self) -> int | None:
        """A person who has placed everything and is asked to confirm before an agent goes on."""
        deployment = self.state.deployment_state
        if self.agent is None or self.state.phase != "deployment":
            return None
        other = 3 - self.to_move
        done = not deployment.deployable_units_by_player[other] and other not in deployment.confirmed_players
        return other if done and self.players[other - 1].agent is None else None

    def do(self, step: Step) -> None:
        """Perform a step. A refused one raises and leaves no trace."""
        self.accounts.append(tell(self.game, self.state, step))
        self.steps.append(step)

    def decide(self) -> Step:
        """What the agent to move would do."""
        player = self.players[self.to_move - 1]
        assert player.agent is not None
        action = player.agent.decide(self.game, self.game.view(self.state), player.rng).action
        if action is None:
            raise LabError(f"player {self.to_move}, {player.name}, does not know what to do")
        return Step("play", (action,))

    def require_person(self) -> None:
        player = self.players[self.to_move - 1]
        over = "the game is over: start a new one"
        require(not self.is_over, over)
        require(player.agent is None, f"it is the turn of player {self.to_move}, {player.name}: let it play first")

    def step_at(self, at: Hex, unit: str | None) -> Step:
        """What picking a hex asks for: to place a unit on it, to aim at the enemy there, or to go there."""
        if self.state.phase == "deployment":
            if unit is None:
                raise LabError("choose a unit of the roster first, then its hex")
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

    def at(self, moment: int) -> GameState:
        """The state after that many steps: the present one, or the game played again up to there."""
        if moment == len(self.steps):
            return self.state
        if moment < self._moment:
            self._earlier, self._moment = self._start(), 0
        for step in self.steps[self._moment : moment]:
            perform(self.game, self._earlier, step)
        self._moment = moment
        return self._earlier


def rehearse(game: DeploymentGame) -> None:
    """A game that nobody sees: what has to be compiled or loaded for it is there when people play."""
    bot = Bot(FrontLine(), damage=1, threat=0, objective=0, to_objective=0, to_enemy=1, explore=0)
    player = Player("rehearsal", bot, generator(0, "rehearsal"))
    match = Match(game, (player, player), 0)
    while not match.is_over:
        match.do(match.decide())
