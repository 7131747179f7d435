"""The shaped reward of steps and walls, which cannot be collected twice."""

import numpy as np
import pytest

from src.compose import build
from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.envs.quoridor.agents import RunnerAgent
from src.envs.quoridor.env import QuoridorEnv
from src.envs.quoridor.reward import PathReward
from tests.envs.quoridor.making import GAME, make_game
from tests.test_compositions import composed

REWARD = PathReward(win=1.0, draw=0.0, loss=-1.0, path=0.1)


@pytest.mark.parametrize(
    ("position", "lead"),
    [
        ("e1 e9 10 10 0 -", 0),
        ("e4 e9 10 10 0 -", 3),  # three steps ahead
        ("b1 e9 9 10 0 e8h", 1),  # the wall above e8 costs player 2 a step to the side
        ("e1 e2 10 10 0 -", -7),
    ],
)
def test_the_potential_is_the_lead_in_steps(position, lead):
    state = GAME.read_position(position)
    assert REWARD.potential(GAME, state, 0) == pytest.approx(0.1 * lead)
    assert REWARD.potential(GAME, state, 1) == pytest.approx(-0.1 * lead)


def test_a_wall_in_the_way_and_a_step_forward_are_rewarded_at_once():
    env = QuoridorEnv(make_game(), RunnerAgent(), REWARD, "first", {})
    env.reset(seed=0)
    start = GAME.initial(np.random.default_rng(0))
    _, step, *_ = env.step(GAME.parse_move(start, "e2"))
    assert step == pytest.approx(0.0)  # both have made a step
    for wall, reward in (("e7h", 0.0), ("a7h", -0.1)):  # in the way of the runner, which is on e8, and elsewhere
        env.reset(seed=0)
        _, aside, *_ = env.step(GAME.parse_move(start, "d1"))
        assert aside == pytest.approx(-0.1)
        _, earned, *_ = env.step(GAME.parse_move(start, wall))
        assert earned == pytest.approx(reward)


def test_over_a_game_only_the_outcome_counts():
    """For any moves the sum is the outcome minus the initial potential."""
    game = make_game(size=5, walls=3, ply_limit=30)
    env, rng, outcomes = QuoridorEnv(game, RandomAgent(), REWARD, "random", {}), np.random.default_rng(0), set()
    for seed in range(20):
        _, info = env.reset(seed=seed)
        began = REWARD.potential(game, env._episode.state, info["seat"])
        total, over = 0.0, False
        while not over:
            _, reward, over, _, info = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
            total += reward
        assert total == pytest.approx({1: 1.0, 0: 0.0, -1: -1.0}[info["outcome"]] - began)
        outcomes.add(info["outcome"])
    assert len(outcomes) > 1


def test_other_games_have_no_paths():
    with pytest.raises(UserError, match=r"is a src\.envs\.quoridor\.reward\.PathReward, but must be a src"):
        build(composed("env=tictactoe", "reward=quoridor").env, "env")
