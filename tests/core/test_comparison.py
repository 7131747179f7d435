"""Which runs are compared, by which settings, and what is written about them."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from src.config.sweep_callback import show
from src.core.errors import UserError
from src.core.runs import comparison_report, runlog, statistics
from src.core.runs.comparison import Comparison, compare, find_runs
from src.core.runs.csv_table import CsvTable
from src.core.runs.report import PlainConsole
from src.core.runs.sweep_jobs import FAILED

STEPS = (10, 20, 30)


def write_run(
    directory: Path,
    score: float = 0.5,
    seed: int = 1,
    env: str = "tictactoe",
    algo: dict[str, Any] | None = None,
    name: str = "ppo",
    overrides: tuple[str, ...] = (),
    **others: Any,
) -> Path:
    """Write the files of a finished run; `algo` are its settings, and its learning curve ends at its score."""
    directory.mkdir(parents=True)
    composition = {"env": env, "algo": name, "sweep": directory.parent.name, "overrides": list(overrides)}
    config = {"composition": composition, "seed": seed, "optimized_metric": "final/win_rate", "env": {"game": env}}
    config |= {"algo": {"_target_": name} | (algo or {"lr": 0.1}), "checkpoint_seconds": seed} | others
    (directory / "config.yaml").write_text(yaml.safe_dump(config))
    rows = [f"{step},{score * step / STEPS[-1]:.6f},," for step in STEPS]
    lines = ["step,eval/win_rate,final/win_rate,final/elo", *rows, f"{STEPS[-1]},,{score},{400 * score}"]
    (directory / "metrics.csv").write_text("\n".join(lines) + "\n")
    (directory / "eval.json").write_text("{}\n")
    return directory


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Return three seeds of two learning rates, of which the second is better."""
    for number, seed in enumerate((1, 2, 3)):
        for other, lr in enumerate((0.1, 0.2)):
            directory = tmp_path / "sweep" / str(2 * number + other)
            score = 0.4 + 0.3 * other + 0.05 * number
            write_run(directory, score, seed, algo={"lr": lr}, overrides=(f"algo.lr={lr}",))
    return tmp_path / "sweep"


def settings_of(comparison: Comparison) -> list[dict[str, str]]:
    return [dict(setting.values) for setting in comparison.settings]


def test_a_sweep_whose_settings_cannot_be_compared_has_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for number, (env, name) in enumerate((("tictactoe", "ppo"), ("quoridor", "dqn"))):
        run = write_run(tmp_path / str(number), env=env, name=name)
        (run / ".hydra").mkdir()
        (run / ".hydra/overrides.yaml").write_text(yaml.safe_dump([f"experiment={name}", "seed=1"]))
        rows = "step,final/win_rate,final/episodes\n30,0.5,100\n"
        (run / "metrics.csv").write_text(rows)
    show(tmp_path)
    assert "the settings are not compared: no environment has runs of every setting" in capsys.readouterr().out
    assert "finished" in (tmp_path / "sweep.txt").read_text()


def test_seeds_are_repetitions_of_a_setting(sweep: Path):
    found = compare([sweep])
    assert (found.metric, found.curve_metric, found.group) == ("final/win_rate", "eval/win_rate", ["algo.lr"])
    low, high = found.settings
    assert settings_of(found) == [{"algo.lr": "0.1"}, {"algo.lr": "0.2"}]
    assert (low.seeds, low.label, low.iqm, high.mean) == (3, "lr=0.1", pytest.approx(0.45), pytest.approx(0.75))
    assert low.mean_interval == pytest.approx(statistics.interval([np.array([0.4, 0.45, 0.5])], statistics.mean))
    assert (found.improvements[1, 0].probability, found.improvements[1, 0].interval) == (1, (1, 1))
    assert found.improvements[0, 1].probability == 0
    assert found.left_out == {}
    curve = high.curve("tictactoe")
    assert curve is not None
    steps, middle, band = curve
    assert steps.tolist() == list(STEPS)
    assert middle == pytest.approx([0.25, 0.5, 0.75])
    assert band.shape == (2, 3)
    assert (band[0] <= middle).all()
    assert (band[1] >= middle).all()


def test_a_log_is_read_once(sweep: Path, monkeypatch: pytest.MonkeyPatch):
    read: list[Path] = []
    read_table = runlog.read_table

    def counted(path: Path, **options: Any) -> CsvTable:
        read.append(path)
        return read_table(path, **options)

    monkeypatch.setattr(runlog, "read_table", counted)
    compare([sweep])
    assert sorted(read) == sorted(sweep.glob("*/metrics.csv"))


def test_a_group_pools_what_it_does_not_name(sweep: Path):
    (whole,) = compare([sweep], group=[]).settings
    assert (whole.seeds, whole.label) == (6, "all runs")
    by_seed = compare([sweep], group=["seed", "algo.lr"])
    assert len(by_seed.settings) == 6
    assert by_seed.settings[0].iqm_interval is None, "a single run has no interval"
    assert by_seed.improvements[0, 1].interval is None
    with pytest.raises(UserError, match=r"group=algo\.rate is not a setting of these runs: they differ in algo\.lr$"):
        compare([sweep], group=["algo.rate"])


def test_keys_that_follow_from_another_make_no_setting(tmp_path: Path):
    """`reward.gamma` is `algo.gamma`; another algorithm has other keys; the environment brings its own."""
    runs = [
        write_run(tmp_path / "0", algo={"gamma": 0.9}, reward={"gamma": 0.9}),
        write_run(tmp_path / "1", algo={"gamma": 0.8}, reward={"gamma": 0.8}),
        write_run(tmp_path / "2", algo={"depth": 3}, reward={"gamma": 0.9}, name="dqn"),
    ]
    assert compare(runs).group == ["algo", "algo.gamma"]
    assert [setting.label for setting in compare(runs).settings] == ["ppo, gamma=0.9", "ppo, gamma=0.8", "dqn, gamma=-"]
    both = [write_run(tmp_path / name, env=name, net={"hidden": [len(name)]}) for name in ("a", "bb")]
    assert compare(both).group == []


def test_what_was_typed_names_a_setting(tmp_path: Path):
    opponents = {"minimax": "Minimax", "random": "Random"}
    runs = [
        write_run(tmp_path / name, opponent={"_target_": target}, overrides=(f"agent@env.opponent={name}",))
        for name, target in opponents.items()
    ]
    assert settings_of(compare(runs)) == [{"agent@env.opponent": name} for name in opponents]
    usual = write_run(tmp_path / "usual", seed=2, opponent={"_target_": "Random"})
    assert [len(setting.runs["tictactoe"]) for setting in compare([*runs, usual]).settings] == [1, 2]


def test_runs_that_cannot_be_compared_are_named(sweep: Path, tmp_path: Path):
    reasons = {
        "unfinished": "not finished",
        "failed": "failed: algo.lr=x must be a number",
        "pruned": "pruned: 0.3 at step 10",
        "other": "other has no final/win_rate in its metrics.csv",
        "infinite": "final/win_rate=nan must be in [0, 1]",
        "again": f"it repeats {sweep}/0, with the same settings and seed=1",
        "alone": "env=quoridor has no runs of another setting to compare it with",
    }
    others = {name: write_run(tmp_path / "others" / name, seed=9) for name in list(reasons)[:5]}
    (others["unfinished"] / "eval.json").unlink()
    (others["failed"] / "eval.json").unlink()
    (others["failed"] / FAILED).write_text("algo.lr=x must be a number\n")
    (others["pruned"] / "pruned.txt").write_text("0.3 at step 10\n")
    (others["other"] / "metrics.csv").write_text("step,final/reward\n10,0.5\n")
    (others["infinite"] / "metrics.csv").write_text("step,final/win_rate\n10,nan\n")
    others["again"] = write_run(tmp_path / "others/again")
    others["alone"] = write_run(tmp_path / "others/alone", env="quoridor")
    found = compare([sweep, tmp_path / "others", sweep / "0"])
    assert [setting.seeds for setting in found.settings] == [3, 3]
    named = {path.name: reason for path, reason in found.left_out.items()}
    assert named.keys() == reasons.keys()
    assert all(reason in named[name] for name, reason in reasons.items()), named
    (others["other"] / "metrics.csv").write_text("step,final/win_rate\n10")
    assert "line 2 is cut short" in compare([sweep, others["other"]]).left_out[others["other"]]
    with pytest.raises(UserError, match="no finished run to compare"):
        compare([others["failed"], others["pruned"]])
    with pytest.raises(UserError, match="no run has final/elo2"):
        compare([sweep], metric="final/elo2")


def test_environments_are_strata(tmp_path: Path):
    """A setting is aggregated over the environments that all have; by environment there is nothing to aggregate."""
    for env, base in (("tictactoe", 0.2), ("quoridor", 0.8)):
        for name, better in (("ppo", 0.0), ("dqn", 0.1)):
            for seed in (1, 2):
                write_run(tmp_path / f"{env}{name}{seed}", base + better + seed / 100, seed, env, name=name)
    found = compare([tmp_path])
    assert found.group == ["algo"]
    assert found.envs == ["quoridor", "tictactoe"]
    dqn, ppo = found.settings
    assert (dqn.label, dqn.mean, ppo.mean) == ("dqn", pytest.approx(0.615), pytest.approx(0.515))
    assert ppo.mean_interval == pytest.approx((0.51, 0.52)), "not as wide as the difference between environments"
    assert found.improvements[0, 1].probability == 1
    by_env = compare([tmp_path], group=["env", "algo"])
    assert len(by_env.settings) == 4
    assert len(by_env.improvements) == 4, "in each environment both ways"
    apart = [tmp_path / "tictactoeppo1", tmp_path / "quoridordqn1"]
    with pytest.raises(UserError, match=r"no environment has runs of every setting .*group=\[env,algo\]"):
        compare(apart)


def test_runs_are_found_below_a_folder(sweep: Path, tmp_path: Path):
    (sweep / "10/.hydra").mkdir(parents=True)  # a job that failed before it began
    (sweep / "10/.hydra/overrides.yaml").write_text("- seed=4\n")
    (sweep / "10/.hydra/config.yaml").write_text("seed: 4\n")
    (sweep / "0/wandb/run-1/files").mkdir(parents=True)  # of a run that was logged online
    (sweep / "0/wandb/run-1/files/config.yaml").write_text("seed: 1\n")
    assert [path.name for path in find_runs([tmp_path])] == ["0", "1", "2", "3", "4", "5", "10"]
    assert compare([tmp_path]).left_out == {sweep / "10": "not finished"}
    (tmp_path / "empty").mkdir()
    for folder, message in (("empty", "has no runs"), ("missing", "is not a directory of runs")):
        with pytest.raises(UserError, match=message):
            find_runs([tmp_path / folder])


def printed(comparison: Comparison) -> str:
    text = io.StringIO()
    for table in comparison_report.tables(comparison):
        PlainConsole(file=text, width=160).print(table)
    return text.getvalue()


def test_the_tables_have_a_row_for_each_setting(sweep: Path):
    words = printed(compare([sweep])).split()
    for cell in ("0.1", "45.0%", "40.0-50.0%", "100%", "(100-100)", "0%", "lr=0.2"):
        assert cell in words
    assert "180 160 to 200 180" in " ".join(printed(compare([sweep], metric="final/elo")).split()), "no percentages"


def test_files_hold_the_numbers_unrounded(sweep: Path, tmp_path: Path):
    found, output = compare([sweep]), tmp_path / "output"
    comparison_report.write(found, output)
    rows = list(csv.DictReader((output / "comparison.csv").open(newline="")))
    assert [(row["algo.lr"], float(row["iqm"]), row["seeds"]) for row in rows] == [
        (setting.values["algo.lr"], setting.iqm, "3") for setting in found.settings
    ]
    data = json.loads((output / "comparison.json").read_text())
    assert data["settings"][1]["setting"] == {"algo.lr": "0.2"}
    assert data["settings"][0]["runs"][2] == {"run": str(sweep / "4"), "env": "tictactoe", "seed": 3, "score": 0.5}
    assert {"setting": "lr=0.2", "over": "lr=0.1", "probability": 1.0, "ci95": [1.0, 1.0]} in data["improvement"]
    assert (output / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    assert (output / "comparison.svg").read_text().count("<svg") == 1


def test_raw_scores_have_the_layout_of_marl_eval(sweep: Path):
    """{environment: {task: {algorithm: {run: {step_k: {step_count, metric: [...]}, absolute_metrics: {...}}}}}}"""
    (task,) = comparison_report.marl_eval_data(compare([sweep]))["boardlab"].items()
    name, algorithms = task
    assert (name, list(algorithms)) == ("tictactoe", ["lr=0.1", "lr=0.2"])
    assert all(list(runs) == ["seed_1", "seed_2", "seed_3"] for runs in algorithms.values()), "the same in all"
    run = algorithms["lr=0.2"]["seed_1"]
    assert list(run) == ["step_1", "step_2", "step_3", "absolute_metrics"]
    assert run["step_3"] == {"step_count": 30, "win_rate": [0.7]}
    assert run["absolute_metrics"] == {"win_rate": [0.7]}
    other = comparison_report.marl_eval_data(compare([sweep], metric="final/elo"))
    assert other["boardlab"]["tictactoe"]["lr=0.2"]["seed_1"] == {"absolute_metrics": {"elo": [280]}}, "no curve of it"


def test_the_figure_has_a_panel_for_each_environment_and_one_of_scores(sweep: Path, tmp_path: Path):
    figure = comparison_report.draw_figure(compare([sweep]))
    curves, scores = figure.axes
    assert [line.get_ydata()[-1] for line in curves.lines] == pytest.approx([0.45, 0.75])
    assert len(curves.collections) == 2, "bands"
    assert [label.get_text() for label in scores.get_yticklabels()] == ["lr=0.1", "lr=0.2"]
    low, high = scores.get_xlim()
    assert low < 0.4
    assert high > 0.8
    for number in range(12):
        write_run(tmp_path / "many" / str(number), number / 20, algo={"lr": number})
    many = comparison_report.draw_figure(compare([tmp_path / "many"]))
    assert "the best 10 of 12" in many.get_suptitle()
    assert [label.get_text() for label in many.axes[-1].get_yticklabels()] == [f"lr={n}" for n in range(2, 12)]
