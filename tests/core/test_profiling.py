"""Profiles of training: which updates they have, what is printed, and that nothing happens without `profile=true`."""

import ast
import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from src.core.runs import profiling
from src.core.runs.profiling import RECORDED, SKIPPED, TRACE, WARM_UP, top_operators
from src.core.runs.run import BEST, Run
from tests.lab import Lab

FIRST = SKIPPED + WARM_UP  # update that is recorded


def train(directory: Path, updates: int, *, profile: bool) -> list[int]:
    """Train a matrix in a run; return in which updates the trace was already there."""
    config, there = {"seed": 0, "checkpoint_seconds": 1e9, "profile": profile}, []
    with Run(directory, config, None) as run, run.progress("steps", updates, 0) as advance:
        for update in range(updates):
            torch.ones(20, 20) @ torch.ones(20, 20)
            advance(update + 1)
            if (directory / TRACE).exists():
                there.append(update)
    return there


def test_a_trace_has_some_updates_after_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    there = train(tmp_path, 10, profile=True)
    assert there == list(range(FIRST + RECORDED - 1, 10)), "it can be read while training goes on"
    events = json.loads(gzip.decompress((tmp_path / TRACE).read_bytes()))["traceEvents"]
    steps = {event["name"] for event in events if event["name"].startswith("ProfilerStep")}
    assert steps == {f"ProfilerStep#{FIRST + number}" for number in range(RECORDED)}
    assert sum(event["name"] == "aten::mm" for event in events) == RECORDED
    out = capsys.readouterr().out
    assert f"profile: {tmp_path / TRACE}, to be opened in" in out
    (line,) = (line for line in out.splitlines() if line.endswith(" aten::mm"))
    assert line.split()[1] == str(RECORDED)


def test_too_few_updates_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    train(tmp_path, FIRST, profile=True)
    assert not (tmp_path / TRACE).exists()
    assert f"profile: none, because fewer than {FIRST + 1} updates were left" in capsys.readouterr().out


def test_nothing_is_profiled_or_imported_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("src.core.runs.run.profiled", lambda *_: pytest.fail("profiled"))
    assert train(tmp_path, 10, profile=False) == []
    tree = ast.parse(Path(profiling.__file__).read_text())
    imported = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [line for line in imported if "torch" in line] == []


def test_operators_are_listed_by_their_time_on_the_gpu():
    def operator(name: str, cpu: float, gpu: float) -> SimpleNamespace:
        return SimpleNamespace(key=name, self_cpu_time_total=cpu, self_device_time_total=gpu, count=2)

    rows = top_operators([operator("ProfilerStep*", 9e3, 9e3), operator("a", 2e3, 1e3), operator("b", 1e3, 3e3)])
    assert [line.split()[:4] for line in rows.splitlines()[1:]] == [["3.0", "1.0", "2", "b"], ["1.0", "2.0", "2", "a"]]
    rows = top_operators([operator("a", 1e3, 0), operator("b", 2e3, 0)])
    assert [line.split() for line in rows.splitlines()[1:]] == [["2.0", "2", "b"], ["1.0", "2", "a"]]
    many = [operator(str(number), number, 0) for number in range(50)]
    assert len(top_operators(many).splitlines()) == 1 + profiling.TOP


SHORT = ("env=tictactoe", "logger=csv", "evaluation.episodes=2", "algo.eval_episodes=20", "algo.eval_every=100000")
SIZES = ("algo.total_steps=512", "algo.num_envs=16", "algo.steps_per_env=4", "algo.mini_batches=2")


@pytest.mark.slow
def test_training_is_profiled_and_its_result_is_the_same(lab: Lab):
    plain, profiled = (lab.train(*SHORT, "algo=ppo", *SIZES, f"profile={value}") for value in ("false", "true"))
    assert not (plain / TRACE).exists()
    assert b"aten::addmm" in gzip.decompress((profiled / TRACE).read_bytes())
    assert (plain / BEST).read_bytes() == (profiled / BEST).read_bytes()
    done = lab.succeed("train", f"resume={plain}", "profile=true", "logger=csv")
    assert "profile: none" in done.stdout, "all of its updates are done"
