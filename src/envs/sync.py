"""Vector environment for two-player games: N matches against one opponent, stepped together in Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from ..core.errors import require
from ..core.play.agent import Agent
from ..core.play.game import TwoPlayerGame
from .masked_vector_env import MaskedVectorEnv, Step
from .match import Match, Reward, let_opponents_move


class SyncVersus(MaskedVectorEnv[np.ndarray]):
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
        self._matches = [Match(game, opponent, seats, reward) for _ in range(num_envs)]
        self._masks = np.zeros((num_envs, game.num_actions), bool)

    def _start(self, seeds: Sequence[int]) -> None:
        for match, seed in zip(self._matches, seeds, strict=False):
            match.rng = np.random.default_rng(seed)
        _begin(self._matches)
        self._update_masks()

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one legal action per env (N,); raise before any is played if one is illegal."""
        for match, action in zip(self._matches, self._checked(actions, self._masks).tolist(), strict=True):
            match.play(action)
        let_opponents_move(self._matches)
        outcomes = [match.own_outcome for match in self._matches]
        ended = np.array([outcome is not None for outcome in outcomes])
        rewards = np.array([match.collect_reward() for match in self._matches])
        info: dict[str, Any] = {}
        if ended.any():
            own = np.array([outcome for outcome in outcomes if outcome is not None])
            info = self._final(ended, {"won": own == 1, "outcome": own})
            finished = [match for match, over in zip(self._matches, ended, strict=True) if over]
            for match in finished:
                match.report_result()
            _begin(finished)
        self._update_masks()
        info["action_mask"] = self.action_masks()
        return self._observe(), rewards, ended, np.zeros(self.num_envs, bool), info

    def action_masks(self) -> np.ndarray:
        return self._masks.copy()

    def state(self) -> list[dict[str, Any]]:
        """Return everything that later steps depend on as plain values, for a checkpoint."""
        return [match.saved() for match in self._matches]

    def load_state(self, saved: Sequence[dict[str, Any]]) -> None:
        require(len(saved) == self.num_envs, f"the saved state has {len(saved)} envs, this batch {self.num_envs}")
        for match, one in zip(self._matches, saved, strict=True):
            match.restore(one)
        self._seeded = True
        self._update_masks()

    def _update_masks(self) -> None:
        for row, match in zip(self._masks, self._matches, strict=True):
            row[:] = match.mask()

    def _observe(self) -> np.ndarray:
        return np.stack([match.observation() for match in self._matches])

    def _final_observation(self, i: int) -> np.ndarray:
        return self._matches[i].observation()


def _begin(matches: Sequence[Match]) -> None:
    for match in matches:
        match.begin()
    let_opponents_move(matches)
    for match in matches:
        match.collect_reward()
