"""Minesweeper as a Gymnasium environment."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from ...core.errors import UserError
from ...core.play.agent import Agent, check_baselines
from ...core.ranges import checked
from ..masked_env import RENDER_FPS, RENDER_MODES, rendered
from ..splitmix import seed_word
from .config import EnvConfig
from .game import Position, components_of
from .metrics import GAMES, mine_calibration
from .play_local import play_local
from .rules import LOST, WON
from .variant import MINE
from .vec_env import Batch, VecMinesweeper

__all__ = ["EnvConfig", "MinesweeperEnv"]

Backend = Literal["auto", "numpy", "torch"]


class MinesweeperEnv(gym.Env[np.ndarray, np.int64]):
    """Actions 0..HW-1 reveal a cell, HW..2HW-1 toggle a flag.

    An action on a revealed cell is invalid: it counts as a step, is penalized and changes nothing. The last step is
    rewarded for the outcome and for the cells it opened. `info` has the action mask, the components whose sum is the
    reward, and statistics of the episode.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}

    @checked
    def __init__(
        self, config: EnvConfig, baselines: Mapping[str, Agent] = MappingProxyType({}), backend: Backend = "auto"
    ) -> None:
        """`baselines` are agents to compare a learner with; `backend` is the implementation of vector environments."""
        self.config, self.baselines, self.backend = config, dict(baselines), backend
        self.game = self.config.game()
        check_baselines(self.baselines, self.game)
        self.render_mode: str | None = self.config.render_mode
        self.action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = self.game.encoding.space(self.game.rows, self.game.cols)
        self._batch = Batch(self.game, 1, restart=False)
        self._seeded = False
        self._playing = False
        self._last_cell: int | None = None  # the cell of the last action

    def agent_metrics(self, agent: Any, seed: int) -> dict[str, float]:
        """Return the calibration of the mine probabilities of a network; {} for agents that do not predict them."""
        return mine_calibration(VecMinesweeper(GAMES, self.config), agent, seed) if hasattr(agent, "heads") else {}

    def play_local(self, agent: Agent | None, rng: np.random.Generator, heatmap: Path | None) -> None:
        """Play a game in the terminal; a person may set flags even if the learner may not."""
        play_local(replace(self.config, flag_actions=True).game(), rng, agent, heatmap=heatmap)

    def vectorize(self, num_envs: int, device: str = "cpu", *, copy: bool = False) -> VectorEnv[Any, Any, Any]:
        """Return a batch of games with this configuration, on `device` for the torch backend.

        The backend `auto` is torch on a GPU and compiled NumPy otherwise. With `copy` NumPy returns arrays that later
        steps do not overwrite, as torch always does.
        """
        if self.backend == "numpy" or (self.backend == "auto" and device == "cpu"):
            return VecMinesweeper(num_envs, self.config, copy=copy)
        from .torch_env import TorchMinesweeper  # torch is imported only if needed

        return TorchMinesweeper(num_envs, self.config, device)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._batch.boards.games[0]["random"] = seed_word(seed)
        elif not self._seeded:
            self._batch.boards.games[0]["random"] = self.np_random.integers(2**64, dtype=np.uint64)
        self._batch.restart()
        self._seeded = self._playing = True
        return self._observation(), self._info()

    def step(self, action: int | np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if not self._playing:
            raise UserError("there is no episode to step: call reset() first")
        if not self.action_space.contains(action):
            raise UserError(f"action {action!r} does not exist: they are 0..{self.game.num_actions - 1}")
        self._batch.step(np.array([action], np.int64))
        self._last_cell = int(action) % self.game.cells
        result = self._batch.buffers.results[0]
        terminated, truncated = bool(result["terminated"]), bool(result["truncated"])
        self._playing = not (terminated or truncated)
        info = self._info() | {"rewards": components_of(result)}
        return self._observation(), float(result["reward"]), terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, (A,) bool; sb3-contrib expects this name."""
        return self._batch.buffers.mask[0].copy()

    def set_frontier_mask(self, on: bool) -> None:
        """Restrict the mask to the frontier, or undo that; also during an episode."""
        self._batch.set_frontier_mask(on)

    def mine_mask(self) -> np.ndarray:
        """Return the mines, (H, W) bool; none before the first reveal."""
        return self._batch.boards.number[0].reshape(self.game.rows, self.game.cols) == MINE

    def render(self) -> Any:
        lost = int(self._batch.boards.games[0]["status"]) == LOST
        state = Position(self._batch.boards, self._last_cell if lost else None, self._batch.buffers.results)
        return rendered(self.game, state, self.render_mode)

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
            "won": int(game["status"]) == WON,
        }
