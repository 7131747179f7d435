"""Agents: map a view of a position to a decision."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..errors import UserError, require
from ..ranges import Fraction, checked
from ..seeding import draw
from .capabilities import SupportsArrays
from .game import Game, Trait
from .search_interface import DepthResult

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Decision(NamedTuple):
    action: int | None  # None: the player resigns, which counts as a loss
    info: Mapping[str, Any] = NOTHING  # named values about the choice, such as a score or probabilities
    plan: Sequence[int] = ()  # actions to play next without another decision, whatever the result of `action`


class Line(NamedTuple):
    """One move of an analysis."""

    score: str  # value for the player who makes the move, in the agent's own units
    actions: tuple[int, ...]  # the move and its principal variation


class Agent(ABC):
    """Agents keep no state of a game in progress: the view has all that they may use.

    Thus one agent can play any number of games in lockstep, and both seats of each.
    """

    needs: ClassVar[frozenset[Trait]] = frozenset()
    deterministic: bool = False  # the same view always gives the same decision
    is_timed: bool = False  # decisions depend on the speed of the machine
    counters: ClassVar[tuple[str, ...]] = ()  # keys of `info` that an evaluation sums over a game
    games_in_step: ClassVar[int] = 1  # batch size of an evaluation; networks gain from batching
    trained_in: Any = None  # the configuration of the environment of a saved run that the agent was loaded from

    def check(self, game: Game) -> None:
        """Raise `UserError` if this agent cannot play `game`."""
        require_traits(self.needs, game)

    def reset(self) -> None:  # noqa: B027 (most have nothing to forget)
        """Forget earlier decisions, such as a table that a search keeps, so that later ones do not depend on them."""

    @abstractmethod
    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        """Choose for the player to move; `rng` is this game's own generator for this player."""

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        """Return one decision per view. Agents that gain from batching (networks) override this."""
        return [self.decide(game, view, rng) for view, rng in zip(views, rngs, strict=True)]

    def analyze(self, game: Game, view: Any, count: int) -> list[Line]:
        """Return at most `count` moves with scores, best first, if the agent scores moves."""
        raise UserError("this agent does not score its moves: choose one that searches, such as agent=alphabeta")


@runtime_checkable
class StoppableAgent(Protocol):
    """An agent whose analysis reports every depth and can be stopped."""

    def analyze(self, game: Any, view: Any, count: int, report: Callable[[DepthResult], None] = ...) -> list[Line]:
        """As `Agent.analyze`; call `report` after every depth, the first of which is always searched."""

    def stop(self) -> None:
        """End the running analyses, which return what they have found; may be called from another thread."""


@runtime_checkable
class ClockAgent(Protocol):
    """An agent that distributes the time of a game over its moves."""

    def decide_by_clock(self, game: Any, view: Any, left: float, increment: float) -> Decision:
        """Choose with `left` seconds on the clock of the player to move, which gets `increment` more after the move."""


def require_traits(needs: frozenset[Trait], game: Game) -> None:
    missing = " and ".join(trait for trait in Trait if trait in needs - game.traits)
    require(not missing, f"it needs a game {missing}")


class RandomAgent(Agent):
    """Uniform over `Game.random_actions`."""

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        return Decision(draw(rng, game.random_actions(view)))


class SelfPlay(Agent):
    """The learner as its own opponent: plays like the agent last passed to `set_agent`.

    A fraction `explore` of its moves is random, so that the learner also meets moves that it would not play.
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
        return self._explored(self.learner.decide_batch(game, views, rngs), game, views, rngs)

    def choose_actions(
        self, observations: np.ndarray, masks: np.ndarray, rngs: Sequence[np.random.Generator]
    ) -> np.ndarray:
        return self._actions_of(self.learner, observations, masks, rngs)

    def _actions_of(
        self, agent: Agent, observations: np.ndarray, masks: np.ndarray, rngs: Sequence[np.random.Generator]
    ) -> np.ndarray:
        """Return the actions of an agent, with the same random moves as `_explored`."""
        assert isinstance(agent, SupportsArrays), "see `acts_on_arrays`"
        actions: np.ndarray = agent.choose_actions(observations, masks, rngs)
        if self.explore > 0:
            for i, (mask, rng) in enumerate(zip(masks, rngs, strict=True)):
                if rng.random() < self.explore:
                    actions[i] = draw(rng, np.flatnonzero(mask).tolist())
        return actions

    def _explored(
        self, decisions: list[Decision], game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]
    ) -> list[Decision]:
        """Replace a fraction `explore` of the decisions by random moves."""
        if self.explore == 0:
            return decisions
        return [
            Decision(draw(rng, game.random_actions(view))) if rng.random() < self.explore else decision
            for decision, view, rng in zip(decisions, views, rngs, strict=True)
        ]

    @property
    def learner(self) -> Agent:
        if self._current is None:
            raise UserError("agent=self copies the agent that is trained or evaluated, and there is none here")
        return self._current


class OpponentPool(Agent):
    """Several opponents to train against; each game is played against one of them.

    The environment chooses it from `opponents_in`. The pool itself makes no decisions: it would get one view at a time,
    and a game must not change its opponent half way.
    """

    def __init__(self, members: Mapping[str, Agent]) -> None:
        require(bool(members), "members is empty: an opponent pool needs at least one, such as members.random")
        for name, member in members.items():
            require(
                not isinstance(member, SelfPlay | OpponentPool),
                f"members.{name} must be a fixed agent, neither agent=self nor another opponent pool",
            )
        self.members = dict(members)

    def check(self, game: Game) -> None:
        for member in self.members.values():
            member.check(game)

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        raise UserError(
            "an opponent pool is for training only (agent@env.opponent): "
            f"choose one of its members, {', '.join(self.members)}"
        )


def acts_on_arrays(agent: Agent) -> bool:
    """Whether an agent can be asked by `choose_actions`; in self-play it is the learner that has to have it."""
    return isinstance(agent.learner if isinstance(agent, SelfPlay) else agent, SupportsArrays)


def opponents_in(agent: Agent) -> list[Agent]:
    """Return the members of a pool, or the agent alone."""
    return list(agent.members.values()) if isinstance(agent, OpponentPool) else [agent]


def check_baselines(baselines: Mapping[str, Agent], game: Game) -> None:
    """Raise `UserError` if an agent cannot serve as a baseline in `game`."""
    for agent in baselines.values():
        agent.check(game)
        require(
            not isinstance(agent, SelfPlay),
            "env.baselines: agent=self is the evaluated agent itself and cannot be a baseline",
        )
        require(
            not isinstance(agent, OpponentPool),
            "env.baselines: an opponent pool is for training only; list its members as baselines instead",
        )
