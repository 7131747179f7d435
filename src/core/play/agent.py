"""What plays a game: anything that turns a view of a position into a decision."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from src.core.errors import UserError, require
from src.core.play.game import Game, Trait
from src.core.ranges import Fraction, checked
from src.core.seeding import draw

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Decision(NamedTuple):
    action: int | None  # None: the player stops here, which counts as a loss
    info: Mapping[str, Any] = NOTHING  # named values about the choice, such as a score or probabilities
    plan: Sequence[int] = ()  # actions to play next, whatever the outcome of this one, without asking again


class Line(NamedTuple):
    """One move of an analysis."""

    score: str  # what the move is worth to the player who makes it, in the agent's own terms
    actions: tuple[int, ...]  # the move, and how the agent sees the game go on


class Agent(ABC):
    """Agents hold no state of a game in progress: everything they may use is in the view.

    That is why one agent can play a thousand games in step, and both seats of each.
    """

    needs: ClassVar[frozenset[Trait]] = frozenset()
    deterministic: bool = False  # the same view always gets the same decision
    counters: ClassVar[tuple[str, ...]] = ()  # keys of `info` that evaluation sums up over a game
    games_in_step: ClassVar[int] = 1  # how many games at once are worth its while; networks gain from batching

    def check(self, game: Game) -> None:
        """Raise `UserError` where this agent cannot play `game`."""
        require_traits(self.needs, game)

    @abstractmethod
    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        """Choose for the player to move; `rng` is this game's own generator for this player."""

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        """One decision a view. Players that gain from batching (networks) override this."""
        return [self.decide(game, view, rng) for view, rng in zip(views, rngs, strict=True)]

    def analyse(self, game: Game, view: Any, count: int) -> list[Line]:
        """The best moves, at most `count`, best first; for agents that weigh moves against each other."""
        raise UserError("this agent does not weigh its moves: choose one that searches, such as agent=alphabeta")


def require_traits(needs: frozenset[Trait], game: Game) -> None:
    missing = " and ".join(trait for trait in Trait if trait in needs - game.traits)
    require(not missing, f"it needs a game {missing}")


class RandomAgent(Agent):
    """Uniform over the legal actions, as far as they lead anywhere."""

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        return Decision(draw(rng, game.random_actions(view)))


class SelfPlay(Agent):
    """The learner on the other side of the board: it plays like the agent it was last handed.

    A share `explore` of its moves is drawn from all legal ones, so that the learner also meets what it would not play.
    """

    @checked
    def __init__(self, explore: Fraction = 0.0) -> None:
        self.explore = float(explore)
        self._current: Agent | None = None

    def set_agent(self, agent: Agent) -> None:
        self._current = agent

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        return self.decide_batch(game, [view], [rng])[0]

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        decisions = self._learner().decide_batch(game, views, rngs)
        if self.explore == 0:
            return decisions
        return [
            Decision(draw(rng, game.random_actions(view))) if rng.random() < self.explore else decision
            for decision, view, rng in zip(decisions, views, rngs, strict=True)
        ]

    def _learner(self) -> Agent:
        if self._current is None:
            raise UserError("agent=self plays like a learner that it was given, and there is none here")
        return self._current


class OpponentPool(Agent):
    """Several opponents to train against; each game is played against one of them.

    Which one is the environment's choice: it asks `opponents_in` for the members. The pool itself decides nothing,
    because a decision is made from one view and a game must not change its opponent half way.
    """

    def __init__(self, members: Mapping[str, Agent]) -> None:
        require(bool(members), "an opponent pool needs at least one member, such as members.random")
        for name, member in members.items():
            require(
                not isinstance(member, SelfPlay | OpponentPool),
                f"members.{name}: an opponent pool holds agents that are fixed, neither agent=self nor another pool",
            )
        self.members = dict(members)

    def check(self, game: Game) -> None:
        for member in self.members.values():
            member.check(game)

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        raise UserError(
            "an opponent pool is for training (agent@env.opponent) and plays no single game: "
            f"choose one of its members, {', '.join(self.members)}"
        )


def opponents_in(agent: Agent) -> list[Agent]:
    """Return who a game may be played against: the members of a pool, or the agent alone."""
    return list(agent.members.values()) if isinstance(agent, OpponentPool) else [agent]


def check_baselines(baselines: Mapping[str, Agent], game: Game) -> None:
    """Refuse agents that a result in `game` cannot be measured against."""
    for agent in baselines.values():
        agent.check(game)
        require(
            not isinstance(agent, SelfPlay),
            "env.baselines: self is whoever is being measured, and so nobody to be measured against",
        )
        require(
            not isinstance(agent, OpponentPool),
            "env.baselines: an opponent pool is for training; list its members to be measured against each",
        )
