"""Play a little of a game with kernels, and print a digest of it: the same however kernels are compiled."""

import hashlib

import hydra
import numpy as np

from src.config.build import build
from src.config.compose import own_hydra

SEARCHES = {"minesweeper_8x8": "exact", "quoridor": "alphabeta", "deployment": "random"}


def main(name: str) -> None:
    with own_hydra():
        others = ["agent@env.opponent=random"] if name == "deployment" else []  # its bots take a minute to compile
        cfg = hydra.compose("engine", [f"env={name}", f"agent={SEARCHES[name]}", *others])
        env, agent = build(cfg.env, "env"), build(cfg.agent, "agent")
    digest, envs = hashlib.sha256(), env.vectorize(4)
    _, info = envs.reset(seed=0)
    for _ in range(5):
        observations, rewards, _, _, info = envs.step(info["action_mask"].argmax(axis=1))
        for array in (observations, rewards, info["action_mask"]):
            digest.update(np.ascontiguousarray(array).tobytes())
    game, rng = env.game, np.random.default_rng(0)
    state = game.initial(rng)
    for _ in range(2):
        action = agent.decide(game, game.view(state), rng).action
        digest.update(str(action).encode())
        state = game.play(state, action)
    print(digest.hexdigest())
