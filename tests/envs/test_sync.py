"""The vector environment equals N single environments, and resumes exactly."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from src.algos.minimax import MinimaxAgent
from src.core.errors import UserError
from src.core.play.agent import RandomAgent, SelfPlay
from src.core.runs import checkpoint
from src.envs.tictactoe.rules import TicTacToe
from src.envs.versus import OutcomeReward, VersusEnv

REWARD = OutcomeReward(win=1.0, draw=0.25, loss=-2.0)


def make(opponent=None, seat="random"):
    return VersusEnv(TicTacToe(symmetric=True), opponent or RandomAgent(), REWARD, seat, {})


def drawn(rng, masks):
    return (rng.random(masks.shape) * masks).argmax(axis=1)


@pytest.mark.parametrize("opponent", [RandomAgent, MinimaxAgent])
def test_batched_equals_single(opponent):
    count, rng = 5, np.random.default_rng(0)
    batch, singles = make(opponent()).vectorize(count), [make(opponent()) for _ in range(count)]
    observations, info = batch.reset(seed=7)
    for i, env in enumerate(singles):
        np.testing.assert_array_equal(observations[i], env.reset(seed=7 + i)[0])
    for _ in range(60):
        actions = drawn(rng, info["action_mask"])
        observations, rewards, terminated, truncated, info = batch.step(actions)
        assert batch.observation_space.contains(observations)
        assert not truncated.any()
        for i, env in enumerate(singles):
            observation, reward, over, _, single_info = env.step(actions[i])
            assert (rewards[i], terminated[i]) == (reward, over)
            if over:
                np.testing.assert_array_equal(info["final_obs"][i], observation)
                assert info["final_info"]["won"][i] == (single_info["outcome"] == 1)
                assert info["final_info"]["outcome"][i] == single_info["outcome"]
                observation, _ = env.reset()
            elif terminated.any():
                assert info["final_obs"][i] is None
                assert not info["_final_obs"][i]
                assert not info["final_info"]["won"][i]
            np.testing.assert_array_equal(observations[i], observation)
            np.testing.assert_array_equal(info["action_mask"][i], env.action_masks())
        np.testing.assert_array_equal(batch.action_masks(), info["action_mask"])


def test_a_saved_batch_resumes_exactly(tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "state.safetensors"
    batch, other = make().vectorize(4), make().vectorize(4)
    batch.reset(seed=3)
    for _ in range(7):
        batch.step(drawn(rng, batch.action_masks()))
    checkpoint.save(path, {"env": batch.state()})
    other.load_state(checkpoint.load(path)["env"])
    for _ in range(30):
        actions = drawn(rng, batch.action_masks())
        np.testing.assert_array_equal(batch.action_masks(), other.action_masks())
        for mine, theirs in zip(batch.step(actions)[:3], other.step(actions)[:3], strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_saved_game_does_not_ask_its_opponent_again():
    class Lowest(RandomAgent):
        def decide(self, game, view, rng):
            return super().decide(game, view, rng)._replace(action=game.legal_actions(view)[0])

    class Highest(RandomAgent):
        def decide(self, game, view, rng):
            return super().decide(game, view, rng)._replace(action=game.legal_actions(view)[-1])

    opponent = SelfPlay()
    batch = make(opponent, "first").vectorize(1)
    opponent.set_agent(Lowest())
    batch.reset(seed=0)
    batch.step(np.array([4]))
    saved = batch.state()
    opponent.set_agent(Highest())
    batch.load_state(saved)
    assert not batch.action_masks()[0, [0, 4]].any()
    after, *_ = batch.step(np.array([1]))
    assert after[0, 1].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]


def test_opponents_decide_together():
    class Counting(RandomAgent):
        def decide_batch(self, game, views, rngs):
            sizes.append(len(views))
            return super().decide_batch(game, views, rngs)

    sizes: list[int] = []
    batch = make(Counting(), "second").vectorize(6)
    batch.reset(seed=0)
    assert sizes == [6]


def test_seeds():
    batch = make().vectorize(3)
    assert batch.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    first, _ = batch.reset(seed=5)
    np.testing.assert_array_equal(batch.reset(seed=[5, 6, 7])[0], first)
    with pytest.raises(UserError, match="2 seeds for 3 envs"):
        batch.reset(seed=[1, 2])
    make().vectorize(3).reset()


def test_user_errors_are_reported_and_change_nothing():
    batch = make(seat="first").vectorize(2)
    with pytest.raises(UserError, match="call reset"):
        batch.step(np.array([0, 0]))
    batch.reset(seed=0)
    batch.step(np.array([4, 4]))
    before = batch.state()
    for actions, message in (
        ([4, 0], "action 4 of env 0 is illegal"),
        ([-1, 0], "action -1 of env 0 is illegal"),
        ([0], "expected"),
        ([0.0, 1.0], "must be integers"),
    ):
        with pytest.raises(UserError, match=message):
            batch.step(np.array(actions))
    assert batch.state() == before
    with pytest.raises(UserError, match="saved state has 2 envs"):
        make().vectorize(3).load_state(before)
    with pytest.raises(UserError, match="num_envs=0"):
        make().vectorize(0)
