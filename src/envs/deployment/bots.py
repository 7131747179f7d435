"""Opponents of fixed habits, as agents: they act by the same actions as any player."""

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from src.core.errors import UserError, require
from src.core.play.agent import Agent, Decision
from src.core.play.game import Game, Trait
from src.core.ranges import Fraction, checked
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.placement import Placement
from src.envs.deployment.state import GameState
from src.envs.deployment.style import LUCK, NO_ACTION, Policy, choose


class Bot(Agent):
    """Places by its placement, then does what its weights value most; now and then anything, if it explores."""

    needs = frozenset({Trait.TWO_PLAYER})

    @checked
    def __init__(
        self,
        placement: Placement,
        damage: float,
        threat: float,
        objective: float,
        to_objective: float,
        to_enemy: float,
        explore: Fraction,
    ) -> None:
        self.placement, self.explore = placement, float(explore)
        self.weights = (float(damage), float(threat), float(objective), float(to_objective), float(to_enemy))
        self._policies: WeakKeyDictionary[DeploymentGame, Policy] = WeakKeyDictionary()

    def check(self, game: Game) -> None:
        super().check(game)
        _require_wargame(game)
        self.policy(game)

    def policy(self, game: Game) -> Policy:
        """The bot as the compiled rules want it, in the scenario of that game."""
        assert isinstance(game, DeploymentGame)
        if game not in self._policies:
            if game.deployment_type == "active":
                self.placement.check(game.scenario)
            self._policies[game] = Policy(*self.weights, self.explore, self.placement.ranks(game.world))
        return self._policies[game]

    def decide(self, game: Game, view: GameState, rng: np.random.Generator) -> Decision:
        luck = np.zeros(1, LUCK)
        if self.explore > 0:
            luck["random"] = rng.integers(2**64, dtype=np.uint64)
        action = choose(view.world, view.games, view.i, self.policy(game), luck[0])
        require_action(action)
        return Decision(action)


class Redeployed(Agent):
    """Any agent, with its deployment taken over by a placement: what a deployment is worth, all else equal."""

    needs = frozenset({Trait.TWO_PLAYER})

    def __init__(self, placement: Placement, battle: Agent) -> None:
        self.battle = battle
        self.games_in_step, self.counters = battle.games_in_step, battle.counters  # type: ignore[misc]  # by instance
        self._deployer = Bot(placement, 0, 0, 0, 0, 0, 0)

    def check(self, game: Game) -> None:
        self._deployer.check(game)
        self.battle.check(game)

    def decide(self, game: Game, view: GameState, rng: np.random.Generator) -> Decision:
        return self._counted(self._player(view).decide(game, view, rng))

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        decisions = [Decision(None)] * len(views)
        for player in (self._deployer, self.battle):
            own = [k for k, view in enumerate(views) if self._player(view) is player]
            chosen = player.decide_batch(game, [views[k] for k in own], [rngs[k] for k in own]) if own else []
            for k, decision in zip(own, chosen, strict=True):
                decisions[k] = self._counted(decision)
        return decisions

    def _counted(self, decision: Decision) -> Decision:
        """A placement adds nothing to what the agent that fights has counted."""
        return decision._replace(info={**dict.fromkeys(self.counters, 0), **decision.info})

    def _player(self, view: GameState) -> Agent:
        return self._deployer if view.phase == "deployment" else self.battle


def require_action(action: int) -> None:
    """A placement that leads nowhere is an error; nothing is placed in its stead."""
    if action == NO_ACTION:
        raise UserError("the bot's placement has no free hex left for its next unit: choose another placement")


def _require_wargame(game: Game) -> None:
    require(isinstance(game, DeploymentGame), "it plays the deployment wargame and nothing else")
