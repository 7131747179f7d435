"""Studies: finished runs are not repeated, tables of hand-computed numbers, ratings of known strength."""

import json
from argparse import Namespace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.connect_four import solver
from experiments.deployment_algos import __main__ as deployment_algos
from experiments.search_pruning import __main__ as search_pruning
from experiments.study import Arm, Study, main, shares_of_cores, train_all
from experiments.study_report import Outcome, difference, own_speed, table
from src import api
from src.core.play.arena import Tally, random_opening
from tests.lab import ROOT
from tests.test_compositions import composed

pytestmark = pytest.mark.slow

SMALL = ("algo.episodes=200", "algo.eval_every=100", "evaluation.episodes=10")


def study(rate: float) -> Study:
    arms = (Arm("slow", (*SMALL, f"algo.lr={rate}")), Arm("fast, greedy", (*SMALL, "algo.epsilon=0.1")))
    return Study("small", arms, seeds=(0,), scores=("random",))


def test_a_study_trains_each_arm_once_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    main(study(0.5), ["--folder", "report"])
    first = capsys.readouterr().out
    assert "slow, seed 0" in first
    assert len(list(tmp_path.glob("outputs/studies/small/*/0/eval.json"))) == 2
    runs = json.loads((tmp_path / "report/runs.json").read_text())
    assert [(run["arm"], run["steps"]) for run in runs] == [("slow", [100, 200]), ("fast, greedy", [100, 200])]
    assert runs[0]["tallies"]["random"]["episodes"] == 10
    assert (tmp_path / "report/curves.png").read_bytes().startswith(b"\x89PNG")

    main(study(0.5), ["--folder", "report", "--jobs", "2"])
    again = capsys.readouterr().out
    assert "seed 0" not in again
    assert again.strip() == (tmp_path / "report/table.md").read_text().strip()

    with pytest.raises(SystemExit, match="small/slow/0 holds a run of other values"):
        main(study(0.25), ["--folder", "report"])

    # As if conf/ had been edited since: the overrides are the same.
    config = tmp_path / "outputs/studies/small/fast_greedy/0/config.yaml"
    config.write_text(config.read_text().replace("checkpoint_seconds: 60", "checkpoint_seconds: 61"))
    with pytest.raises(SystemExit, match="small/fast_greedy/0 holds a run of other values"):
        main(study(0.5), ["--folder", "report"])
    assert "seed 0" not in capsys.readouterr().out


def test_a_study_that_is_refused_trains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "outputs/studies/small/fast_greedy/0"
    other.mkdir(parents=True)
    (other / "config.yaml").write_text("seed: 0\n")
    with pytest.raises(SystemExit, match="small/fast_greedy/0 holds a run of other values"):
        main(study(0.5), ["--folder", "report"])
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "outputs/studies/small/slow").exists()


def test_an_arm_waits_for_the_one_it_starts_from(monkeypatch: pytest.MonkeyPatch):
    arms = (Arm("first", ()), Arm("second", (), starts_from="first"), Arm("third", (), starts_from="second"))
    began: list[tuple[str, int]] = []
    monkeypatch.setattr("experiments.study.train", lambda _, arm, seed: began.append((arm.name, seed)))
    train_all(Study("small", arms, seeds=(0, 1), scores=()), jobs=1)
    assert began == [(name, seed) for name in ("first", "second", "third") for seed in (0, 1)]
    with pytest.raises(ValueError, match="no arm that stands before it"):
        Study("small", (arms[1], arms[0]), seeds=(0,), scores=())


def test_a_run_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch):
    trained: list[int] = []

    def train(_: Study, arm: Arm, seed: int) -> None:
        if seed == 1:
            raise SystemExit("seed 1 failed")
        trained.append(seed)

    monkeypatch.setattr("experiments.study.train", train)
    reported: list[int] = []
    with pytest.raises(SystemExit, match="seed 1 failed"):
        train_all(Study("small", (Arm("a", ()),), (0, 1, 2), ()), 1, lambda: reported.append(len(trained)))
    assert trained == [0, 2]
    assert len(reported) == 2, "after each run that is finished"


def test_runs_at_a_time_share_the_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 5}, raising=False)
    for jobs, expected in ((1, [[0, 1, 2, 5]]), (2, [[0, 2], [1, 5]]), (5, [[0], [1], [2], [5], [0]])):
        shares = shares_of_cores(jobs)
        assert [shares.get() for _ in range(jobs)] == expected


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_both_algorithms_are_compared_with_the_same_budget(device: str):
    options = Namespace(env="deployment", device=device, episodes=10, seeds=(0,))
    for budget in ("steps", "seconds"):
        arms = deployment_algos.study(budget, 4096, options).arms
        ours, theirs = (composed(*arm.overrides).algo for arm in arms)
        assert ours._target_ != theirs._target_
        assert ours.net == theirs.net
        for key in ("total_steps", "seconds", "eval_every", "num_envs", "steps_per_env", "epochs", "gamma", "lr"):
            assert ours[key] == theirs[key]
        assert ours["total_steps" if budget == "steps" else "seconds"] == 4096


def test_nothing_finished_is_nothing_to_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="no run of small is finished yet"):
        main(study(0.5), ["--folder", "report", "--only-report"])
    assert not (tmp_path / "report").exists()


def outcome(arm: str, seed: int, wins: int) -> Outcome:
    return Outcome(arm, seed, [100.0, 300.0], [10.0, 14.0], [0.1, 0.2], {"x": Tally(wins, 0, 100 - wins)})


def test_differences_are_paired_by_seed():
    ones = [outcome("b", seed, wins) for seed, wins in enumerate((52, 58))]
    others = [outcome("a", seed, wins) for seed, wins in enumerate((50, 52))]
    # Gains of 2 and 6 points: mean 4, deviation sqrt(8), so Student's half width is 12.706 * sqrt(8) / sqrt(2) = 25.4.
    assert difference(ones, others, "x") == "+4.0 (-21.4 to +29.4)"
    assert difference(ones[:1], others, "x") == "+2.0"
    rows = table([*others, *ones], "x").splitlines()
    assert rows[2].startswith("| a | 2 | 200 | 51.0% (44.1-57.8%) | 50.0%, 52.0% |")
    assert own_speed(ones[0]) == 50


def test_the_table_of_pruned_searches_adds_up_steps_and_seconds(tmp_path: Path):
    finished = search_pruning.Trial("0", "finished", 4000, 20.0, 0.5, [(2000, 0.25), (4000, 0.5)])
    other = search_pruning.Trial("1", "finished", 4000, 20.0, 0.25, [(2000, 0.125), (4000, 0.25)])
    pruned = search_pruning.Trial("1", "pruned", 2000, 10.0, None, [(2000, 0.125)])
    outcomes = [
        search_pruning.Outcome("none", [finished, other], "0", Tally(50, 0, 50)),
        search_pruning.Outcome("median", [finished, pruned], "0", Tally(50, 0, 50)),
    ]
    lines = search_pruning.report(outcomes, tmp_path).splitlines()
    assert lines[2].startswith("| none | 2, 0 | 8,000 | 100% | 40 | 0 | 50.0% (")
    assert lines[3].startswith("| median | 1, 1 | 6,000 | 75% | 30 | 0 | 50.0% (")
    assert json.loads((tmp_path / "trials.json").read_text())["median"][1]["curve"] == [[2000, 0.125]]
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_the_solver_of_connect_four_is_perfect():
    """It finds the same values of moves as a search by the rules of the game alone."""
    game = api.make("connect_four").unwrapped.game

    @cache
    def value(state: Any) -> int:
        outcome = game.outcome(state)
        if outcome is not None:
            return outcome if game.to_move(state) == 0 else -outcome
        return max(-value(game.play(state, col)) for col in game.legal_actions(state))

    rng, entries, values = np.random.default_rng(0), solver.table(), set()
    for _ in range(20):
        state = random_opening(game, 34, rng)
        expected = {col: -value(game.play(state, col)) for col in game.legal_actions(state)}
        assert solver.move_values(state[game.to_move(state)], state.first | state.second, entries) == expected
        values |= set(expected.values())
    assert values == {-1, 0, 1}
