"""Two-player games for learners in numbers: N matches against one opponent, stepped together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from src.core.errors import UserError, require
from src.core.play.agent import Agent
from src.core.play.game import TwoPlayerGame
from src.envs.match import Match, Reward, let_opponents_move


class SyncVersus(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Env i of the batch plays exactly what a `VersusEnv` seeded with `seed + i` plays.

    A game that ends is followed by the next in the same step: the observation is already the new game's, the last one
    of the old is `info["final_obs"][i]`, and `info["final_info"]` holds whether it was won and its outcome, zeros where
    no game ended.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        num_envs: int,
        game: TwoPlayerGame,
        opponent: Agent,
        reward: Reward,
        seats: Sequence[int],
        observation_space: spaces.Box,
    ) -> None:
        require(num_envs >= 1, f"num_envs={num_envs}: a batch holds at least one env")
        self.num_envs, self.game = num_envs, game
        self.single_observation_space = observation_space
        self.single_action_space = spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._matches = [Match(game, opponent, seats, reward) for _ in range(num_envs)]
        self._masks = np.zeros((num_envs, game.num_actions), bool)
        self._seeded = False

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New games for all; an int seeds env i with `seed + i`, None lets the generators go on."""
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            self._seed(range(int(seed), int(seed) + self.num_envs))
        elif seed is not None:
            self._seed(seed)
        elif not self._seeded:
            self._seed(self.np_random.integers(2**63, size=self.num_envs).tolist())
        self._seeded = True
        _begin(self._matches)
        self._update_masks()
        return self._observations(), {"action_mask": self.action_masks()}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one legal action (N,) an env; where one is illegal, none is played."""
        for match, action in zip(self._matches, self._checked(actions), strict=True):
            match.play(action)
        let_opponents_move(self._matches)
        outcomes = [match.own_outcome for match in self._matches]
        ended = np.array([outcome is not None for outcome in outcomes])
        rewards = np.array([match.settle() for match in self._matches])
        info: dict[str, Any] = {}
        if ended.any():
            info = self._final(ended, np.array([outcome or 0 for outcome in outcomes]))
            _begin([match for match, over in zip(self._matches, ended, strict=True) if over])
        self._update_masks()
        info["action_mask"] = self.action_masks()
        return self._observations(), rewards, ended, np.zeros(self.num_envs, bool), info

    def action_masks(self) -> np.ndarray:
        """(N, A) bool: the legal actions of every env."""
        return self._masks.copy()

    def state(self) -> list[dict[str, Any]]:
        """Everything the batch goes on from, in plain values for a checkpoint."""
        return [match.saved() for match in self._matches]

    def load_state(self, saved: Sequence[dict[str, Any]]) -> None:
        require(len(saved) == self.num_envs, f"the state of {len(saved)} envs does not fit a batch of {self.num_envs}")
        for match, one in zip(self._matches, saved, strict=True):
            match.restore(one)
        self._seeded = True
        self._update_masks()

    def _seed(self, seeds: Sequence[int]) -> None:
        count = len(seeds)
        require(count == self.num_envs, f"{count} seeds for {self.num_envs} envs: give one each, or a single number")
        for match, seed in zip(self._matches, seeds, strict=True):
            match.rng = np.random.default_rng(seed)

    def _update_masks(self) -> None:
        for row, match in zip(self._masks, self._matches, strict=True):
            row[:] = match.mask()

    def _observations(self) -> np.ndarray:
        return np.stack([match.observation() for match in self._matches])

    def _checked(self, actions: np.ndarray) -> list[int]:
        require(self._seeded, "there are no episodes to step: call reset() first")
        actions = np.asarray(actions)
        require(np.issubdtype(actions.dtype, np.integer), f"actions are whole numbers, not {actions.dtype}")
        require(actions.shape == (self.num_envs,), f"expected actions of shape ({self.num_envs},), not {actions.shape}")
        for number, (action, mask) in enumerate(zip(actions.tolist(), self._masks, strict=True)):
            if not (0 <= action < mask.size and mask[action]):
                raise UserError(f"action {action} of env {number} is illegal, legal: {np.flatnonzero(mask).tolist()}")
        return actions.tolist()

    def _final(self, ended: np.ndarray, outcomes: np.ndarray) -> dict[str, Any]:
        observations = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended):
            observations[i] = self._matches[i].observation()
        return {
            "final_obs": observations,
            "_final_obs": ended.copy(),
            "final_info": {"won": outcomes == 1, "outcome": outcomes},
            "_final_info": ended.copy(),
        }


def _begin(matches: Sequence[Match]) -> None:
    for match in matches:
        match.begin()
    let_opponents_move(matches)
    for match in matches:
        match.settle()
