"""Metrics logged by a training run of the wargame."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from src.algos.maskable_ppo import MaskedVecEnv
from src.config.build import build
from src.config.compose import resolved
from src.core.runs.run import Run
from src.envs.deployment.vec_env import VecDeployment
from tests.envs.deployment.test_metrics import NAMES
from tests.lab import Lab
from tests.test_compositions import composed
from tests.wandb_file import history, offline_file, summary

ALGOS = {
    "ppo": (
        "net_defaults.hidden=[16]",
        "algo.mini_batches=2",
        "algo.epochs=1",
        "algo.eval_every=512",
    ),
    "maskable_ppo": ("net_defaults.hidden=[16]", "algo.batch_size=128", "algo.epochs=1", "algo.eval_every=512"),
}


DEADLOCKS = ("env.game.min_enemy_distance=18", "env.game.on_deadlock=truncate")  # many deployments cannot be finished
STAGES = ("curriculum=random_first", "curriculum.promote_at=0.01")  # the opponent changes after the first evaluation


@pytest.mark.parametrize("algo", ["ppo", pytest.param("maskable_ppo", marks=pytest.mark.slow)])
def test_the_metrics_of_the_contract_are_logged(lab: Lab, algo: str):
    small = (
        *DEADLOCKS,
        *(STAGES if algo == "ppo" else ()),
        "algo.total_steps=1024",
        "algo.num_envs=8",
        "algo.steps_per_env=32",
        "algo.eval_episodes=6",
        "evaluation.episodes=2",
    )
    run = lab.train("env=deployment_classic", f"algo={algo}", "logger=wandb_offline", *small, *ALGOS[algo])
    with (run / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    for name in NAMES:
        values = [float(row[name]) for row in rows if row.get(name)]
        assert values, f"{name} is not in {list(rows[0])}"
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
        truncated = [
            (row["train/episodes"], row["train/truncated_share"]) for row in rows if row["train/truncated_share"]
        ]
        assert counts[-1] == pytest.approx(sum(float(games) * float(share) for games, share in truncated))
    pictures = [row["step"] for row in history(tracked) if any(key.startswith("train/diagnostics") for key in row)]
    assert pictures == ["512", "1024"], "the distributions are logged with every evaluation"


def test_maskable_ppo_counts_on_in_the_next_stage():
    env = build(composed("env=deployment_classic", "algo=maskable_ppo", *DEADLOCKS).env, "env")
    first, second = (MaskedVecEnv(env.vectorize(4)) for _ in range(2))
    for games in (first, second):
        games.seed(0)
        games.reset()
        rng = np.random.default_rng(0)
        for _ in range(60):
            masks = games.action_masks()
            games.step((masks * rng.random(masks.shape)).argmax(axis=1))
    deadlocks = first.batch.episode_stats.run_counts()["deadlocks"]
    assert deadlocks > 0
    second.continue_counts(first)
    assert second.episode_metrics()["deployment_deadlock_count"] == 2 * deadlocks


def test_counts_of_a_run_go_on_in_the_next_stage_of_maskable_ppo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    truncated, step = [], VecDeployment.step

    def counted(self: VecDeployment, actions: np.ndarray):
        result = step(self, actions)
        truncated.append(int(result[3].sum()))
        return result

    monkeypatch.setattr(VecDeployment, "step", counted)
    monkeypatch.setattr("src.core.runs.run.draw_counts", lambda *_: False)
    budget = ("algo.total_steps=768", "algo.num_envs=8", "algo.steps_per_env=32", "algo.eval_episodes=4")
    beatable = [f"~env.baselines.{name}" for name in ("tactical", "defensive", "greedy")]
    cfg = composed(
        "env=deployment_classic", "algo=maskable_ppo", *DEADLOCKS, *STAGES, *beatable, *budget, *ALGOS["maskable_ppo"]
    )
    with Run(tmp_path, resolved(cfg), None) as run:
        build(cfg.algo, "algo").fit(build(cfg.env, "env"), build(cfg.curriculum, "curriculum"), run)
    with (tmp_path / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["deployment_deadlock_count"]]
    counts = {row["step"]: float(row["deployment_deadlock_count"]) for row in rows}
    assert [row["train/stage"] for row in rows] == ["0", "0", "1"]
    assert 0 < counts["512"] < counts["768"] == sum(truncated), "the count is of the whole run"
