"""The shipped configurations build what they say."""

import pytest

from src.config.build import build
from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.minesweeper.reward import Reward
from src.envs.minesweeper.torch_env import TorchMinesweeper
from src.envs.minesweeper.vec_env import VecMinesweeper
from tests.test_compositions import composed


def env_of(*overrides: str) -> MinesweeperEnv:
    return build(composed(*overrides).env, "env")


@pytest.mark.parametrize(
    ("name", "size"), [("8x8", (8, 8, 10)), ("9x9", (9, 9, 10)), ("16x16", (16, 16, 40)), ("16x30", (16, 30, 99))]
)
def test_boards(name: str, size: tuple[int, int, int]) -> None:
    env = env_of(f"env=minesweeper_{name}")
    assert (env.game.rows, env.game.cols, env.game.mines) == size
    assert env.config.max_steps == 2 * env.game.cells
    assert env.observation_space.shape == (11, *size[:2])
    assert env.config.reward == Reward()
    assert list(env.baselines) == ["random", "rules", "heuristic", "exact"]
    env.reset(seed=0)
    assert env._batch.boards.visible.max() >= 0, "the first click is played"


def test_flag_rewards() -> None:
    flags = composed("env=minesweeper_8x8", "reward=minesweeper_flags")
    assert build(flags.env, "env").config.reward == Reward(use_flag_shaping=True)


def test_overrides() -> None:
    env = env_of("env=minesweeper_16x16", "env.config.mine_density=[0.12,0.2]", "env.config.compact=true")
    assert env.game.mine_range == (31, 51)
    assert env.observation_space.shape == (16, 16)


def test_backends() -> None:
    for backend, kind in (("numpy", VecMinesweeper), ("torch", TorchMinesweeper)):
        assert isinstance(env_of("env=minesweeper_16x16", f"env.backend={backend}").vectorize(2, "cpu"), kind)
