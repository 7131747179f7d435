"""Two-player games as single-agent Gymnasium environments: the opponent moves inside `step`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np

from ..core.errors import require
from ..core.play.agent import Agent, check_baselines
from ..core.play.game import TwoPlayerGame
from ..core.ranges import checked
from .episode import Episode, let_opponents_move, start_episodes
from .masked_env import RENDER_FPS, RENDER_MODES, MaskedDiscrete, rendered
from .opponent_pool_vec_env import vectorize_against
from .python_vec_env import PythonVectorEnv

Seat = Literal["first", "second", "random"]
SEATS: dict[Seat, tuple[int, ...]] = {"first": (0,), "second": (1,), "random": (0, 1)}


@dataclass(frozen=True)
class GameReward:
    """Reward for the outcome, for the learner's side. Subclasses add a potential for unfinished positions."""

    win: float
    draw: float
    loss: float

    def __call__(self, outcome: int) -> float:
        return {1: self.win, 0: self.draw, -1: self.loss}[outcome]

    def potential(self, game: Any, state: Any, seat: int) -> float:
        """Return the value of an unfinished position for `seat`; each step is rewarded with its change."""
        return 0.0


@dataclass(frozen=True)
class OutcomeReward(GameReward):
    """Reward for the outcome only; works for every game."""


def outcome_values(reward: OutcomeReward) -> tuple[float, float, float]:
    """Return the rewards for win, draw and loss, for games that compute their own rewards and ask for no potential."""
    shaped = type(reward).potential is not GameReward.potential
    require(not shaped, f"the potential of {type(reward).__name__} is not used in this game: leave it out")
    return float(reward(1)), float(reward(0)), float(reward(-1))


class TwoPlayerEnv(gymnasium.Env[np.ndarray, np.int64]):
    """The opponent replies inside `step`, so the learner is to move in every observation but the last."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}
    render_mode: str | None = "ansi"

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
        self.action_space = MaskedDiscrete(game.num_actions, self._legal)
        shape = game.observe(game.view(game.initial(np.random.default_rng(0)))).shape
        self.observation_space: gymnasium.spaces.Box = gymnasium.spaces.Box(0.0, 1.0, shape, np.float32)
        self._episode = Episode(game, opponent, self.seats, reward)

    def vectorize(self, num_envs: int, device: str = "cpu") -> Any:
        """Return a batch of games with this configuration; the games are split evenly over a pool of opponents."""

        def make(opponent: Agent, count: int) -> PythonVectorEnv:
            return PythonVectorEnv(count, self.game, opponent, self.reward, self.seats, self.observation_space)

        return vectorize_against(self.opponent, num_envs, make)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._episode.rng = self.np_random
        start_episodes([self._episode])
        return self._episode.observation(), self._info()

    def step(self, action: int | np.int64) -> tuple[np.ndarray, float, bool, bool, dict]:
        self._episode.play(int(action))
        let_opponents_move([self._episode])
        self._episode.report_result()
        reward, outcome = self._episode.collect_reward(), self._episode.own_outcome
        info = self._info() if outcome is None else self._info() | {"outcome": outcome}
        return self._episode.observation(), reward, outcome is not None, False, info

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, (A,) bool; none once the game is over."""
        return self._episode.action_mask()

    def render(self) -> Any:
        return rendered(self.game, self._episode.state, self.render_mode)

    def _info(self) -> dict[str, Any]:
        return {"seat": self._episode.own_seat, "action_mask": self.action_masks()}

    def _legal(self) -> np.ndarray | None:
        return None if self._episode.state is None or self._episode.own_outcome is not None else self.action_masks()


class VersusEnv(TwoPlayerEnv):
    """Any two-player game, rewarded by its outcome."""

    def __init__(
        self, game: TwoPlayerGame, opponent: Agent, reward: OutcomeReward, seat: Seat, baselines: Mapping[str, Agent]
    ) -> None:
        super().__init__(game, opponent, reward, seat, baselines)
