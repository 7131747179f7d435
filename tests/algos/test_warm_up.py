"""Compilation is not part of the measured time, and leaves weights and generators as they are."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import nn

from src.algos.compute import Compute
from src.core.play.curriculum import Curriculum
from src.core.runs import checkpoint
from tests.algos.making import (
    ONE_THREAD,
    assert_same_weights,
    fit,
    minesweeper,
    no_curriculum,
    playing,
    ppo,
    rows_without_times,
    run_in,
    versus,
)
from tests.algos.test_alphazero import alphazero

COMPILING = replace(ONE_THREAD, compile=True)


def ladder() -> Curriculum:
    return Curriculum({"easy": minesweeper(size=4, mines=1)}, promote_at=0.01, keep=0.25)


SMALL_PPO = {"total_steps": 256, "eval_every": 64, "eval_episodes": 5, "mini_batches": 3}
RUNS: dict[str, tuple[Any, Any, Callable[[], Curriculum]]] = {
    "ppo": (ppo(**SMALL_PPO, play=playing(rollout_fraction=0.7)), minesweeper(size=5, mines=3), ladder),
    "alphazero": (alphazero(total_steps=128), versus(), no_curriculum),
}


@pytest.mark.parametrize("name", RUNS)
def test_compilation_is_not_part_of_the_measured_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    """With a clock that only compilation advances, by more than the time limit for every new shape of a batch."""
    algo, env, curriculum = RUNS[name]
    fit(algo, env, tmp_path / "plain", curriculum())
    now = 0.0

    def compiled(compute: Compute, net: nn.Module) -> Callable[..., Any]:
        seen = set()

        def forward(observations: torch.Tensor, *others: torch.Tensor) -> Any:
            nonlocal now
            shape = observations.shape, observations.dtype, torch.is_grad_enabled(), torch.is_inference_mode_enabled()
            now += 0.0 if shape in seen else 70.0
            seen.add(shape)
            return net(observations, *others)

        return forward

    monkeypatch.setattr(Compute, "compiled", compiled)
    monkeypatch.setattr("src.core.runs.run.time", SimpleNamespace(monotonic=lambda: now))
    fit(replace(algo, seconds=60.0, compute=COMPILING), env, tmp_path / "compiled", curriculum())
    assert now >= 140, "acting and training have other shapes"
    with (tmp_path / "compiled/metrics.csv").open(newline="") as file:
        assert {row["time/seconds"] for row in csv.DictReader(file)} == {"0.0"}
    assert rows_without_times(tmp_path / "compiled") == rows_without_times(tmp_path / "plain")
    assert_same_weights(tmp_path / "compiled", tmp_path / "plain", "last")


def contents(path: Path) -> dict[str, str]:
    """Return the structure of a checkpoint, with a digest of its arrays."""
    with safe_open(path, "numpy") as file:
        return dict(file.metadata())


@pytest.mark.parametrize("name", RUNS)
def test_warming_up_changes_no_weights_and_no_generators(tmp_path: Path, name: str):
    algo, env, curriculum = RUNS[name]
    with run_in(tmp_path) as run:
        trainer = replace(algo, compute=COMPILING).trainer(env, curriculum(), run)
        trainer.start()
        checkpoint.save(tmp_path / "before", trainer.state())
        generator = torch.get_rng_state()
        passes: list[bool] = []
        trainer.net.register_forward_hook(lambda *_: passes.append(torch.is_grad_enabled()))
        trainer.warm_up()
        checkpoint.save(tmp_path / "after", trainer.state())
    assert True in passes, "it trains on a batch"
    assert contents(tmp_path / "after") == contents(tmp_path / "before")
    assert torch.equal(torch.get_rng_state(), generator)
    assert all(weight.grad is None for weight in trainer.net.parameters())
