"""The metrics of the contract, by their names, and the raw data behind the diagnostics."""

from typing import Any

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.play.agent import Agent, RandomAgent
from src.core.runs.metrics import is_documented
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.metrics import DeploymentStats
from tests.envs.deployment.making import DEADLOCK, REWARD, bot, full_game, make_env, small_game

NAMES = {
    "deployment_valid_action_rate",
    "deployment_invalid_action_attempt_rate",
    "deployment_steps_mean",
    "deployment_deadlock_count",
    "deployment_pass_count",
    "winrate_with_active_deployment",
}


def played(batch, steps: int, seed: int = 0) -> list[dict]:
    rng, infos = np.random.default_rng(seed), []
    _, info = batch.reset(seed=seed)
    for _ in range(steps):
        *_, info = batch.step(np.where(info["action_mask"], rng.random(info["action_mask"].shape), -1).argmax(axis=1))
        infos.append(info)
    return infos


def deadlocks(infos: list[dict]) -> float:
    return sum(info["final_info"]["deployment_deadlock_count"].sum() for info in infos if "final_info" in info)


def test_the_metrics_of_the_contract_are_documented():
    batch = make_env().vectorize(4)
    assert batch.episode_stats.episode_metrics() == {}, "nothing has ended yet, and nothing is made up"
    infos = played(batch, 120)
    assert set(batch.episode_stats.episode_metrics()) == NAMES
    assert all(is_documented(name) for name in NAMES)
    final = next(info["final_info"] for info in infos if "final_info" in info)
    assert set(final) >= NAMES
    game_metrics = small_game().episode_metrics(batch.states[0])
    assert set(game_metrics) == NAMES - {"winrate_with_active_deployment"}
    assert all(is_documented(f"final/random/{name}") for name in game_metrics)


def test_they_add_up_over_episodes():
    batch = make_env().vectorize(4)
    episodes: list[dict] = []
    for info in played(batch, 150):
        if "final_info" in info:
            for i in np.flatnonzero(info["_final_info"]):
                episodes.append({name: values[i] for name, values in info["final_info"].items()})
    metrics = batch.episode_stats.episode_metrics()
    assert batch.episode_stats.episodes == len(episodes) > 5
    for name in ("deployment_valid_action_rate", "deployment_steps_mean", "winrate_with_active_deployment"):
        assert metrics[name] == pytest.approx(np.mean([episode[name] for episode in episodes]))
    assert metrics["deployment_steps_mean"] == 5
    assert 0 < metrics["winrate_with_active_deployment"] < 1
    assert batch.episode_stats.episode_metrics() == {}, "metrics are reported once"
    batch.episode_stats.clear()
    assert batch.episode_stats.episode_metrics() == {}


def test_metrics_cover_the_games_since_the_last_report():
    batch, rng, counts = make_env().vectorize(4), np.random.default_rng(0), []
    _, info = batch.reset(seed=0)
    for _ in range(4):
        wins = []
        for _ in range(60):
            *_, info = batch.step(
                np.where(info["action_mask"], rng.random(info["action_mask"].shape), -1).argmax(axis=1)
            )
            if "final_info" in info:
                wins += info["final_info"]["won"][info["_final_info"]].tolist()
        saved = batch.state()
        assert batch.episode_stats.episode_metrics()["winrate_with_active_deployment"] == pytest.approx(np.mean(wins))
        counts.append(len(wins))
        again = make_env().vectorize(4)
        again.load_state(saved)
        assert again.episode_stats.episode_metrics()["winrate_with_active_deployment"] == pytest.approx(np.mean(wins))
        assert again.episode_stats.episode_metrics() == {}
    assert batch.episode_stats.episodes == sum(counts)


def test_a_saved_journal_is_its_own():
    batch = make_env().vectorize(4)
    played(batch, 60)
    saved = batch.state()["episode_stats"]
    placed = saved["placed"].copy()
    played(batch, 60)
    np.testing.assert_array_equal(saved["placed"], placed)


def test_refusals_are_measured_at_the_engine():
    batch = make_env(seat="first").vectorize(2)
    _, info = batch.reset(seed=0)
    for _ in range(3):
        with pytest.raises(UserError):
            batch.step(np.array([batch.game.actions.wait_action] * 2))
    rng = np.random.default_rng(0)
    while batch.episode_stats.episodes < 2:
        *_, info = batch.step(np.where(info["action_mask"], rng.random(info["action_mask"].shape), -1).argmax(axis=1))
    # five placements per episode; the first two episodes had three refusals each, a third one may have had none
    expected = 6 / (6 + 5 * batch.episode_stats.episodes)
    assert batch.episode_stats.episode_metrics()["deployment_invalid_action_attempt_rate"] == pytest.approx(expected)


@pytest.mark.parametrize("opponent", [bot(1.0), RandomAgent()])
def test_refused_actions_can_be_counted_and_penalised(opponent: Agent):
    """Illegal actions change nothing, cost the penalty, and are the counted fraction of all attempts."""
    env = DeploymentEnv(small_game(), opponent, REWARD, "first", {}, invalid_action_penalty=0.5)
    batch, rng = env.vectorize(2), np.random.default_rng(0)
    observation, info = batch.reset(seed=0)
    for _ in range(3):  # env 1 refuses, env 0 does not
        actions = np.array([info["action_mask"][0].argmax(), batch.game.actions.wait_action])
        illegal = ~info["action_mask"][np.arange(2), actions]
        after, reward, terminated, _, info = batch.step(actions)
        np.testing.assert_array_equal(info["rewards"]["invalid_action"], np.where(illegal, -0.5, 0.0))
        assert reward[1] == -0.5
        np.testing.assert_array_equal(after[1], observation[1])
        assert not terminated[1]
    while batch.episode_stats.episodes < 2:
        *_, info = batch.step(np.where(info["action_mask"], rng.random(info["action_mask"].shape), -1).argmax(axis=1))
    rate = batch.episode_stats.episode_metrics()["deployment_invalid_action_attempt_rate"]
    assert rate == pytest.approx(3 / (3 + 5 * batch.episode_stats.episodes)), "three refusals in one of them"
    with pytest.raises(UserError, match="does not exist"):
        batch.step(np.array([0, batch.game.num_actions]))


def test_a_single_env_penalises_refused_actions_likewise():
    env = DeploymentEnv(small_game(), bot(1.0), REWARD, "first", {}, invalid_action_penalty=0.25)
    observation, info = env.reset(seed=0)
    after, reward, terminated, truncated, info = env.step(env.game.actions.wait_action)
    assert (reward, terminated, truncated, info["rewards"]["invalid_action"]) == (-0.25, False, False, -0.25)
    np.testing.assert_array_equal(after, observation)
    with pytest.raises(UserError, match="does not exist"):
        env.step(env.game.num_actions)
    over = False
    while not over:
        _, reward, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
        over = terminated or truncated
    assert info["deployment_invalid_action_attempt_rate"] == pytest.approx(2 / 7), "five placements and two refusals"
    state = env._batch.states[0]
    state.invalid_attempts = 2  # which the environment has counted and reset
    metrics = env.game.episode_metrics(state)
    assert metrics["deployment_valid_action_rate"] == pytest.approx(5 / 7)
    assert {name: info[name] for name in metrics} == metrics, "one definition in the arena and in training"


@pytest.mark.parametrize("wrong", [3.0, True, np.array([5]), np.array(3.0), "3", None])
def test_an_action_of_a_wrong_type_is_an_error_and_not_penalised(wrong: Any):
    env = DeploymentEnv(small_game(), bot(1.0), REWARD, "first", {}, invalid_action_penalty=0.25)
    env.reset(seed=0)
    with pytest.raises(UserError, match="is not a whole number"):
        env.step(wrong)
    assert not env.step(np.array(env.game.actions.wait_action))[2]


def test_counts_are_of_the_whole_run():
    """Also over a checkpoint, and over batches that replace each other."""
    game = small_game(on_deadlock="truncate", **DEADLOCK)
    batch, total = make_env(game).vectorize(3), 0.0
    for _ in range(2):
        total += deadlocks(played(batch, 20))
        assert batch.episode_stats.episode_metrics()["deployment_deadlock_count"] == total
    batch.load_state(batch.state())
    total += deadlocks(played(batch, 20))
    other = make_env(game).vectorize(3)
    other.episode_stats.add_earlier(batch.episode_stats.run_counts())
    total += deadlocks(played(other, 20))
    metrics = other.episode_stats.episode_metrics()
    assert metrics["deployment_deadlock_count"] == metrics["deployment_pass_count"] == total > 20
    assert metrics["deployment_steps_mean"] == 4


def test_there_are_no_deployment_metrics_without_a_deployment():
    batch = make_env(small_game(deployment_type="fixed")).vectorize(3)
    played(batch, 80)
    assert batch.episode_stats.episodes > 0
    assert batch.episode_stats.episode_metrics() == {}


def test_distributions_are_those_of_the_placements_played():
    """By hand from the actions: which unit slots and hex slots the learner chose, in which order."""
    game = small_game(on_deadlock="truncate")
    batch, rng = make_env(game, bot(1.0), seat="second").vectorize(1), np.random.default_rng(0)
    _, info = batch.reset(seed=0)
    hexes, units = np.zeros(14, int), np.zeros((3, 3), int)
    finished, current = 0, []
    while finished < 20:
        action = int(np.where(info["action_mask"], rng.random(info["action_mask"].shape), -1).argmax())
        if action < game.actions.pass_action:
            current.append(game.actions.slots_of(action))
        *_, info = batch.step(np.array([action]))
        if "final_info" in info:
            for turn, (unit_slot, hex_slot) in enumerate(current):
                hexes[hex_slot] += 1
                units[turn, unit_slot] += 1
            finished, current = finished + 1, []
    stats = batch.episode_stats
    np.testing.assert_array_equal(stats.hex_slots(1), hexes)
    np.testing.assert_array_equal(stats.unit_order[1], units)
    np.testing.assert_array_equal(stats.unit_slots(1), [20, 20, 20])
    assert stats.hex_slots(0).sum() == 0
    assert stats.heat_map(1).shape == (7, 9)
    assert stats.heat_map(1).sum() == 60
    assert (stats.survived <= stats.placed).all()


def test_correlations_find_what_was_put_in():
    """Units placed near an objective lived, those far from it died; damage is the same everywhere."""
    stats = DeploymentStats(full_game().world)
    near, far = 10 * 25 + 2, 20 * 25 + 24
    stats.placed[0, 0, [near, far]] = 10
    stats.survived[0, 0, near] = 10
    stats.damage[0, 0, [near, far]] = 30
    found = stats.correlations(0)
    assert found["distance_to_objective/survival"] == pytest.approx(-1)
    assert np.isnan(found["distance_to_objective/damage"])
    assert set(found) == {f"distance_to_{a}/{b}" for a in ("objective", "enemy_zone") for b in ("survival", "damage")}
    assert all(np.isnan(value) for value in stats.correlations(1).values())
