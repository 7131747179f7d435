"""Transcripts of two games of Minesweeper: rules, rewards and rendering."""

import numpy as np

from src.envs.minesweeper.env import MinesweeperEnv
from src.envs.minesweeper.reward import Reward
from tests.envs.minesweeper.making import make_env


def transcript() -> str:
    env = make_env(rows=6, cols=7, mines=6, max_steps=50, reward=Reward(use_flag_shaping=True), render_mode="ansi")
    return "\n".join(["# A game won", *won_game(env), "# A game lost", *lost_game(env)]) + "\n"


def won_game(env: MinesweeperEnv) -> list[str]:
    """Play a game with a wrong flag, a correct one, an invalid action, and then safe reveals."""
    lines = begin(env, seed=1)
    lines += act(env, 0)
    safe, mined = (np.flatnonzero(env.action_masks()[:42] & (env.mine_mask().ravel() == kind)) for kind in (0, 1))
    for action in (42 + safe[0], 42 + mined[0], 0):
        lines += act(env, int(action))
    while (safe := np.flatnonzero(env.action_masks()[:42] & ~env.mine_mask().ravel())).size:
        lines += act(env, int(safe[0]))
    return lines


def lost_game(env: MinesweeperEnv) -> list[str]:
    lines = begin(env, seed=2)
    lines += act(env, 24)
    return lines + act(env, int(np.flatnonzero(env.mine_mask())[0]))


def begin(env: MinesweeperEnv, seed: int) -> list[str]:
    env.reset(seed=seed)
    return [f"seed {seed}", str(env.render()), ""]


def act(env: MinesweeperEnv, action: int) -> list[str]:
    kind, cell = divmod(action, 42)
    _, reward, terminated, truncated, info = env.step(action)
    parts = ", ".join(f"{name} {value:+.4f}" for name, value in info["rewards"].items() if value)
    return [
        f"{('reveal', 'flag')[kind]} row {cell // 7}, column {cell % 7}",
        f"reward {reward:+.4f} = {parts}; terminated {terminated}, truncated {truncated}",
        str(env.render()),
        "",
    ]
