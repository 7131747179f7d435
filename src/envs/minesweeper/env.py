"""Minesweeper for learners: one game as a Gymnasium environment."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from src.core.errors import UserError
from src.core.play.agent import Agent, check_baselines
from src.core.ranges import checked
from src.envs.minesweeper import rules, viewer
from src.envs.minesweeper.batch import Batch
from src.envs.minesweeper.calibration import GAMES, mine_calibration
from src.envs.minesweeper.config import RENDER_MODES, EnvConfig
from src.envs.minesweeper.play_local import play_local
from src.envs.minesweeper.reward_kernel import components_of
from src.envs.minesweeper.vec_env import VecMinesweeper
from src.envs.splitmix import seed_word

__all__ = ["EnvConfig", "MinesweeperEnv"]

Backend = Literal["auto", "numpy", "torch"]

_ONLY = np.zeros(1, np.int64)  # the index of the one board


class MinesweeperEnv(gym.Env[np.ndarray, np.int64]):
    """Actions 0..HW-1 reveal a cell, HW..2HW-1 toggle a flag.

    An action on a revealed cell is invalid: it costs a step and a penalty and changes nothing. The step that ends a
    game is rewarded for both its outcome and the cells it opened. `info` holds the mask of legal actions, the
    components whose sum is the reward, and how the episode stands.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4}

    @checked
    def __init__(
        self, config: EnvConfig, baselines: Mapping[str, Agent] = MappingProxyType({}), backend: Backend = "auto"
    ) -> None:
        """`baselines` are the agents a learner's result is shown beside, `backend` what holds batches of games."""
        self.config, self.baselines, self.backend = config, dict(baselines), backend
        self.game = self.config.game()
        check_baselines(self.baselines, self.game)
        self.render_mode = self.config.render_mode
        self.action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = self.game.encoding.space(self.game.rows, self.game.cols)
        self._batch = Batch(self.game, self.config.reward, 1, frontier_mask=self.config.frontier_mask, restart=False)
        self._seeded = False
        self._playing = False

    def agent_metrics(self, agent: Any, seed: int) -> dict[str, float]:
        """How well the mine probabilities of a network are calibrated; nothing for agents that predict none."""
        return mine_calibration(VecMinesweeper(GAMES, self.config), agent, seed) if hasattr(agent, "heads") else {}

    def play_local(self, agent: Agent | None, rng: np.random.Generator, heatmap: Path | None) -> None:
        """A game of this configuration in the terminal, where a person may set flags whatever a learner may."""
        play_local(replace(self.config, flag_actions=True).game(), rng, agent, heatmap=heatmap)

    def vectorize(self, num_envs: int, device: str = "cpu", *, copy: bool = False) -> VectorEnv[Any, Any, Any]:
        """A batch of games of the same configuration, on `device` if the backend is torch.

        The backend `auto` is torch where `device` is a GPU and compiled NumPy elsewhere. `copy` makes numpy hand out
        arrays that later steps leave alone, as torch always does.
        """
        if self.backend == "numpy" or (self.backend == "auto" and device == "cpu"):
            return VecMinesweeper(num_envs, self.config, copy=copy)
        from src.envs.minesweeper.torch_env import TorchMinesweeper  # games with arrays do without torch

        return TorchMinesweeper(num_envs, self.config, device)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._batch.boards.games[0]["random"] = seed_word(seed)
        elif not self._seeded:
            self._batch.boards.games[0]["random"] = self.np_random.integers(2**64, dtype=np.uint64)
        self._batch.restart(_ONLY)
        self._seeded = self._playing = True
        return self._observation(), self._info()

    def step(self, action: int | np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if not self._playing:
            raise UserError("there is no episode to step: call reset() first")
        if not self.action_space.contains(action):
            raise UserError(f"action {action!r} does not exist: they are 0..{self.game.num_actions - 1}")
        self._batch.step(np.array([action], np.int64))
        result = self._batch.buffers.results[0]
        terminated, truncated = bool(result["terminated"]), bool(result["truncated"])
        self._playing = not (terminated or truncated)
        info = self._info() | {"rewards": components_of(result)}
        return self._observation(), float(result["reward"]), terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """(A,) bool: the legal actions, by the name under which sb3-contrib looks for them."""
        return self._batch.buffers.mask[0].copy()

    def set_frontier_mask(self, on: bool) -> None:
        """Narrow the mask to the frontier or widen it again, also during an episode."""
        self._batch.set_frontier_mask(on)

    def mine_mask(self) -> np.ndarray:
        """(H, W) bool: where the mines are, for supervised labels; none before the first reveal lays them."""
        return self._board(self._batch.boards.number) == rules.MINE

    def render(self) -> str | None:
        if self.render_mode is None:
            return None
        return viewer.text_board(self._board(self._batch.boards.visible), int(self._batch.boards.games[0]["mines"]))

    def _observation(self) -> np.ndarray:
        buffer = self._batch.boards.visible if self.config.compact else self._batch.buffers.planes
        return buffer[0].reshape(self.observation_space.shape).copy()

    def _info(self) -> dict[str, Any]:
        game, result = self._batch.boards.games[0], self._batch.buffers.results[0]
        return {
            "action_mask": self.action_masks(),
            "steps": int(result["steps"]),
            "invalid_steps": int(result["invalid_steps"]),
            "invalid_rate": int(result["invalid_steps"]) / max(int(result["steps"]), 1),
            "safe_revealed": 1 - int(game["safe_left"]) / (self.game.cells - int(game["mines"])),
            "won": int(game["status"]) == rules.WON,
        }

    def _board(self, buffer: np.ndarray) -> np.ndarray:
        return buffer[0].reshape(self.game.rows, self.game.cols)
