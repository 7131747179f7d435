"""Play a little Quoridor, and print a digest of it: the same however kernels are compiled."""

import hashlib

import hydra
import numpy as np

from src.config.build import build
from src.config.compose import own_hydra


def main() -> None:
    with own_hydra():
        cfg = hydra.compose("engine", ["env=quoridor", "agent=alphabeta"])
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
