"""The vector environment equals N single environments."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv

from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.core.runs import checkpoint
from src.envs.deployment.game import GAMES_PER_THREAD
from tests.envs.deployment.making import DEADLOCK, bot, make_env, small_game

CASES = {
    "bot": (small_game(on_deadlock="truncate"), bot(0.2), 4),
    "random agent": (small_game(on_deadlock="truncate", deployment_order_mode="alternated_p1_start"), RandomAgent(), 4),
    "in threads": (small_game(on_deadlock="truncate", debug=False), bot(0.2), 2 * GAMES_PER_THREAD + 1),
    "deadlocks": (small_game(on_deadlock="truncate", **DEADLOCK), bot(1.0), 3),
}


def drawn(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    return np.where(masks, rng.random(masks.shape), -1).argmax(axis=1)


@pytest.mark.parametrize("case", CASES)
def test_batched_equals_single(case: str):
    game, opponent, count = CASES[case]
    first = make_env(game, opponent)
    batch, singles = first.vectorize(count), [make_env(game, opponent) for _ in range(count)]
    rng, ends = np.random.default_rng(0), 0
    observations, info = batch.reset(seed=5)
    for i, env in enumerate(singles):
        observation, single = env.reset(seed=5 + i)
        np.testing.assert_array_equal(observations[i], observation)
        np.testing.assert_array_equal(info["action_mask"][i], single["action_mask"])
    for _ in range(60 if count > 8 else 200):
        actions = drawn(rng, info["action_mask"])
        observations, rewards, terminated, truncated, info = batch.step(actions)
        for i, env in enumerate(singles):
            observation, *rest, single = env.step(int(actions[i]))
            assert rest == [rewards[i], terminated[i], truncated[i]]
            assert single["rewards"] == {name: values[i] for name, values in info["rewards"].items()}
            if terminated[i] or truncated[i]:
                np.testing.assert_array_equal(info["final_obs"][i], observation)
                for name in set(info["final_info"]) - {"start", "hp", "dealt"}:
                    assert info["final_info"][name][i] == single[name]
                for name in ("start", "hp", "dealt"):
                    np.testing.assert_array_equal(info["final_info"][name][i], env._batch.games.units[name][0])
                observation, single = env.reset()
                ends += 1
            np.testing.assert_array_equal(observations[i], observation)
            np.testing.assert_array_equal(info["action_mask"][i], single["action_mask"])
    assert ends > count
    assert batch.episode_stats.episodes == sum(env.episode_stats.episodes for env in singles) == ends


def test_it_is_a_vector_env_that_resets_in_the_same_step():
    batch = make_env().vectorize(3)
    assert issubclass(type(batch), VectorEnv)
    assert batch.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    observations, info = batch.reset(seed=0)
    assert observations.shape == batch.observation_space.shape
    assert batch.observation_space.contains(observations)
    assert info["action_mask"].shape == (3, batch.game.num_actions) == batch.action_masks().shape
    rng, seen = np.random.default_rng(0), 0
    for _ in range(150):
        observations, _, terminated, truncated, info = batch.step(drawn(rng, info["action_mask"]))
        assert batch.observation_space.contains(observations)
        assert info["action_mask"].any(axis=1).all()
        ended = terminated | truncated
        assert ("final_obs" in info) == ended.any()
        if ended.any():
            np.testing.assert_array_equal(info["_final_obs"], ended)
            np.testing.assert_array_equal(info["_final_info"], ended)
            assert [row is not None for row in info["final_obs"]] == ended.tolist()
            assert not info["final_info"]["steps"][~ended].any()
            seen += 1
    assert seen > 3


def test_arrays_handed_out_are_the_callers_own():
    batch = make_env().vectorize(2)
    observations, info = batch.reset(seed=0)
    kept, masks = observations.copy(), info["action_mask"].copy()
    batch.step(info["action_mask"].argmax(axis=1))
    np.testing.assert_array_equal(observations, kept)
    np.testing.assert_array_equal(info["action_mask"], masks)
    saved = batch.state()
    later, rewards, *_, info = batch.step(batch.action_masks().argmax(axis=1))
    kept_later, kept_rewards, masks = later.copy(), rewards.copy(), info["action_mask"].copy()
    batch.load_state(saved)
    batch.step(batch.action_masks().argmax(axis=1))
    np.testing.assert_array_equal(later, kept_later)
    np.testing.assert_array_equal(rewards, kept_rewards)
    np.testing.assert_array_equal(info["action_mask"], masks)


def test_seats_are_drawn_for_each_game():
    batch = make_env().vectorize(40)
    batch.reset(seed=0)
    seats = batch.buffers.results["seat"]
    assert 8 < seats.sum() < 32
    for seat, name in enumerate(("first", "second")):
        fixed = make_env(seat=name).vectorize(5)
        fixed.reset(seed=0)
        assert (fixed.buffers.results["seat"] == seat).all()


def test_one_illegal_action_stops_all_and_is_counted():
    batch = make_env(seat="first").vectorize(3)
    _, info = batch.reset(seed=0)
    before = {name: array.tobytes() for name, array in batch.games._asdict().items()}
    actions = info["action_mask"].argmax(axis=1)
    actions[1] = batch.game.actions.wait_action
    with pytest.raises(UserError, match="env 1, action 109: the phase is deployment"):
        batch.step(actions)
    assert {name: array.tobytes() for name, array in batch.games._asdict().items()} == before
    assert batch.buffers.results["invalid"].tolist() == [0, 1, 0]
    with pytest.raises(UserError, match=r"env 0, action -1: .*; env 2, action 9999: action 9999 does not exist"):
        batch.step(np.array([-1, actions[0], 9999]))


def test_what_is_no_action_is_refused():
    batch = make_env().vectorize(2)
    with pytest.raises(UserError, match="call reset"):
        batch.step(np.array([0, 0]))
    batch.reset(seed=0)
    with pytest.raises(UserError, match=r"shape \(3,\) for 2 envs"):
        batch.step(np.array([0, 0, 0]))
    with pytest.raises(UserError, match="must be integers"):
        batch.step(np.array([0.5, 1.0]))
    with pytest.raises(UserError, match="3 seeds for 2 envs"):
        batch.reset(seed=[1, 2, 3])
    with pytest.raises(UserError, match="num_envs=0"):
        make_env().vectorize(0)


@pytest.mark.parametrize("case", ["bot", "random agent"])
def test_a_saved_batch_resumes_exactly(case: str, tmp_path):
    game, opponent, count = CASES[case]
    batch, rng = make_env(game, opponent).vectorize(count), np.random.default_rng(0)
    _, info = batch.reset(seed=1)
    for _ in range(30):
        *_, info = batch.step(drawn(rng, info["action_mask"]))
    checkpoint.save(tmp_path / "batch.safetensors", {"env": batch.state()})
    other = make_env(game, opponent).vectorize(count)
    other.load_state(checkpoint.load(tmp_path / "batch.safetensors")["env"])
    for _ in range(60):
        actions = drawn(rng, info["action_mask"])
        *mine, info = batch.step(actions)
        *theirs, later = other.step(actions)
        for left, right in zip([*mine, info["action_mask"]], [*theirs, later["action_mask"]], strict=True):
            np.testing.assert_array_equal(left, right)
    assert batch.episode_stats.episode_metrics() == other.episode_stats.episode_metrics() != {}
    np.testing.assert_array_equal(batch.episode_stats.placed, other.episode_stats.placed)
    with pytest.raises(UserError, match="have another size"):
        make_env(game, opponent).vectorize(count + 1).load_state(batch.state())
