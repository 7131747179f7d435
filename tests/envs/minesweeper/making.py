"""Environments with the short names the tests use."""

from typing import Any

from src.envs.minesweeper.config import EnvConfig
from src.envs.minesweeper.env import MinesweeperEnv

FIELDS = {"rows": "H", "cols": "W", "mines": "mine_count", "safe_neighborhood": "guarantee_safe_neighborhood"}


BASE: dict[str, Any] = {
    "H": 8,
    "W": 8,
    "mine_count": 10,
    "first_click": "agent",
    "max_steps": 1000,
    "flag_actions": True,
}


def make_config(**settings: Any) -> EnvConfig:
    return EnvConfig(**BASE | {FIELDS.get(name, name): value for name, value in settings.items()})


def make_env(**settings: Any) -> MinesweeperEnv:
    return MinesweeperEnv(make_config(**settings))
