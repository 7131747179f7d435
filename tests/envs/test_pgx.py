"""Games of pgx: against our own rules, what every game must support, and batches against single games."""

# ruff: noqa: E402  (without the extra, the module is skipped before the other imports)

import copy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.lab import need

need("pgx", "pgx")

from src.api import make
from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.core.play.game import TwoPlayerGame
from src.core.seeding import draw
from src.envs.connect_four.game import ConnectFour
from src.envs.othello.game import Othello
from src.envs.pgx.game import GAMES, Pgx
from src.envs.tictactoe.game import TicTacToe
from src.envs.two_player_env import OutcomeReward, VersusEnv
from tests.envs.library_games import assert_consistent, assert_same_games
from tests.marks import mostly_slow
from tests.test_compositions import train_small

OURS: dict[str, TwoPlayerGame] = {
    "tic_tac_toe": TicTacToe(symmetric=True),
    "connect_four": ConnectFour(rows=6, cols=7, length=4),
    "othello": Othello(8),
}
RNG = np.random.default_rng(0)
load = cache(Pgx)  # it compiles


@pytest.mark.parametrize("name", OURS)
def test_random_games_are_those_of_our_rules(name: str):
    assert_same_games(OURS[name], load(name), games=30 if name == "tic_tac_toe" else 10)


@pytest.mark.parametrize("name", mostly_slow(sorted(GAMES, key=lambda name: name != "tic_tac_toe"), fast=1))
def test_every_game_can_be_searched_learned_and_shown(name: str):
    assert_consistent(load(name), plies=30)


def test_games_of_a_batch_are_those_played_one_by_one():
    game, rng = load("othello"), np.random.default_rng(2)
    states = [game.initial(rng)] * 5
    for _ in range(20):
        actions = [draw(rng, game.legal_actions(state)) for state in states]
        single = [game.play(state, action) for state, action in zip(states, actions, strict=True)]
        states = game.play_batch(states, actions)
        assert [one.state for one in states] == [one.state for one in single]
        assert states == single
    assert game.play_batch([], []) == []


def test_a_vector_env_plays_like_single_envs():
    reward = OutcomeReward(win=1.0, draw=0.25, loss=-2.0, gamma=1.0)
    single = [VersusEnv(load("tic_tac_toe"), RandomAgent(), reward, "random", {}) for _ in range(5)]
    batch, rng = single[0].vectorize(5), np.random.default_rng(0)
    observations, info = batch.reset(seed=7)
    np.testing.assert_array_equal(observations, [env.reset(seed=7 + i)[0] for i, env in enumerate(single)])
    for _ in range(12):
        masks = info["action_mask"]
        actions = [int(rng.choice(np.flatnonzero(mask))) for mask in masks]
        observations, rewards, ended, _, info = batch.step(np.array(actions))
        steps = [env.step(action) for env, action in zip(single, actions, strict=True)]
        assert rewards.tolist() == [step[1] for step in steps]
        assert ended.tolist() == [step[2] for step in steps]
        starts = [env.reset()[0] if step[2] else step[0] for env, step in zip(single, steps, strict=True)]
        np.testing.assert_array_equal(observations, starts)


def test_a_game_and_its_positions_are_copied_to_other_processes():
    game = load("tic_tac_toe")
    state = game.play(game.initial(RNG), 4)
    other, copied = copy.deepcopy((game, state))
    assert copied == state
    assert other.legal_actions(copied) == game.legal_actions(state) == [0, 1, 2, 3, 5, 6, 7, 8]
    assert game.render(state) == ". . .\n. X .\n. . ."


def test_what_cannot_be_played_is_refused_in_one_sentence():
    for name in ("kuhn_poker", "backgammon", "go"):
        with pytest.raises(UserError, match=f"name={name} is not a game that can be played here: .* animal_shogi, "):
            Pgx(name)
    game = load("tic_tac_toe")
    with pytest.raises(UserError, match="action 4 is not legal here"):
        game.read_position("4,4")


def test_gymnasium_accepts_the_environment():
    env = make("pgx")
    env.action_space.seed(0)
    check_env(env)


@pytest.mark.parametrize("algo", ["ppo", pytest.param("maskable_ppo", marks=pytest.mark.slow)])
def test_a_network_is_trained(tmp_path: Path, algo: str):
    assert "eval/win_rate" in train_small("pgx", algo, tmp_path)
