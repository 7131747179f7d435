"""Weights and metrics of a seed do not depend on torch's default number of threads."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from src.algos.compute import Compute, torch_threads
from src.algos.network_agent import InferenceConfig, NetworkAgent
from src.core.errors import UserError
from src.core.play.agent import Agent
from src.core.runs.config_file import read_config
from src.core.runs.run import Run
from src.nets.boards import CNN
from tests.algos.making import (
    CPU,
    assert_same_weights,
    killed_after,
    no_curriculum,
    ppo,
    rows_without_times,
    run_in,
)
from tests.algos.test_imitation import imitation
from tests.algos.test_imitation import minesweeper as board
from tests.algos.test_maskable_ppo import learner as maskable_ppo
from tests.lab import Lab
from tests.test_sweep import SWEEP, need_launchers
from tests.test_train import results_without_times

TWO = replace(CPU, threads=2)
LARGE = {"num_envs": 64, "steps_per_env": 16, "total_steps": 1024}  # batches whose sums are split over threads
LEARNERS: dict[str, Callable[[], Any]] = {
    "ppo": lambda: ppo(compute=TWO, **LARGE),
    "imitation": lambda: imitation(compute=TWO, batch_size=512, chunk_size=512, total_steps=1024, eval_every=512),
    "maskable_ppo": lambda: maskable_ppo(
        compute=TWO, net=CNN(16, value_pool="mean_max"), batch_size=512, **(LARGE | {"total_steps": 2048})
    ),
}


def fit(run: Run, name: str, available: int) -> Agent:
    """Train while torch would use `available` threads by default."""
    with torch_threads(available):
        agent = LEARNERS[name]().fit(board(size=8, mines=10), no_curriculum(), run)
        assert torch.get_num_threads() == available, "as before"
    return agent


def assert_same_run(run: Path, other: Path) -> None:
    assert rows_without_times(run) == rows_without_times(other)
    for name in ("last", "best"):
        assert_same_weights(run, other, name)


@pytest.fixture(
    scope="module", params=["ppo", *(pytest.param(name, marks=pytest.mark.slow) for name in LEARNERS if name != "ppo")]
)
def single(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The name of a learner, and its run where one thread was at hand."""
    folder = tmp_path_factory.mktemp(request.param)
    with run_in(folder) as run:
        fit(run, request.param, available=1)
    return request.param, folder


def test_the_threads_at_hand_do_not_change_a_run(tmp_path: Path, single: tuple[str, Path]):
    name, whole = single
    with run_in(tmp_path) as run:
        fit(run, name, available=3)
    assert_same_run(whole, tmp_path)


def test_a_run_resumed_with_other_threads_equals_an_uninterrupted_one(tmp_path: Path, single: tuple[str, Path]):
    name, whole = single
    with killed_after(1, tmp_path / "killed") as run:
        fit(run, name, available=1)
    with run_in(tmp_path / "killed") as run:
        fit(run, name, available=3)
    assert_same_run(whole, tmp_path / "killed")


def test_the_number_of_threads_is_set_for_a_while():
    before = torch.get_num_threads()
    with torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
        with torch_threads(None):
            assert torch.get_num_threads() == before + 1
    with pytest.raises(KeyError), torch_threads(before + 1):
        raise KeyError
    assert torch.get_num_threads() == before


def test_a_run_says_once_that_more_cores_are_there(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    with pytest.MonkeyPatch.context() as patch, run_in(tmp_path / "few") as run:
        patch.setattr("src.algos.trainer.CORES", 64)
        fit(run, "ppo", available=1)
    with pytest.MonkeyPatch.context() as patch, run_in(tmp_path / "all") as run:
        patch.setattr("src.algos.trainer.CORES", 2)
        fit(run, "ppo", available=1)
    (message,) = [record.message for record in caplog.records if "algo.compute.threads" in record.message]
    assert message.startswith("the network uses 2 threads on 64 cores: algo.compute.threads=64 is faster")


def test_an_agent_computes_with_the_threads_of_its_run():
    env, counts = board(), []
    agent = NetworkAgent(
        CNN(8, value_pool="mean_max").build((5, 5), 25), replace(CPU, threads=7), InferenceConfig(symmetries=False)
    )
    agent.net.register_forward_hook(lambda *_: counts.append(torch.get_num_threads()))
    agent.decide(env.game, env.game.view(env.game.initial(np.random.default_rng(0))), np.random.default_rng(0))
    agent.values(np.zeros((2, 5, 5), np.int8))
    assert counts == [7, 7]


def test_no_threads_are_refused():
    with pytest.raises(UserError, match="threads=0 must be a whole number"):
        Compute("cpu", "float32", compile=False, threads=0)


@pytest.mark.slow
def test_a_job_of_a_sweep_is_the_single_run(lab: Lab):
    """The joblib launcher limits each job to its share of the cores."""
    need_launchers("sweep")
    sizes = ("algo.num_envs=64", "algo.steps_per_env=16", "algo.mini_batches=2", "algo.total_steps=4096")
    network = ("net_defaults.channels=16", "net_defaults.blocks=1")
    episodes = ("algo.eval_every=2048", "algo.eval_episodes=50", "evaluation.episodes=50")
    command = ("env=minesweeper_8x8", "algo=ppo", "device=cpu", "logger=csv", *sizes, *network, *episodes)
    lab.succeed("train", "-m", "launcher=joblib", "seed=1,2", *command, SWEEP, fresh=True)
    single = lab.train("seed=2", *command)
    job = lab.folder / "sweep/1"
    assert read_config(job)["algo"]["compute"]["threads"] == 2, "for a resume"
    assert_same_run(job, single)
    assert results_without_times(job) == results_without_times(single)
