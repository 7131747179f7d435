"""PPO in two processes under torchrun equals one process on the joined batch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from src.algos.ppo import RolloutBatch
from src.core import ranks
from src.core.errors import UserError
from src.core.runs import checkpoint
from src.core.runs.run import Run
from tests.algos import two_ranks
from tests.algos.making import minesweeper, no_curriculum, ppo, read_column, rows_without_times, saved_learner
from tests.lab import ROOT, read_json

pytestmark = pytest.mark.slow


def torchrun(folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "120"}
    command = [*launcher, "-m", module, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    done = torchrun(folder, "tests.algos.two_ranks", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


def test_two_ranks_make_the_update_of_the_joined_batch(results: Path):
    first, second = (checkpoint.load(results / f"learned{rank}.safetensors") for rank in (0, 1))
    alone = two_ranks.learned_from(two_ranks.joined_batch())
    half = two_ranks.learned_from(RolloutBatch(*(field[: two_ranks.SIZE // 2] for field in two_ranks.joined_batch())))
    for name, gradient in alone["gradients"].items():
        assert torch.equal(first["gradients"][name], second["gradients"][name])
        assert torch.equal(first["weights"][name], second["weights"][name])
        assert torch.allclose(first["gradients"][name], gradient, rtol=1e-3, atol=1e-6), name
        if gradient.abs().max() > 1e-4:  # AdamW makes whole steps of gradients that are nothing but rounding
            assert torch.allclose(first["weights"][name], alone["weights"][name], atol=1e-5), name
            assert not torch.allclose(half["gradients"][name], gradient, rtol=1e-2), "one half would not do"


def test_an_evaluation_is_shared_and_comes_to_the_same(results: Path):
    alone = two_ranks.played()
    for rank in (0, 1):
        report = read_json(results / f"report{rank}.json")
        assert report["outcomes"] == alone.outcomes
        assert report["metrics"] == alone.metrics
        assert report["first"] == "from 0"


def test_a_stopped_run_of_two_ranks_ends_like_a_whole_one(results: Path):
    assert rows_without_times(results / "killed") == rows_without_times(results / "whole")
    assert read_column(results / "whole", "step")[-1] == 320
    saved = saved_learner(results / "killed")
    (other,) = saved["other_ranks"]
    of_ranks = [len(rank["groups"][0]["episode_lengths"]) for rank in (saved, other)]
    assert of_ranks == [4, 4], "half of the games each"
    assert not torch.equal(saved["random"], other["random"]), "each draws for itself"


def test_a_run_must_be_resumed_with_the_same_number_of_ranks(results: Path):
    folder, refusal = results / "killed", "this run has 2 ranks: resume it with torchrun"
    with Run(folder, two_ranks.CONFIG, None) as run, pytest.raises(UserError, match=refusal):
        ppo(total_steps=320).fit(minesweeper(), no_curriculum(), run)


def test_torchrun_trains_one_run(tmp_path: Path):
    sizes = (
        "total_steps=512",
        "num_envs=8",
        "steps_per_env=16",
        "mini_batches=2",
        "eval_episodes=10",
        "eval_every=256",
    )
    fewer = ("~env.baselines.exact", "~env.baselines.heuristic", "~env.baselines.rules", "evaluation.episodes=11")
    overrides = ("env=minesweeper_8x8", "algo=ppo", "logger=csv", *fewer, *(f"algo.{size}" for size in sizes))
    done = torchrun(tmp_path, "src.train", *overrides)
    assert done.returncode == 0, done.stderr
    (run,) = tmp_path.glob("outputs/runs/*/*/*")
    assert [path for path in tmp_path.rglob("*") if path.is_file() and run not in path.parents] == []
    assert [row["step"] for row in rows_without_times(run)] == ["128", "256", "384", "512", "512", "512"]
    assert read_json(run / "eval.json")["scores"]["trained"]["episodes"] == 11
    assert done.stdout.count("ppo on minesweeper_8x8") == 1
    assert done.stderr.count("results are in") == 1


def test_ranks_sum_their_episode_statistics(results: Path):
    """The wargame's stats: in some rollouts no game of a rank ends."""
    won, logged = (
        read_column(results / "wargame", name) for name in ("train/win_rate", "winrate_with_active_deployment")
    )
    episodes = read_column(results / "wargame", "train/episodes")
    assert sum(episodes) > 0
    assert len(won) == sum(count > 0 for count in episodes), "a rate of no games is not logged"
    assert logged == won


def test_what_cannot_be_shared_is_refused(tmp_path: Path):
    done = torchrun(tmp_path, "src.train", "algo=qlearning")
    assert done.returncode != 0
    assert "error: algo=qlearning supports a single process only: start it without torchrun" in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_games_that_cannot_be_shared_evenly_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranks, "world_size", lambda: 3)
    with pytest.raises(UserError, match="num_envs=8 must be a multiple of the 3 ranks"):
        ppo().check(minesweeper(), no_curriculum())


def test_alone_everything_is_handed_back():
    value = torch.ones(2)
    assert ranks.mean(value) is value
    assert ranks.broadcast(value) is value
    assert ranks.gather(value)[0] is value
    assert (ranks.rank(), ranks.world_size(), ranks.stream()) == (0, 1, ())
