"""Scripted opponents as agents; they use the same actions as any player."""

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ....core.errors import UserError, require
from ....core.play.agent import Agent, Decision
from ....core.play.game import Game, Trait
from ....core.ranges import Fraction, checked
from ..game import DeploymentGame
from ..rules.state import GameState
from .placement import Deterministic, Placement
from .policy import NO_ACTION, RNG, Policy, choose


class Bot(Agent):
    """A scripted player: units are placed by `placement`, then the action with the highest weighted score is chosen.

    A fraction `explore` of the actions is drawn from all legal ones.
    """

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings, for other processes."""
        return Bot, (self.placement, *self.weights, self.explore)

    def check(self, game: Game) -> None:
        super().check(game)
        require(isinstance(game, DeploymentGame), "it plays the deployment wargame only")
        self.policy(game)

    def policy(self, game: Game) -> Policy:
        """Return the parameters of the bot for the compiled rules, in the scenario of the game."""
        assert isinstance(game, DeploymentGame)
        if game not in self._policies:
            if game.deployment_type == "active":
                self.placement.check(game.scenario)
            self._policies[game] = Policy(*self.weights, self.explore, self.placement.ranks(game.world))
        return self._policies[game]

    def decide(self, game: Game, view: GameState, rng: np.random.Generator) -> Decision:
        source = np.zeros(1, RNG)
        if self.explore > 0 or view.phase == "deployment":
            source["random"] = rng.integers(2**64, dtype=np.uint64)
        action = choose(view.world, view.games, view.i, self.policy(game), source[0])
        require_action(action)
        return Decision(action)


class Redeployed(Agent):
    """An agent whose deployment is replaced by a placement, to measure the effect of the deployment alone."""

    needs = frozenset({Trait.TWO_PLAYER})

    def __init__(self, placement: Placement, battle: Agent) -> None:
        self.battle = battle
        self.games_in_step, self.counters = battle.games_in_step, battle.counters  # type: ignore[misc]  # by instance
        self._bot = Bot(placement, 0, 0, 0, 0, 0, 0)

    def check(self, game: Game) -> None:
        self._bot.check(game)
        self.battle.check(game)

    def decide(self, game: Game, view: GameState, rng: np.random.Generator) -> Decision:
        return self._counted(self._player(view).decide(game, view, rng))

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        decisions = [Decision(None)] * len(views)
        for player in (self._bot, self.battle):
            own = [k for k, view in enumerate(views) if self._player(view) is player]
            chosen = player.decide_batch(game, [views[k] for k in own], [rngs[k] for k in own]) if own else []
            for k, decision in zip(own, chosen, strict=True):
                decisions[k] = self._counted(decision)
        return decisions

    def _counted(self, decision: Decision) -> Decision:
        """Set counters of the battle agent that the bot does not report to 0."""
        return decision._replace(info={**dict.fromkeys(self.counters, 0), **decision.info})

    def _player(self, view: GameState) -> Agent:
        return self._bot if view.phase == "deployment" else self.battle


class FirstUnit(Redeployed):
    """An agent that acts with the first eligible unit by id where its player chooses one (`activation: choice`).

    For networks that were trained with `activation: by_id`: they have never seen a position without an active unit.
    """

    def __init__(self, battle: Agent) -> None:
        super().__init__(Deterministic(), battle)

    def check(self, game: Game) -> None:
        self._bot.check(game)
        assert isinstance(game, DeploymentGame)  # or the bot has refused it
        self.battle.check(game.by_id())

    def _player(self, view: GameState) -> Agent:
        return self._bot if view.phase != "deployment" and view.active_unit_id is None else self.battle


def require_action(action: int) -> None:
    """Raise `UserError` if the placement has no legal hex for the next unit; there is no fallback."""
    if action == NO_ACTION:
        raise UserError(
            "a placement (of the bot, or of env.placements) has no free hex left for its next unit: choose another one"
        )
