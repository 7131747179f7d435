"""A game between a learner and its opponent; shared by the single and the vector environment."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..core.play.agent import Agent, opponents_in
from ..core.play.game import TwoPlayerGame, outcome_for_seat
from ..core.play.past_selves import CURRENT, PastSelves
from ..core.seeding import draw


class Reward(Protocol):
    def __call__(self, outcome: int) -> float: ...

    def potential(self, game: Any, state: Any, seat: int) -> float: ...


class Episode:
    """Chance, the learner's seat and the opponent all use `rng`, so seed and actions determine every episode.

    If the opponent is a pool, one member is drawn for each game; of past selves, one of them.
    """

    def __init__(self, game: TwoPlayerGame, opponent: Agent, seats: Sequence[int], reward: Reward) -> None:
        self.game, self.seats, self.reward, self._opponents = game, seats, reward, opponents_in(opponent)
        self.opponent = self._opponents[0]
        self.number = CURRENT  # of the past self that is played against
        self.rng = np.random.default_rng()
        self.state: Any = None
        self.own_seat = 0
        self._potential = 0.0  # when the learner was last to move
        self._start: dict[str, Any] = {}  # generator state at the start of the game
        self._actions: list[int] = []  # of both players since the start

    def start(self) -> None:
        """Start a new game, without any moves yet."""
        self._start, self._actions = dict(self.rng.bit_generator.state), []
        if len(self._opponents) > 1:
            self.opponent = draw(self.rng, self._opponents)
        if isinstance(self.opponent, PastSelves):
            self.number = self.opponent.sample(self.rng)
        self.own_seat = draw(self.rng, self.seats)
        self.state = self.game.initial(self.rng)

    def play(self, action: int) -> None:
        self.state = self.game.play(self.state, action)
        self._actions.append(action)

    @property
    def awaits_opponent(self) -> bool:
        return self.game.outcome(self.state) is None and self.game.to_move(self.state) != self.own_seat

    @property
    def own_outcome(self) -> int | None:
        """Return +1, 0 or -1 if the learner has won, drawn or lost; None while the game continues."""
        outcome = self.game.outcome(self.state)
        return None if outcome is None else outcome_for_seat(self.own_seat, outcome)

    def report_result(self) -> None:
        """Report a finished game to the past selves, but not an aborted one; to be called once per game."""
        if not isinstance(self.opponent, PastSelves) or self.game.is_aborted(self.state):
            return
        if (outcome := self.own_outcome) is not None:
            self.opponent.record(self.number, outcome)

    def collect_reward(self) -> float:
        """Return the reward since the last call; to be called after the opponent has moved.

        The potential of a finished game is 0, so undiscounted potential differences sum to a constant over a game:
        moving back and forth earns nothing beyond the effect of discounting.
        """
        outcome, before = self.own_outcome, self._potential
        if outcome is None:
            self._potential = self.reward.potential(self.game, self.state, self.own_seat)
            return self._potential - before
        self._potential = 0.0
        return self.reward(outcome) - before

    def observation(self) -> np.ndarray:
        return self.game.observe(self.game.view(self.state))

    def action_mask(self) -> np.ndarray:
        """Return the legal actions, (A,) bool."""
        mask = np.zeros(self.game.num_actions, dtype=bool)
        mask[self.game.legal_actions(self.game.view(self.state))] = True
        return mask

    def saved(self) -> dict[str, Any]:
        """Return the generator state at the start and the actions since, because a game state may be any object."""
        saved = {"start": self._start, "actions": list(self._actions), "rng": dict(self.rng.bit_generator.state)}
        return saved | ({"number": self.number} if isinstance(self.opponent, PastSelves) else {})

    def restore(self, saved: dict[str, Any]) -> None:
        """Replay a saved episode. The opponent is not asked again: in self-play it has changed since."""
        self.rng.bit_generator.state = saved["start"]
        self.start()
        self.number = saved.get("number", CURRENT)  # the pool has changed since it was drawn
        for action in saved["actions"]:
            self.play(action)
        self.rng.bit_generator.state = saved["rng"]
        self.collect_reward()


def start_episodes(episodes: Sequence[Episode]) -> None:
    """Start new games, and play opponent moves until the learner is to move."""
    for episode in episodes:
        episode.start()
    let_opponents_move(episodes)
    for episode in episodes:
        episode.collect_reward()


def let_opponents_move(episodes: Sequence[Episode]) -> None:
    """Play opponent moves until the learner is to move or the game is over in every episode; decisions are batched."""
    while waiting := [episode for episode in episodes if episode.awaits_opponent]:
        game, opponent = waiting[0].game, waiting[0].opponent
        views = [game.view(episode.state) for episode in waiting]
        rngs = [episode.rng for episode in waiting]
        if isinstance(opponent, PastSelves):
            decisions = opponent.decide_for([episode.number for episode in waiting], game, views, rngs)
        else:
            decisions = opponent.decide_batch(game, views, rngs)
        for episode, decision in zip(waiting, decisions, strict=True):
            assert decision.action is not None, "an opponent inside an environment must always choose an action"
            episode.play(decision.action)
