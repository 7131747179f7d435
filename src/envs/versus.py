"""A two-player game as one player meets it: a Gymnasium environment with the opponent inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np

from src.core.errors import require
from src.core.play.agent import Agent, check_baselines
from src.core.play.game import TwoPlayerGame
from src.core.ranges import checked
from src.envs.concat import vectorize_against
from src.envs.match import Match, let_opponents_move
from src.envs.sync import SyncVersus

Seat = Literal["first", "second", "random"]
SEATS: dict[Seat, tuple[int, ...]] = {"first": (0,), "second": (1,), "random": (0, 1)}


@dataclass(frozen=True)
class GameReward:
    """Reward for how the game ended, from the learner's side. Subclasses add a potential for unfinished positions."""

    win: float
    draw: float
    loss: float

    def __call__(self, outcome: int) -> float:
        return {1: self.win, 0: self.draw, -1: self.loss}[outcome]

    def potential(self, game: Any, state: Any, seat: int) -> float:
        """Value of an unfinished position for the player in `seat`; a step is rewarded with its change."""
        return 0.0


@dataclass(frozen=True)
class OutcomeReward(GameReward):
    """Nothing but the outcome, which every game has."""


def outcome_values(reward: OutcomeReward) -> tuple[float, float, float]:
    """Return the rewards for win, draw and loss, for games that compute their own rewards and ask for no potential."""
    shaped = type(reward).potential is not GameReward.potential
    require(not shaped, f"the potential of {type(reward).__name__} is not used in this game: leave it out")
    return float(reward(1)), float(reward(0)), float(reward(-1))


class TwoPlayerEnv(gymnasium.Env[np.ndarray, np.int64]):
    """The opponent answers inside `step`, so the agent always sees positions in which it is to move, or the end."""

    @checked
    def __init__(
        self,
        game: TwoPlayerGame,
        opponent: Agent,
        reward: GameReward,
        seat: Seat,
        baselines: Mapping[str, Agent],
    ) -> None:
        opponent.check(game)
        check_baselines(baselines, game)
        self.game, self.opponent, self.reward = game, opponent, reward
        self.seats = SEATS[seat]
        self.baselines = dict(baselines)
        self.action_space = gymnasium.spaces.Discrete(game.num_actions)
        shape = game.observe(game.view(game.initial(np.random.default_rng(0)))).shape
        self.observation_space: gymnasium.spaces.Box = gymnasium.spaces.Box(0.0, 1.0, shape, np.float32)
        self._match = Match(game, opponent, self.seats, reward)

    def vectorize(self, num_envs: int, device: str = "cpu") -> Any:
        """A batch of games of the same configuration, against the same opponent, or a pool in equal shares."""

        def make(opponent: Agent, count: int) -> SyncVersus:
            return SyncVersus(count, self.game, opponent, self.reward, self.seats, self.observation_space)

        return vectorize_against(self.opponent, num_envs, make)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._match.rng = self.np_random
        self._match.begin()
        let_opponents_move([self._match])
        self._match.settle()
        return self._match.observation(), {"seat": self._match.own_seat}

    def step(self, action: int | np.int64) -> tuple[np.ndarray, float, bool, bool, dict]:
        self._match.play(int(action))
        let_opponents_move([self._match])
        reward, outcome = self._match.settle(), self._match.own_outcome
        info: dict[str, Any] = {"seat": self._match.own_seat}
        if outcome is None:
            return self._match.observation(), reward, False, False, info
        return self._match.observation(), reward, True, False, info | {"outcome": outcome}

    def action_masks(self) -> np.ndarray:
        return self._match.mask()

    def render(self) -> str:
        return self.game.render(self._match.state)


class VersusEnv(TwoPlayerEnv):
    """Any game, rewarded by its outcome."""

    def __init__(
        self, game: TwoPlayerGame, opponent: Agent, reward: OutcomeReward, seat: Seat, baselines: Mapping[str, Agent]
    ) -> None:
        super().__init__(game, opponent, reward, seat, baselines)
