"""Environments with the short names the tests use."""

from typing import Any

import numpy as np
import torch

from src.envs.minesweeper.config import EnvConfig
from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.minesweeper.reward import Reward
from src.envs.minesweeper.torch_env import TorchMinesweeper
from src.envs.minesweeper.torch_rules import blank_games, replaced, started
from src.envs.minesweeper.vec_env import VecMinesweeper

FIELDS = {"rows": "H", "cols": "W", "mines": "mine_count", "safe_neighborhood": "guarantee_safe_neighborhood"}
BACKENDS = ("numpy", "torch")


def variant(rows: int, cols: int, mines: int = 10, **settings: Any) -> dict[str, Any]:
    return {"rows": rows, "cols": cols, "mines": mines, **settings}


BASE = variant(8, 8, first_click="agent", max_steps=1000, flag_actions=True)
SHAPED = Reward(use_flag_shaping=True, flag_incorrect_reward=-0.003)
PLANES = {"frontier": True, "remaining_mines_ratio": True, "progress": True}
VARIANTS = {
    "shipped": variant(8, 8, first_click="uniform"),
    "everything on": variant(
        6, 9, first_click="uniform", mine_density=[0.08, 0.3], frontier_mask=True, reward=SHAPED, **PLANES
    ),
    "compact, reveals only": variant(
        5, 4, 3, first_click="uniform", safe_neighborhood=False, compact=True, flag_actions=False
    ),
    "the agent begins, compact": variant(4, 6, 4, safe_neighborhood=False, compact=True),
    "one row": variant(1, 12, 3, first_click="uniform", progress=True),
    "the agent begins": variant(7, 4, mine_density=[0.1, 0.3], remaining_mines_ratio=True, reward=SHAPED),
}


def make_config(**settings: Any) -> EnvConfig:
    return EnvConfig(**{FIELDS.get(name, name): value for name, value in (BASE | settings).items()})


def make_env(**settings: Any) -> MinesweeperEnv:
    return MinesweeperEnv(make_config(**settings))


def make_batch(backend: str, count: int, **settings: Any) -> Any:
    """Return a vector environment whose results later steps do not overwrite."""
    if backend == "numpy":
        return VecMinesweeper(count, make_config(**settings), copy=True)
    return TorchMinesweeper(count, make_config(**settings), "cpu", pool=3)


def to_backend(backend: str, array: np.ndarray) -> Any:
    return array if backend == "numpy" else torch.from_numpy(array)


def set_boards(env: TorchMinesweeper, mines: torch.Tensor, first: torch.Tensor | None, which: torch.Tensor) -> None:
    """Lay given mines (N, H, W) bool on the boards selected by `which` (N,) bool.

    With `first` (N,) new games start with this reveal; without it the games in progress continue.
    """
    games = env._games if first is None else blank_games(env.variant, env.num_envs, env.device)
    env._games = replaced(env._games, which, started(games, mines, first))


def random_actions(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    """Return mostly legal actions, sometimes any."""
    scores = rng.random(masks.shape) * np.where(masks, 1.0, 0.05)
    return np.where(rng.random(len(masks)) < 0.1, rng.integers(masks.shape[1], size=len(masks)), scores.argmax(axis=1))
