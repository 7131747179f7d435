"""Two-player games as environments with the opponent inside."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from src.algos.minimax import MinimaxAgent
from src.core.errors import UserError
from src.core.play.agent import RandomAgent, SelfPlay
from src.core.play.game import Trait
from src.envs.tictactoe.game import TicTacToe
from src.envs.two_player_env import VersusEnv
from tests.envs.test_vector_envs import REWARD, Extreme, assert_same, versus


def test_it_is_a_gymnasium_environment():
    check_env(versus(seat="first"), skip_render_check=True)


@pytest.mark.parametrize("opponent", [RandomAgent, MinimaxAgent])
def test_masks_are_exact_and_rewards_tell_the_outcome(opponent):
    env = versus(opponent())
    rng = np.random.default_rng(0)
    outcomes, seats = set(), set()
    for episode in range(60):
        _, info = env.reset(seed=episode)
        seats.add(info["seat"])
        over = False
        while not over:
            legal = env.action_masks().nonzero()[0]
            board = env.render()
            for action in set(range(9)) - set(legal.tolist()):
                with pytest.raises(UserError):
                    env.step(action)
            assert env.render() == board, "a refused action changes nothing"
            observation, reward, over, truncated, info = env.step(int(rng.choice(legal)))
            assert env.observation_space.contains(observation)
            assert not truncated
            assert reward == (REWARD(info["outcome"]) if over else 0.0)
        outcomes.add(info["outcome"])
    assert seats == {0, 1}
    assert outcomes == ({-1, 0} if opponent is MinimaxAgent else {-1, 0, 1})


def test_seats():
    first, second = versus(seat="first"), versus(seat="second")
    for seed in range(10):
        assert first.reset(seed=seed)[0].sum() == 0
        assert second.reset(seed=seed)[0].sum() == 1
    with pytest.raises(UserError, match="seat=middle must be one of"):
        versus(seat="middle")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"num_actions": 0}, "has no num_actions"),
        ({"traits": frozenset()}, "one of Trait.ONE_PLAYER and Trait.TWO_PLAYER"),
        ({"traits": frozenset({Trait.ONE_PLAYER, Trait.TWO_PLAYER})}, "one of Trait.ONE_PLAYER and Trait.TWO_PLAYER"),
        ({"observation_range": (1.0, 2.0)}, "observes 0 to 0, outside of its observation_range: 1 to 2"),
        ({"observation_range": (-2.0, -1.0)}, "outside of its observation_range: -2 to -1"),
    ],
)
def test_a_game_that_declares_too_little_is_refused(declared: dict, message: str):
    game = type("Changed", (TicTacToe,), declared)(symmetric=True)
    vars(game).update({name: value for name, value in declared.items() if name in vars(game)})
    with pytest.raises(UserError, match=message):
        VersusEnv(game, RandomAgent(), REWARD, "random", {})


@pytest.mark.parametrize("plies", [0, 1, 3])
def test_games_begin_with_up_to_so_many_random_plies(plies: int):
    """The learner is to move: there is an even number of stones if it is first, and an odd one if second."""
    env = VersusEnv(TicTacToe(symmetric=True), RandomAgent(), REWARD, "random", {}, opening_plies=plies)
    batch, starts = env.vectorize(8), set()
    for seed in range(40):
        observation, info = env.reset(seed=seed)
        stones = int(observation.sum())
        assert stones % 2 == info["seat"]
        starts.add(stones)
        np.testing.assert_array_equal(batch.reset(seed=seed)[0][0], observation)
    assert starts == set(range(plies + 2)), "the opponent answers the longest opening half of the time"


def test_a_batch_that_begins_with_openings_goes_on_from_its_state():
    env = VersusEnv(TicTacToe(symmetric=True), RandomAgent(), REWARD, "random", {}, opening_plies=3)
    batch, resumed = env.vectorize(8), env.vectorize(8)
    batch.reset(seed=0)
    resumed.load_state(batch.state())
    for _ in range(12):
        actions = batch.action_masks().argmax(axis=1)
        assert_same(batch.step(actions), resumed.step(actions))


def test_a_game_that_the_opponent_always_ends_first_is_refused():
    class Resigning(TicTacToe):
        def outcome(self, state):
            return None if state == 9 * "." else -1

    env = VersusEnv(Resigning(symmetric=True), RandomAgent(), REWARD, "second", {})
    with pytest.raises(UserError, match="ended before the learner's first move"):
        env.reset(seed=0)


def test_an_opening_that_is_longer_than_a_game_is_refused():
    with pytest.raises(UserError, match="opening_plies=30 is too many"):
        VersusEnv(TicTacToe(symmetric=True), RandomAgent(), REWARD, "first", {}, opening_plies=30)


def test_self_play_answers_with_the_learner():
    opponent = SelfPlay()
    env = versus(opponent, seat="first")
    env.reset(seed=0)
    with pytest.raises(UserError, match="there is none here"):
        env.step(4)
    opponent.set_agent(Extreme())
    env.reset(seed=0)
    env.step(4)
    assert env.render() == "O . .\n. X .\n. . ."


def test_whoever_cannot_play_the_game_is_refused_at_once():
    class Blind(TicTacToe):
        traits = frozenset({Trait.TWO_PLAYER})

    game = Blind(symmetric=True)
    for opponent, baselines in ((MinimaxAgent(), {}), (RandomAgent(), {"perfect": MinimaxAgent()})):
        with pytest.raises(UserError, match="with perfect information"):
            VersusEnv(game, opponent, REWARD, "first", baselines)
    with pytest.raises(UserError, match="cannot be a baseline"):
        VersusEnv(game, RandomAgent(), REWARD, "first", {"self": SelfPlay()})


@pytest.mark.parametrize("explore", [0.0, 0.5, 1.0])
def test_self_play_draws_a_share_of_its_moves(explore):
    game, opponent, rng = TicTacToe(symmetric=True), SelfPlay(explore), np.random.default_rng(0)
    opponent.set_agent(Extreme())
    state = game.initial(rng)
    actions = [decision.action for decision in opponent.decide_batch(game, [state] * 900, [rng] * 900)]
    assert abs(np.mean(np.array(actions) == 0) - (1 - explore * 8 / 9)) < 0.05
    assert opponent.decide(game, state, rng).action in range(9)
    assert (set(actions) == set(range(9))) == (explore > 0)
    with pytest.raises(UserError, match="explore=2 must be a number in"):
        SelfPlay(2)
