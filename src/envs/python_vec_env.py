"""Vector environment for two-player games: N games against one opponent, stepped together in Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from ..core.errors import require
from ..core.play.agent import Agent
from ..core.play.game import TwoPlayerGame
from .episode import Episode, Reward, let_opponents_move, start_episodes
from .masked_env import MaskedVectorEnv, Step


class PythonVectorEnv(MaskedVectorEnv[np.ndarray]):
    """Env i plays exactly like a `VersusEnv` seeded with `seed + i`.

    `info["final_info"]` has `won` and `outcome` of games that ended.
    """

    def __init__(
        self,
        num_envs: int,
        game: TwoPlayerGame,
        opponent: Agent,
        reward: Reward,
        seats: Sequence[int],
        observation_space: spaces.Box,
    ) -> None:
        super().__init__(num_envs, observation_space, game.num_actions)
        self.game = game
        self._episodes = [Episode(game, opponent, seats, reward) for _ in range(num_envs)]
        self._masks = np.zeros((num_envs, game.num_actions), bool)

    def _start(self, seeds: Sequence[int]) -> None:
        for episode, seed in zip(self._episodes, seeds, strict=False):
            episode.rng = np.random.default_rng(seed)
        start_episodes(self._episodes)
        self._update_masks()

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one legal action per env (N,); raise before any is played if one is illegal."""
        for episode, action in zip(self._episodes, self._checked(actions, self._masks).tolist(), strict=True):
            episode.play(action)
        let_opponents_move(self._episodes)
        outcomes = [episode.own_outcome for episode in self._episodes]
        ended = np.array([outcome is not None for outcome in outcomes])
        rewards = np.array([episode.collect_reward() for episode in self._episodes])
        info: dict[str, Any] = {}
        if ended.any():
            own = np.array([outcome for outcome in outcomes if outcome is not None])
            info = self._final(ended, {"won": own == 1, "outcome": own})
            finished = [episode for episode, over in zip(self._episodes, ended, strict=True) if over]
            for episode in finished:
                episode.report_result()
            start_episodes(finished)
        self._update_masks()
        info["action_mask"] = self.action_masks()
        return self._observe(), rewards, ended, np.zeros(self.num_envs, bool), info

    def action_masks(self) -> np.ndarray:
        return self._masks.copy()

    def state(self) -> list[dict[str, Any]]:
        """Return everything that later steps depend on as plain values, for a checkpoint."""
        return [episode.saved() for episode in self._episodes]

    def load_state(self, saved: Sequence[dict[str, Any]]) -> None:
        require(len(saved) == self.num_envs, f"the saved state has {len(saved)} envs, this batch {self.num_envs}")
        for episode, one in zip(self._episodes, saved, strict=True):
            episode.restore(one)
        self._seeded = True
        self._update_masks()

    def _update_masks(self) -> None:
        for row, episode in zip(self._masks, self._episodes, strict=True):
            row[:] = episode.action_mask()

    def _observe(self) -> np.ndarray:
        return np.stack([episode.observation() for episode in self._episodes])

    def _final_observation(self, i: int) -> np.ndarray:
        return self._episodes[i].observation()
