"""A two-player game as one player meets it: a Gymnasium environment with the opponent inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from src.core.agent import Agent, check_baselines
from src.core.errors import require
from src.core.game import TwoPlayerGame, seen_from
from src.core.seeding import draw

SEATS: dict[str, tuple[int, ...]] = {"first": (0,), "second": (1,), "random": (0, 1)}


@dataclass(frozen=True)
class OutcomeReward:
    """Reward for how the game ended, told from the learner's side."""

    win: float
    draw: float
    loss: float

    def __call__(self, outcome: int) -> float:
        return {1: self.win, 0: self.draw, -1: self.loss}[outcome]


class VersusEnv(gymnasium.Env[np.ndarray, np.int64]):
    """The opponent answers inside `step`, so the agent always sees positions in which it is to move, or the end."""

    def __init__(
        self,
        game: TwoPlayerGame,
        opponent: Agent,
        reward: OutcomeReward,
        seat: str,
        baselines: Mapping[str, Agent],
    ) -> None:
        require(seat in SEATS, f"env.seat={seat} is unknown: choose one of {', '.join(SEATS)}")
        opponent.check(game)
        check_baselines(baselines, game)
        self.game, self.opponent, self.reward = game, opponent, reward
        self.seats = SEATS[seat]
        self.baselines = dict(baselines)
        self.action_space = gymnasium.spaces.Discrete(game.num_actions)
        shape = game.observe(game.view(game.initial(np.random.default_rng(0)))).shape
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, shape, np.float32)
        self._state: Any = None
        self._own_seat = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._own_seat = draw(self.np_random, self.seats)
        self._state = self.game.initial(self.np_random)
        self._let_opponent_move()
        return self._observation(), {"seat": self._own_seat}

    def step(self, action: int | np.int64) -> tuple[np.ndarray, float, bool, bool, dict]:
        self._state = self.game.play(self._state, int(action))
        self._let_opponent_move()
        outcome = self.game.outcome(self._state)
        if outcome is None:
            return self._observation(), 0.0, False, False, {"seat": self._own_seat}
        own_outcome = seen_from(self._own_seat, outcome)
        info = {"seat": self._own_seat, "outcome": own_outcome}
        return self._observation(), self.reward(own_outcome), True, False, info

    def action_masks(self) -> np.ndarray:
        mask = np.zeros(self.game.num_actions, dtype=bool)
        mask[self.game.legal_actions(self.game.view(self._state))] = True
        return mask

    def render(self) -> str:
        return self.game.render(self._state)

    def _let_opponent_move(self) -> None:
        while self.game.outcome(self._state) is None and self.game.to_move(self._state) != self._own_seat:
            decision = self.opponent.decide(self.game, self.game.view(self._state), self.np_random)
            assert decision.action is not None, "an opponent inside an environment plays to the end"
            self._state = self.game.play(self._state, decision.action)

    def _observation(self) -> np.ndarray:
        return self.game.observe(self.game.view(self._state))
