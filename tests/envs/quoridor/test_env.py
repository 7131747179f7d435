"""Quoridor as an environment: its reward, which cannot be collected twice, and its agents on the command line."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from src.config.build import build
from src.core.errors import UserError
from src.core.play.agent import Decision, RandomAgent
from src.envs.quoridor.agents import RunnerAgent
from src.envs.quoridor.env import QuoridorEnv
from src.envs.quoridor.game import Quoridor
from src.envs.quoridor.reward import PathReward
from src.envs.tictactoe.game import TicTacToe
from tests.envs.quoridor.making import GAME, START, make_game
from tests.lab import Lab, read_json
from tests.test_compositions import composed

REWARD = PathReward(win=1.0, draw=0.0, loss=-1.0, path=0.1, gamma=0.9)


class Idle(RandomAgent):
    """Moves between two cells of its first row."""

    def decide(self, game, view, rng):
        legal = [game.move_name(view, action) for action in game.legal_actions(view)]
        return Decision(game.parse_move(view, "d5" if "d5" in legal else "e5"))


class FirstMoves(gymnasium.spaces.Discrete):
    """The checker plays one action after a reset, sampled before it, so sample what is legal at the start."""

    def __init__(self, game: Quoridor) -> None:
        super().__init__(game.num_actions)
        self.legal = game.legal_actions(game.initial(np.random.default_rng(0)))

    def sample(self, mask=None, probability=None):
        return np.int64(self.np_random.choice(self.legal))


@pytest.mark.parametrize("distance_maps", [False, True])
def test_it_is_a_gymnasium_environment(distance_maps):
    game = make_game(size=5, walls=2, distance_maps=distance_maps)
    env = QuoridorEnv(game, RandomAgent(), REWARD, "first", {})
    env.action_space = FirstMoves(game)
    check_env(env, skip_render_check=True)


def test_masks_are_exact_and_discounted_rewards_sum_to_the_outcome():
    """For any moves the discounted sum of rewards is the discounted outcome minus the initial potential."""
    game = make_game(size=5, walls=3, ply_limit=30)
    env, rng, outcomes = QuoridorEnv(game, RandomAgent(), REWARD, "random", {}), np.random.default_rng(0), set()
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        began = REWARD.potential(game, env._episode.state, info["seat"])
        total, weight, over = 0.0, 1.0, False
        while not over:
            mask = env.action_masks()
            assert np.flatnonzero(mask).tolist() == game.legal_actions(env._episode.state)
            assert env.observation_space.contains(observation)
            observation, reward, over, truncated, info = env.step(int(rng.choice(np.flatnonzero(mask))))
            assert not truncated
            total += weight * reward
            weight *= REWARD.gamma
        assert total == pytest.approx(weight / REWARD.gamma * info["outcome"] - began)
        outcomes.add(info["outcome"])
    assert outcomes == {-1, 0, 1}


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


@pytest.mark.parametrize(
    ("moves", "rewards"),
    [
        (["e2"], [0.0]),  # both have made a step
        (["d1", "e7h"], [-0.09, 0.01]),  # a wall in the way of the runner, which is on e8
        (["d1", "a7h"], [-0.09, -0.08]),  # and one elsewhere
    ],
)
def test_a_wall_in_the_way_and_a_step_forward_are_rewarded_at_once(moves, rewards):
    env = QuoridorEnv(make_game(), RunnerAgent(), REWARD, "first", {})
    env.reset(seed=0)
    assert [env.step(GAME.parse_move(START, move))[1] for move in moves] == pytest.approx(rewards)


@pytest.mark.parametrize("path", [0.0, 0.1, 1.0])
def test_postponing_a_win_does_not_pay(path):
    """Two idle moves beside the goal discount the win twice, however much the lead is worth."""
    reward, game = replace(REWARD, path=path), make_game(size=5, walls=0)

    def discounted_return(moves: str) -> float:
        env = QuoridorEnv(game, Idle(), reward, "first", {})
        env.reset(seed=0)
        rewards = [env.step(game.parse_move(env._episode.state, move))[1] for move in moves.split()]
        assert env._episode.own_outcome == 1
        return sum(0.9**step * one for step, one in enumerate(rewards))

    at_once, later = discounted_return("b1 b2 b3 b4 b5"), discounted_return("b1 b2 b3 b4 a4 b4 b5")
    assert at_once == pytest.approx(0.9**4)
    assert later == pytest.approx(0.9**6)


def test_other_games_have_no_paths():
    with pytest.raises(UserError, match=r"is a src\.envs\.quoridor\.reward\.PathReward, but must be a src"):
        build(composed("env=tictactoe", "reward=quoridor").env, "env")


def test_the_runner_runs():
    state = GAME.read_position("e4 a9 8 8 0 d4h,f4h")
    walked = []
    for _ in range(8):
        action = RunnerAgent().decide(GAME, state, np.random.default_rng(0)).action
        assert action is not None
        walked.append(GAME.move_name(state, action))
        state = GAME.play(state, action)
    assert walked[::2] == ["d4", "c4", "c5", "c6"]
    with pytest.raises(UserError, match="plays Quoridor only"):
        RunnerAgent().check(TicTacToe(symmetric=True))


@pytest.mark.slow
def test_a_search_is_trained_measured_and_played_again(lab: Lab):
    common = ("env=quoridor", "env.game.size=5", "env.game.walls=2")
    run = lab.train("algo=alphabeta", "algo.player.difficulty=normal", *common, "evaluation.episodes=6", "logger=csv")
    assert read_json(run / "eval.json")["scores"]["random"]["wins"] >= 5
    results = []
    for agent in (("agent=trained", f"agent.run={run}"), ("agent=alphabeta", "agent.difficulty=normal")):
        done = lab.run(
            "evaluate", *agent, *common, "opponent=runner", "episodes=10", "opening_plies=2", "json=out.json"
        )
        assert done.returncode == 0, done.stderr
        results.append(read_json(lab.folder / "out.json") | {"seconds": 0, "agent": ""})
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("agent=alphabeta", "agent.difficulty=brutal"), "agent.difficulty=brutal is unknown: choose one of easy"),
        pytest.param(("agent=alphabeta", "opponent=alphabeta"), "opening_plies", marks=pytest.mark.slow),
    ],
)
def test_user_errors_are_one_sentence(lab: Lab, overrides, message):
    done = lab.run("evaluate", "env=quoridor", "episodes=4", *overrides)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
