"""The outcome alone as the reward of the wargame."""

import numpy as np

from src.envs.deployment.env import DeploymentEnv
from src.envs.two_player_env import OutcomeReward
from tests.envs.deployment.making import bot, small_game

VALUES = {1: 2.0, 0: 0.5, -1: -3.0}


def test_the_single_env_is_rewarded_at_the_end_only():
    env, rng, ends = (
        DeploymentEnv(small_game(), bot(1.0), OutcomeReward(2.0, 0.5, -3.0), "random", {}),
        np.random.default_rng(0),
        set(),
    )
    for seed in range(15):
        env.reset(seed=seed)
        over = False
        while not over:
            _, reward, over, _, info = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
            assert reward == (VALUES[info["outcome"]] if over else 0)
        ends.add(info["outcome"])
    assert len(ends) > 1


def test_the_batch_is_rewarded_at_the_end_only():
    env = DeploymentEnv(small_game(), bot(1.0), OutcomeReward(2.0, 0.5, -3.0), "random", {})
    batch, rng, ends = env.vectorize(8), np.random.default_rng(0), 0
    _, info = batch.reset(seed=0)
    for _ in range(60):
        masks = info["action_mask"]
        _, rewards, ended, _, info = batch.step(np.where(masks, rng.random(masks.shape), -1).argmax(axis=1))
        outcomes = info["final_info"]["outcome"] if ended.any() else np.zeros(8, int)
        expected = [VALUES[int(outcome)] if over else 0 for outcome, over in zip(outcomes, ended, strict=True)]
        assert rewards.tolist() == expected
        ends += int(ended.sum())
    assert ends > 4
