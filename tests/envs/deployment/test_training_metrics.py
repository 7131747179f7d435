"""Metrics logged by a training run of the wargame."""

import csv
import json

import pytest

from tests.envs.deployment.test_metrics import NAMES
from tests.lab import Lab

ALGOS = {
    "ppo": (
        "net_defaults.hidden=[16]",
        "algo.mini_batches=2",
        "algo.epochs=1",
        "algo.restrict_actions_until_updates=0",
        "algo.eval_every=256",
    ),
    "maskable_ppo": ("net_defaults.hidden=[16]", "algo.batch_size=128", "algo.epochs=1", "algo.eval_every=256"),
}


@pytest.mark.parametrize("algo", ["ppo", pytest.param("maskable_ppo", marks=pytest.mark.slow)])
def test_the_metrics_of_the_contract_are_logged(lab: Lab, algo: str):
    small = (
        "algo.total_steps=512",
        "algo.num_envs=8",
        "algo.steps_per_env=32",
        "algo.eval_episodes=2",
        "evaluation.episodes=2",
    )
    run = lab.train("env=deployment", f"algo={algo}", "logger=csv", *small, *ALGOS[algo])
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
    assert all(float(row["deployment_valid_action_rate"]) == 1 for row in rows if row["deployment_valid_action_rate"])
