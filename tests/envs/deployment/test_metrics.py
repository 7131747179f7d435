"""The metrics of the contract, by their names, the data behind the diagnostics, and what training runs log of them."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from src.config.build import build
from src.config.compose import resolved
from src.core.errors import UserError
from src.core.play.agent import Agent, RandomAgent
from src.core.runs.run import Run
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.metrics import OWN, DeploymentStats
from src.envs.deployment.rules.kernels import UNDECIDED
from src.envs.deployment.rules.world import GAME, UNIT_STATE
from src.envs.deployment.step_kernels import RESULT
from src.envs.deployment.vec_env import VecDeployment
from tests.envs.deployment.making import DEADLOCK, REWARD, bot, deployed, drawn, full_game, make_env, small_game
from tests.golden.metrics import is_documented
from tests.lab import Lab
from tests.test_compositions import composed
from tests.wandb_file import history, offline_file, summary

NAMES = {
    "deployment_valid_action_rate",
    "deployment_invalid_action_attempt_rate",
    "deployment_steps_mean",
    "deployment_deadlock_count",
    "deployment_pass_count",
    "winrate_with_active_deployment",
}
DEADLOCKS = ("env.game.min_enemy_distance=18", "env.game.on_deadlock=truncate")  # many deployments cannot be finished
STAGES = ("curriculum=random_first", "curriculum.promote_at=0.01")  # the opponent changes after the first evaluation
SMALL = ("net_defaults.hidden=[16]", "algo.num_envs=8", "algo.steps_per_env=32", "algo.epochs=1", "algo.eval_every=512")


def played(batch, steps: int, seed: int = 0) -> list[dict]:
    """Play random actions; return the final info of each finished game."""
    rng, games = np.random.default_rng(seed), []
    _, info = batch.reset(seed=seed)
    for _ in range(steps):
        *_, info = batch.step(drawn(rng, info["action_mask"]))
        for i in np.flatnonzero(info.get("_final_info", [])):
            games.append({name: values[i] for name, values in info["final_info"].items()})
    return games


def test_the_metrics_of_the_contract_are_documented_and_add_up():
    batch = make_env().vectorize(4)
    assert batch.episode_stats.episode_metrics() == {}, "nothing has ended yet, and nothing is made up"
    games = played(batch, 150)
    metrics = batch.episode_stats.episode_metrics()
    assert batch.episode_stats.episodes == len(games) > 5
    assert set(metrics) == NAMES <= set(games[0])
    assert all(is_documented(name) for name in NAMES)
    for name in ("deployment_valid_action_rate", "deployment_steps_mean", "winrate_with_active_deployment"):
        assert metrics[name] == pytest.approx(np.mean([game[name] for game in games]))
    assert metrics["deployment_steps_mean"] == 5
    assert 0 < metrics["winrate_with_active_deployment"] < 1
    assert batch.episode_stats.episode_metrics() == {}, "metrics are reported once"
    batch.episode_stats.clear()
    assert batch.episode_stats.episode_metrics() == {}
    game_metrics = small_game().episode_metrics(batch.states[0])
    assert set(game_metrics) == NAMES - {"winrate_with_active_deployment"}
    assert all(is_documented(f"final/random/{name}") for name in game_metrics)


def test_metrics_cover_the_games_since_the_last_report():
    batch, count = make_env().vectorize(4), 0
    for seed in range(3):
        wins = [game["won"] for game in played(batch, 60, seed)]
        saved, again = batch.state(), make_env().vectorize(4)
        placed = saved["episode_stats"]["placed"].copy()
        again.load_state(saved)
        for stats in (batch.episode_stats, again.episode_stats):
            assert stats.episode_metrics()["winrate_with_active_deployment"] == pytest.approx(np.mean(wins))
            assert stats.episode_metrics() == {}
        count += len(wins)
        played(again, 60)
        np.testing.assert_array_equal(saved["episode_stats"]["placed"], placed)
    assert batch.episode_stats.episodes == count


@pytest.mark.parametrize("opponent", [bot(1.0), RandomAgent()])
def test_refused_actions_can_be_counted_and_penalized(opponent: Agent):
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
        *_, info = batch.step(drawn(rng, info["action_mask"]))
    rate = batch.episode_stats.episode_metrics()["deployment_invalid_action_attempt_rate"]
    assert rate == pytest.approx(3 / (3 + 5 * batch.episode_stats.episodes)), "three refusals in one of them"
    with pytest.raises(UserError, match="does not exist"):
        batch.step(np.array([0, batch.game.num_actions]))


def test_a_single_env_penalizes_refused_actions_likewise():
    env = DeploymentEnv(small_game(), bot(1.0), REWARD, "first", {}, invalid_action_penalty=0.25)
    observation, info = env.reset(seed=0)
    after, reward, terminated, truncated, info = env.step(env.game.actions.wait_action)
    assert (reward, terminated, truncated, info["rewards"]["invalid_action"]) == (-0.25, False, False, -0.25)
    np.testing.assert_array_equal(after, observation)
    with pytest.raises(UserError, match="does not exist"):
        env.step(env.game.num_actions)
    while "outcome" not in info:
        *_, info = env.step(int(info["action_mask"].argmax()))
    assert info["deployment_invalid_action_attempt_rate"] == pytest.approx(2 / 7), "five placements and two refusals"
    state = env._batch.states[0]
    state.invalid_attempts = 2  # which the environment has counted and reset
    metrics = env.game.episode_metrics(state)
    assert metrics["deployment_valid_action_rate"] == pytest.approx(5 / 7)
    assert {name: info[name] for name in metrics} == metrics, "one definition in the arena and in training"


def test_every_count_enters_its_own_metric():
    """By hand: a win, a loss and a game that two passes, one of them a deadlock, have ended; one refused action."""
    stats = DeploymentStats(small_game().world)
    results, games, units = np.zeros(3, RESULT), np.zeros(3, GAME), np.zeros((3, 6), UNIT_STATE)
    results["placement"], results["invalid"] = OWN, [0, 1, 0]
    games["outcome"], games["deadlocked"] = [1, -1, UNDECIDED], [False, False, True]
    games["deployment_steps"], games["passes"] = [5, 5, 2], [0, 0, 2]
    units["deployed"][:, :2], units["start"][:, :2], units["hp"][:, :2] = True, (7, 8), [(2, 0), (0, 0), (2, 2)]
    info = stats.add(results, games, units)
    assert info["won"].tolist() == [True, False, False]
    assert info["deployment_deadlock_count"].tolist() == [0, 0, 1]
    assert info["deployment_pass_count"].tolist() == [0, 0, 2]
    assert stats.episode_metrics() == {
        "deployment_valid_action_rate": 14 / 15,  # twelve placements and two passes
        "deployment_invalid_action_attempt_rate": 1 / 15,
        "deployment_steps_mean": 4,
        "deployment_deadlock_count": 1,
        "deployment_pass_count": 2,
        "winrate_with_active_deployment": 1 / 3,  # a deadlocked game is not won
    }
    assert stats.placed[0, [0, 1], [7, 8]].tolist() == [3, 3]
    assert stats.survived[0, [0, 1], [7, 8]].tolist() == [2, 1]


def test_the_arena_counts_passes_as_valid_actions():
    zones = {"player_1": [{"cols": [0, 1], "rows": [5, 5]}], "player_2": [{"cols": [0, 4], "rows": [5, 5]}]}
    game = small_game(zones=zones, deployment_order_mode="alternated_p1_start", on_deadlock="truncate")
    state = deployed(game, a1=(0, 5), b1=(1, 5))
    with pytest.raises(UserError, match="outside the zone"):
        game.deploy_unit(state, "a2", 3, 5)
    for unit, col in (("b2", 2), ("b3", 3)):
        game.pass_deployment(state)
        game.deploy_unit(state, unit, col, 5)
    game.pass_deployment(state)
    assert game.episode_metrics(state) == {
        "deployment_valid_action_rate": 7 / 8,
        "deployment_invalid_action_attempt_rate": 1 / 8,
        "deployment_steps_mean": 4,
        "deployment_deadlock_count": 1,
        "deployment_pass_count": 3,
    }


def test_counts_are_of_the_whole_run():
    """Also over a checkpoint, and over batches that replace each other."""

    def deadlocks(batch) -> float:
        return sum(game["deployment_deadlock_count"] for game in played(batch, 20))

    game = small_game(on_deadlock="truncate", **DEADLOCK)
    batch, total = make_env(game).vectorize(3), 0.0
    for _ in range(2):
        total += deadlocks(batch)
        assert batch.episode_stats.episode_metrics()["deployment_deadlock_count"] == total
    batch.load_state(batch.state())
    total += deadlocks(batch)
    other = make_env(game).vectorize(3)
    other.episode_stats.add_earlier(batch.episode_stats.run_counts())
    total += deadlocks(other)
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
        action = drawn(rng, info["action_mask"])
        if action[0] < game.actions.pass_action:
            current.append(game.actions.slots_of(int(action[0])))
        *_, info = batch.step(action)
        if "final_info" in info:
            for turn, (unit_slot, hex_slot) in enumerate(current):
                hexes[hex_slot] += 1
                units[turn, unit_slot] += 1
            finished, current = finished + 1, []
    counts = batch.episode_stats.diagnostics()[1]
    assert all(name.endswith(", second player") for name in counts), "the learner was never the first"
    np.testing.assert_array_equal(counts["hex slots, second player"], hexes)
    np.testing.assert_array_equal(counts["unit slot placed n-th, second player"], units)
    np.testing.assert_array_equal(counts["unit slots, second player"], [20, 20, 20])
    assert counts["units placed on each hex, second player"].shape == (7, 9)
    assert counts["units placed on each hex, second player"].sum() == 60
    assert (batch.episode_stats.survived <= batch.episode_stats.placed).all()


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


@pytest.mark.parametrize("algo", ["ppo", pytest.param("maskable_ppo", marks=pytest.mark.slow)])
def test_the_metrics_of_the_contract_are_logged(lab: Lab, algo: str):
    own = (*STAGES, "algo.mini_batches=2") if algo == "ppo" else ("algo.batch_size=128",)
    budget = ("algo.total_steps=1024", "algo.eval_episodes=6", "evaluation.episodes=2")
    run = lab.train("env=deployment_classic", f"algo={algo}", "logger=wandb_offline", *DEADLOCKS, *own, *budget, *SMALL)
    with (run / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    for name in NAMES:
        assert any(row.get(name) for row in rows), f"{name} is not in {list(rows[0])}"
    chosen = json.loads((run / "diagnostics.json").read_text())
    placed = sum(map(sum, chosen["units placed on each hex, first player"]))
    assert placed == sum(chosen["unit slots, first player"]) == sum(chosen["hex slots, first player"]) > 0
    assert any(name.startswith("deployment_correlation/first/") for name in rows[-1])
    assert (run / "diagnostics.png").read_bytes().startswith(b"\x89PNG")
    counts = [float(row["deployment_deadlock_count"]) for row in rows if row["deployment_deadlock_count"]]
    assert counts == sorted(counts), "the count is of the whole run"
    assert len(set(counts)) > 1
    tracked = offline_file(run)
    assert summary(tracked)["deployment_deadlock_count"] == counts[-1]
    if algo == "ppo":
        assert {row["train/stage"] for row in rows} >= {"0", "1"}
        shares = [(row["train/episodes"], row["train/truncated_share"]) for row in rows if row["train/truncated_share"]]
        assert counts[-1] == pytest.approx(sum(float(games) * float(share) for games, share in shares))
    pictures = [row["step"] for row in history(tracked) if any(key.startswith("train/diagnostics") for key in row)]
    assert pictures == ["512", "1024"], "the distributions are logged with every evaluation"


def test_counts_go_on_in_the_next_stage_of_maskable_ppo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    truncated, step = [], VecDeployment.step

    def counted(self: VecDeployment, actions: np.ndarray):
        result = step(self, actions)
        truncated.append(int(result[3].sum()))
        return result

    monkeypatch.setattr(VecDeployment, "step", counted)
    monkeypatch.setattr("src.core.runs.run.draw_counts", lambda *_: False)
    beatable = [f"~env.baselines.{name}" for name in ("tactical", "defensive", "greedy")]
    budget = ("algo.total_steps=768", "algo.eval_episodes=4", "algo.batch_size=128")
    cfg = composed("env=deployment_classic", "algo=maskable_ppo", *DEADLOCKS, *STAGES, *beatable, *budget, *SMALL)
    with Run(tmp_path, resolved(cfg), None) as run:
        build(cfg.algo, "algo").fit(build(cfg.env, "env"), build(cfg.curriculum, "curriculum"), run)
    with (tmp_path / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["deployment_deadlock_count"]]
    counts = {row["step"]: float(row["deployment_deadlock_count"]) for row in rows}
    assert [row["train/stage"] for row in rows] == ["0", "0", "1"]
    assert 0 < counts["512"] < counts["768"] == sum(truncated), "the count is of the whole run"
