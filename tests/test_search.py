"""Hyperparameter searches: the search space, pruning, one journal for several processes, resuming, error messages."""

import csv
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock
from hydra import compose, initialize_config_dir
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import DictConfig, OmegaConf

from src.config import CONF, cli
from src.config.hparams_search import SPACE, Search, Settings, build, parse_space
from src.core.errors import UserError
from src.core.runs import trials
from src.core.runs.run import LOCK, Pruned
from src.core.runs.sweep_jobs import Job
from src.core.runs.trials import param_importance, write_report
from tests.lab import ROOT, Lab, need
from tests.marks import mostly_slow
from tests.test_sweep import need_launchers, table
from tests.wandb_file import of_kind, offline_file, summary

SWEEP = "hydra.sweep.dir=sweep"
EVALUATIONS = 4
Objective = Callable[[float, int], float]  # of x and the number of the evaluation


@pytest.fixture(autouse=True)
def _optuna() -> None:
    need("sweep", "optuna")


def part(group: str, option: str, **changes: Any) -> Any:
    node = OmegaConf.load(CONF / group / f"{option}.yaml").hydra.sweeper[group]
    return OmegaConf.merge(node, changes)


def settings(**changes: Any) -> Settings:
    values = {"n_trials": 12, "n_jobs": 1, "max_failure_rate": 1.0, "params": {"x": "interval(0.0, 1.0)"}}
    parts = {"sampler": part("sampler", "random"), "pruner": part("pruner", "median", n_startup_trials=2)}
    return Settings(**{**values, **parts, **changes})


class Jobs:
    """A launcher whose jobs evaluate a function of x, and report it as the training command does."""

    def __init__(self, directory: Path, pruner: Any, objective: Objective = lambda x, _: x) -> None:
        self.directory, self.pruner, self.objective = directory, pruner, objective
        self.numbers: list[int] = []  # of all trials that were launched
        self.evaluated: dict[int, int] = {}  # evaluations of each trial

    def __call__(self, jobs: Sequence[Sequence[str]], first: int) -> list[JobReturn]:
        return [self.run(overrides, first + number) for number, overrides in enumerate(jobs)]

    def run(self, overrides: Sequence[str], number: int) -> JobReturn:
        values = dict(word.split("=") for word in overrides)
        assert int(values["hydra.sweeper.trial"]) == number, "a trial and its job have the same number"
        self.numbers.append(number)
        observe, x = trials.TrialObserver(self.directory, number, build("pruner", self.pruner)), float(values["x"])
        for evaluation in range(1, EVALUATIONS + 1):
            self.evaluated[number] = evaluation
            try:
                observe(1000 * evaluation + number, self.objective(x, evaluation))
            except Pruned:
                return JobReturn(status=JobStatus.COMPLETED, _return_value=None)
        return JobReturn(status=JobStatus.COMPLETED, _return_value=self.objective(x, EVALUATIONS))


def run_search(directory: Path, chosen: Settings, jobs: Any = None, *arguments: str) -> Any:
    """Run a search with a fake launcher and return its study."""
    jobs = Jobs(directory, chosen.pruner) if jobs is None else jobs
    Search(str(directory), chosen, jobs, lambda _: None).run(arguments)
    return trials.open_study(directory)


def sampled(study: Any) -> list[dict[str, Any]]:
    return [trial.params for trial in study.get_trials()]


def states(study: Any) -> list[str]:
    return [trial.state.name for trial in study.get_trials()]


@pytest.mark.parametrize(
    ("override", "distribution"),
    [
        ("a=interval(0.1, 1)", "FloatDistribution(high=1.0, log=False, low=0.1, step=None)"),
        ("a=int(interval(1, 8))", "IntDistribution(high=8, log=False, low=1, step=1)"),
        ("a=tag(log, interval(1e-4, 1e-2))", "FloatDistribution(high=0.01, log=True, low=0.0001, step=None)"),
        ("a=tag(log, int(interval(1, 64)))", "IntDistribution(high=64, log=True, low=1, step=1)"),
        ("a=range(1, 6)", "IntDistribution(high=6, log=False, low=1, step=1)"),
        ("a=range(0, 10, 5)", "IntDistribution(high=10, log=False, low=0, step=5)"),
        ("a=range(0.0, 1.0, 0.25)", "FloatDistribution(high=1.0, log=False, low=0.0, step=0.25)"),
        ("a=choice(0.9, 1)", "CategoricalDistribution(choices=(0.9, 1))"),
        ("a=0.9,null,true", "CategoricalDistribution(choices=(0.9, 'null', True))"),
        ("a=choice([64,64], [128])", "CategoricalDistribution(choices=('[64,64]', '[128]'))"),
        ("+a.b@c=choice(x, y)", "CategoricalDistribution(choices=('x', 'y'))"),
    ],
)
def test_every_range_of_hydra_becomes_a_distribution(override: str, distribution: str):
    space, fixed = parse_space(None, [override])
    assert [(key, repr(value)) for key, value in space.items()] == [(override.split("=")[0], distribution)]
    assert fixed == []


def test_the_command_line_overrides_the_ranges_of_a_file():
    ranges = DictConfig({"a": "interval(0, 1)", "b": "choice(1, 2)"})
    space, fixed = parse_space(ranges, ["c='x y'", "~d", "a=0.5", "++b=range(1, 3)"])
    assert list(space) == ["++b"]
    assert fixed == ["c='x y'", "~d", "a=0.5"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("a=interval(1.0, 0.5)", r"a=interval\(1.0, 0.5\) is not a valid range"),
        ("a=tag(log, interval(0, 1))", r"is not a valid range: `low > 0` must hold"),
        ("a=glob(*)", "is not supported in a search: use choice, interval or range"),
    ],
)
def test_an_invalid_range_is_reported(override: str, message: str):
    with pytest.raises(UserError, match=message):
        parse_space(None, [override])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_trials": 0}, "hydra.sweeper.n_trials=0 must be a whole number in"),
        ({"n_jobs": 1.5}, "hydra.sweeper.n_jobs=1.5 must be a whole number in"),
        ({"max_failure_rate": 2}, r"hydra.sweeper.max_failure_rate=2 must be a number in \[0, 1\]"),
        ({"params": None}, "the search has no ranges: type some"),
        ({"pruner": None}, "the search has no pruner: type pruner= and an option"),
        ({"sampler": {"_target_": "optuna.samplers.GridSampler"}}, "as a plain sweep does"),
        ({"sampler": {"_target_": "optuna.samplers.TPESampler", "nosuch": 1}}, "hydra.sweeper.sampler cannot be built"),
    ],
)
def test_invalid_settings_of_a_search_sample_nothing(tmp_path: Path, changes: Any, message: str):
    with pytest.raises(UserError, match=message):
        run_search(tmp_path, settings(**changes), lambda *_: pytest.fail("a job was launched"))


@pytest.mark.parametrize("group", ["sampler", "pruner"])
def test_every_sampler_and_pruner_works_and_belongs_to_a_search(tmp_path: Path, group: str):
    for option in sorted(path.stem for path in (CONF / group).glob("*.yaml")):
        study = run_search(tmp_path / option, settings(n_trials=4, **{group: part(group, option)}))
        assert states(study).count("COMPLETE") >= 1
        with pytest.raises(UserError, match=f"{group}={option} .*hparams_search=optuna"):
            cli.train_arguments([f"{group}={option}"])
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        cfg = compose("train", ["hparams_search=minesweeper_ppo", f"{group}={option}"], return_hydra_config=True)
    assert cfg.hydra.sweeper[group] == part(group, option)
    assert cfg.hydra.sweeper.pruner._target_ == "optuna.pruners.MedianPruner" or group == "pruner"


def test_the_pruner_stops_bad_trials_and_keeps_the_best(tmp_path: Path):
    plain, jobs = settings(pruner=part("pruner", "none")), Jobs(tmp_path / "pruned", settings().pruner)
    whole = run_search(tmp_path / "whole", plain)
    pruned = run_search(tmp_path / "pruned", settings(), jobs)
    assert states(whole) == ["COMPLETE"] * 12
    assert sampled(whole) == sampled(pruned), "the random sampler draws the same"
    assert states(pruned).count("PRUNED") >= 3
    assert pruned.best_trial.params == whole.best_trial.params
    assert sum(jobs.evaluated.values()) < 0.8 * 12 * EVALUATIONS
    for trial in pruned.get_trials():
        assert jobs.evaluated[trial.number] == len(trial.intermediate_values) == len(trial.user_attrs["steps"])
        assert list(trial.intermediate_values) == list(range(1, len(trial.intermediate_values) + 1))


def test_a_repeated_evaluation_of_a_resumed_job_is_the_same_one(tmp_path: Path):
    number = trials.open_study(tmp_path).ask().number
    for steps in ((10, 20, 30), (20, 30, 40)):  # resumed from a checkpoint at step 10
        observe = trials.TrialObserver(tmp_path, number, build("pruner", part("pruner", "none")))
        for step in steps:
            observe(step, step / 100)
    values = trials.open_study(tmp_path).get_trials()[number].intermediate_values
    assert values == {1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4}


@pytest.mark.parametrize("sampler", ["tpe", "random", "cmaes"])
def test_an_interrupted_search_samples_the_same(tmp_path: Path, sampler: str):
    chosen = settings(n_trials=14, n_jobs=2, sampler=part("sampler", sampler))
    whole = run_search(tmp_path / "whole", chosen)

    class Killed(Jobs):
        def run(self, overrides: Sequence[str], number: int) -> JobReturn:
            if number == 5:
                raise KeyboardInterrupt
            return super().run(overrides, number)

    with pytest.raises(KeyboardInterrupt):
        run_search(tmp_path / "killed", chosen, Killed(tmp_path / "killed", chosen.pruner))
    assert states(trials.open_study(tmp_path / "killed")).count("RUNNING") == 2
    jobs = Jobs(tmp_path / "killed", chosen.pruner)
    resumed = run_search(tmp_path / "killed", chosen, jobs)
    assert jobs.numbers == list(range(4, 14))
    assert sampled(resumed) == sampled(whole)
    assert states(resumed) == states(whole)
    run_search(tmp_path / "killed", chosen, lambda *_: pytest.fail("a finished search launched a job"))


def test_a_search_is_not_resumed_with_other_ranges(tmp_path: Path):
    run_search(tmp_path, settings(n_trials=2))
    with pytest.raises(UserError, match="other ranges"):
        run_search(tmp_path, settings(params={"x": "interval(0.0, 2.0)"}))


def test_a_trial_of_other_ranges_is_refused(tmp_path: Path):
    """It is resumed by its settings in the journal, which may come from others."""
    from optuna.distributions import CategoricalDistribution

    study, (space, _) = trials.open_study(tmp_path), parse_space(None, ["x=interval(0.0, 1.0)"])
    study.set_user_attr(SPACE, {name: repr(distribution) for name, distribution in space.items()})
    study.ask({"x": CategoricalDistribution(["{_target_: os.abort}"])})
    with pytest.raises(UserError, match="other ranges"):
        run_search(tmp_path, settings(n_trials=2), lambda *_: pytest.fail("a job was launched"))


@pytest.mark.parametrize(
    ("found", "replaced"),
    [
        (rb"^.+$", b"\xff\xfe"),
        (rb"^.+$", b"[1]"),
        (rb"^.+$", b'{"op_code":99}'),
        (rb'"values":\[[^]]*\]', b'"values":[NaN]'),
        (rb'"values":\[[^]]*\]', b'"values":[1e300]'),
        (rb'"values":\[[^]]*\]', b'"values":["a"]'),
        (rb'"intermediate_value":[^,}]*', b'"intermediate_value":1e300'),
        (rb'"steps":\[[^]]*\]', b'"steps":["a"]'),
    ],
)
def test_a_damaged_journal_is_reported_and_left(tmp_path: Path, found: bytes, replaced: bytes):
    run_search(tmp_path, settings(n_trials=2))
    journal = tmp_path / trials.JOURNAL
    damaged, count = re.subn(found, replaced, journal.read_bytes(), flags=re.MULTILINE)
    assert count > 0
    journal.write_bytes(damaged)
    for use in (lambda: write_report(tmp_path, []), lambda: run_search(tmp_path, settings(n_trials=3))):
        with pytest.raises(UserError, match=trials.JOURNAL):
            use()
    assert journal.read_bytes() == damaged


def test_a_pipe_is_no_journal(tmp_path: Path):
    os.mkfifo(tmp_path / trials.JOURNAL)
    for use in (lambda: write_report(tmp_path, []), lambda: run_search(tmp_path, settings())):
        with pytest.raises(UserError, match=trials.JOURNAL):
            use()


def test_a_report_takes_any_name_and_keeps_the_journal(tmp_path: Path):
    from optuna.distributions import FloatDistribution

    study = trials.open_study(tmp_path)
    for value in range(5):
        study.tell(study.ask({r"$\nosuch$": FloatDistribution(0, 1)}), value)
    before = (tmp_path / trials.JOURNAL).read_bytes()
    best = write_report(tmp_path, [Job("0", {}, r"$\nosuch$", None, None, "")])
    assert r"job 4: $\nosuch$ 4" in str(best)
    assert (tmp_path / "importance.png").exists()
    assert (tmp_path / trials.JOURNAL).read_bytes() == before


def test_a_journal_with_a_partial_last_line_can_be_continued(tmp_path: Path):
    run_search(tmp_path, settings(n_trials=2))
    journal = tmp_path / trials.JOURNAL
    journal.write_bytes(journal.read_bytes() + b'{"op_code":6,"worker')
    assert len(run_search(tmp_path, settings(n_trials=4)).get_trials()) == 4


def test_a_line_that_a_job_is_writing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from optuna.storages.journal import JournalFileOpenLock

    journal = tmp_path / trials.JOURNAL
    journal.write_bytes(b'{"a":1}\n{"b"')

    def acquire(lock: Any) -> bool:
        journal.write_bytes(b'{"a":1}\n{"b":2}\n')  # by the job that had the lock until now
        return bool(acquired(lock))

    acquired = JournalFileOpenLock.acquire
    monkeypatch.setattr(JournalFileOpenLock, "acquire", acquire)
    trials.drop_partial_line(tmp_path)
    assert journal.read_bytes() == b'{"a":1}\n{"b":2}\n'
    assert [path.name for path in tmp_path.iterdir()] == [trials.JOURNAL], "the lock is released"


def test_a_search_is_not_continued_while_its_jobs_run(tmp_path: Path):
    class Killed(Jobs):
        def run(self, overrides: Sequence[str], number: int) -> JobReturn:
            raise KeyboardInterrupt

    chosen = settings(n_trials=3)
    with pytest.raises(KeyboardInterrupt):
        run_search(tmp_path, chosen, Killed(tmp_path, chosen.pruner))
    (tmp_path / "0").mkdir()
    with FileLock(tmp_path / "0" / LOCK):
        with pytest.raises(UserError, match=r"jobs 0 .*still run"):
            run_search(tmp_path, chosen, lambda *_: pytest.fail("a job was launched twice"))
        assert states(trials.open_study(tmp_path)) == ["RUNNING"]
    assert states(run_search(tmp_path, chosen))[0] == "COMPLETE"


@pytest.mark.parametrize("sampler", ["tpe", "random"])
@pytest.mark.parametrize("written", mostly_slow([24, 27], fast=1))
def test_a_search_killed_while_it_sampled_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: str, written: int
):
    """Trials have two settings, rounds three trials: the fifth is killed in its first trial, or in its second."""
    from optuna.storages import JournalStorage

    space = {"x": "interval(0.0, 1.0)", "y": "interval(0.0, 1.0)"}
    chosen = settings(n_trials=18, n_jobs=3, sampler=part("sampler", sampler), params=space)
    whole = run_search(tmp_path / "whole", chosen)
    calls, write = itertools.count(), JournalStorage.set_trial_param

    def set_trial_param(*arguments: Any) -> None:
        if next(calls) == written:
            raise KeyboardInterrupt
        write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(JournalStorage, "set_trial_param", set_trial_param)
        with pytest.raises(KeyboardInterrupt):
            run_search(tmp_path / "killed", chosen)
    resumed = run_search(tmp_path / "killed", chosen)
    assert [params for params in sampled(resumed) if len(params) == 2] == sampled(whole)
    assert states(resumed).count("FAIL") == 1


def test_a_trial_killed_while_it_was_sampled_is_replaced(tmp_path: Path):
    run_search(tmp_path, settings(n_trials=2)).ask()  # of nothing
    study = run_search(tmp_path, settings(n_trials=4))
    assert [trial.state.name for trial in study.get_trials() if not trial.params] == ["FAIL"]
    assert len([trial for trial in study.get_trials() if trial.params]) == 4


def test_too_many_failures_end_a_search(tmp_path: Path):
    def fail(jobs: Sequence[Sequence[str]], first: int) -> list[JobReturn]:
        return [JobReturn(status=JobStatus.FAILED, _return_value=RuntimeError("boom")) for _ in jobs]

    def diverge(jobs: Sequence[Sequence[str]], first: int) -> list[JobReturn]:
        return [JobReturn(status=JobStatus.COMPLETED, _return_value=float("nan")) for _ in jobs]

    for name, launcher in (("failed", fail), ("diverged", diverge)):
        with pytest.raises(UserError, match="no job of the search was finished: see the table"):
            run_search(tmp_path / name, settings(n_trials=3), launcher)
        assert states(trials.open_study(tmp_path / name)) == ["FAIL"] * 3
    with pytest.raises(RuntimeError, match="boom"):
        run_search(tmp_path / "strict", settings(n_trials=3, max_failure_rate=0.5), fail)
    assert states(trials.open_study(tmp_path / "strict")) == ["FAIL"]


def test_a_trial_that_cannot_be_composed_ends_the_search(tmp_path: Path):
    chosen = settings(n_trials=2)

    def refuse(batch: Any) -> None:
        raise UserError("x is not a setting")

    with pytest.raises(UserError, match="x is not a setting"):
        Search(str(tmp_path), chosen, lambda *_: pytest.fail("a job was launched"), refuse).run([])
    assert states(run_search(tmp_path, chosen)) == ["FAIL", "COMPLETE"]


def test_importance_finds_the_setting_that_matters(tmp_path: Path):
    chosen = settings(
        n_trials=24, pruner=part("pruner", "none"), params={"x": "interval(0.0, 1.0)", "y": "interval(0.0, 1.0)"}
    )
    importance = param_importance(run_search(tmp_path, chosen))
    assert importance["x"] > 2 * importance["y"]
    assert param_importance(run_search(tmp_path / "few", settings(n_trials=2))) == {}


REPORT = """
import sys
from pathlib import Path
from src.core.runs.trials import TrialObserver, import_optuna
observe = TrialObserver(Path(sys.argv[1]), int(sys.argv[2]), import_optuna().pruners.NopPruner())
for step in range(1, 41):
    observe(step, step / 100 + int(sys.argv[2]))
"""


@pytest.mark.slow
def test_processes_share_one_journal(tmp_path: Path):
    study = trials.open_study(tmp_path)
    numbers = [study.ask().number for _ in range(3)]
    command = [sys.executable, "-c", REPORT, str(tmp_path)]
    processes = [subprocess.Popen([*command, str(number)], cwd=ROOT) for number in numbers]
    assert [process.wait() for process in processes] == [0, 0, 0]
    for trial in trials.open_study(tmp_path).get_trials():
        assert trial.intermediate_values == {step: step / 100 + trial.number for step in range(1, 41)}
    assert not (tmp_path / f"{trials.JOURNAL}.lock").exists()


TRIALS = (
    *("hparams_search=tictactoe_qlearning", "pruner=median", "hydra.sweeper.pruner.n_startup_trials=1"),
    *("algo.episodes=300", "algo.eval_every=50", "evaluation.episodes=40", SWEEP),
)


def pruned_step(row: dict[str, str]) -> int:
    return int(row["status"].rpartition(" ")[2])


def last_step(run: Path) -> int:
    with (run / "metrics.csv").open(newline="") as file:
        return int(list(csv.DictReader(file))[-1]["step"])


@pytest.mark.slow
def test_training_is_pruned_without_an_error_and_not_repeated(lab: Lab):
    done = lab.succeed("train", *TRIALS, "hydra.sweeper.n_trials=6")
    assert "Traceback" not in done.stderr + done.stdout
    rows = table(lab)
    pruned = [row for row in rows if row["status"].startswith("pruned: ")]
    assert {row["status"].split(":")[0] for row in rows} == {"finished", "pruned"}
    for row in pruned:
        run = lab.folder / "sweep" / row["job"]
        assert row["result"] == row["low"] == "", "it has no final evaluation"
        assert pruned_step(row) == last_step(run) < 300
        assert (run / "win_rate.png").exists()
        assert (run / "checkpoints/best.safetensors").exists()
        assert not (run / "eval.json").exists()
        assert f"pruned: {(run / 'pruned.txt').read_text().strip()}" in (run / "train.log").read_text()
        assert "pruned" in of_kind(offline_file(run), "run")[-1].tags
        assert summary(offline_file(run))["pruned_at_step"] == pruned_step(row)
    assert "pruned: " in (lab.folder / "sweep/sweep.txt").read_text()
    assert "continue the sweep" not in done.stdout
    best = yaml.safe_load((lab.folder / "sweep/optimization_results.yaml").read_text())
    assert best["best_value"] == max(float(row["result"]) for row in rows if row["result"])
    assert best["trials"] == {"complete": 6 - len(pruned), "pruned": len(pruned)}
    assert (lab.folder / "sweep/history.png").read_bytes().startswith(b"\x89PNG")

    written = {path: path.stat().st_mtime_ns for path in (lab.folder / "sweep").glob("*/metrics.csv")}
    lab.succeed("train", *TRIALS, "hydra.sweeper.n_trials=7")
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert table(lab)[:6] == rows
    assert len(table(lab)) == 7

    lab.succeed("train", f"resume=sweep/{pruned[0]['job']}", "logger=csv")
    assert "pruned" not in lab.run("sweep", "sweep").stdout.splitlines()[4 + int(pruned[0]["job"])], (
        "it is finished now"
    )


@pytest.mark.slow
def test_jobs_of_a_launcher_report_to_one_study(lab: Lab):
    need_launchers("sweep")
    parallel = ("launcher=joblib", "hydra.sweeper.n_jobs=2", "hydra.sweeper.n_trials=4", "logger=csv")
    lab.succeed("train", *TRIALS, *parallel, environment={"HOME": str(lab.folder)})
    study = trials.open_study(lab.folder / "sweep")
    names = {"COMPLETE": "finished", "PRUNED": "pruned"}
    assert [names[state] for state in states(study)] == [row["status"].split(":")[0] for row in table(lab)]
    for trial in study.get_trials():
        assert trial.user_attrs["steps"][-1] == last_step(lab.folder / "sweep" / str(trial.number))
        assert trial.state.name == "PRUNED" or len(trial.intermediate_values) == 6
