"""One game between a learner and its opponent, as the single and the batched environment play it."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from src.core.play.agent import Agent, opponents_in
from src.core.play.game import TwoPlayerGame, outcome_for_seat
from src.core.seeding import draw


class Reward(Protocol):
    def __call__(self, outcome: int) -> float: ...

    def potential(self, game: Any, state: Any, seat: int) -> float: ...


class Match:
    """Chance, the learner's seat and the opponent all draw from `rng`, so a match is its seed and its actions.

    Of a pool of opponents, one member is drawn for each game.
    """

    def __init__(self, game: TwoPlayerGame, opponent: Agent, seats: Sequence[int], reward: Reward) -> None:
        self.game, self.seats, self.reward, self._opponents = game, seats, reward, opponents_in(opponent)
        self.opponent = self._opponents[0]
        self.rng = np.random.default_rng()
        self.state: Any = None
        self.own_seat = 0
        self._potential = 0.0  # when the learner was last to move
        self._start: dict[str, Any] = {}  # of the generator, when the game began
        self._actions: list[int] = []  # of both players since then

    def begin(self) -> None:
        """A new game, in which nobody has moved yet."""
        self._start, self._actions = dict(self.rng.bit_generator.state), []
        if len(self._opponents) > 1:
            self.opponent = draw(self.rng, self._opponents)
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
        """+1, 0 or -1 as the learner won, drew or lost; None while the game goes on."""
        outcome = self.game.outcome(self.state)
        return None if outcome is None else outcome_for_seat(self.own_seat, outcome)

    def settle(self) -> float:
        """Return the reward since the last call, once the opponent has moved.

        The potential of a finished game is 0, so that the undiscounted changes of the potential over a game add up to a
        constant: going back and forth collects nothing but what the discount leaves of it.
        """
        outcome, before = self.own_outcome, self._potential
        if outcome is None:
            self._potential = self.reward.potential(self.game, self.state, self.own_seat)
            return self._potential - before
        self._potential = 0.0
        return self.reward(outcome) - before

    def observation(self) -> np.ndarray:
        return self.game.observe(self.game.view(self.state))

    def mask(self) -> np.ndarray:
        """(A,) bool: the legal actions."""
        mask = np.zeros(self.game.num_actions, dtype=bool)
        mask[self.game.legal_actions(self.game.view(self.state))] = True
        return mask

    def saved(self) -> dict[str, Any]:
        """The match in plain values: how it began and what was played, because a state may be any value."""
        return {"start": self._start, "actions": list(self._actions), "rng": dict(self.rng.bit_generator.state)}

    def restore(self, saved: dict[str, Any]) -> None:
        """Play a saved match again. The opponent is not asked: a learner on its side has changed since."""
        self.rng.bit_generator.state = saved["start"]
        self.begin()
        for action in saved["actions"]:
            self.play(action)
        self.rng.bit_generator.state = saved["rng"]
        self.settle()


def let_opponents_move(matches: Sequence[Match]) -> None:
    """Until the learner is to move in every match, or it is over. All opponents decide at once, as networks like it."""
    while waiting := [match for match in matches if match.awaits_opponent]:
        game, opponent = waiting[0].game, waiting[0].opponent
        views = [game.view(match.state) for match in waiting]
        decisions = opponent.decide_batch(game, views, [match.rng for match in waiting])
        for match, decision in zip(waiting, decisions, strict=True):
            assert decision.action is not None, "an opponent inside an environment plays to the end"
            match.play(decision.action)
