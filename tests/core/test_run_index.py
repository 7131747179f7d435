"""Reading run directories."""

import json
import os
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from filelock import FileLock

from src.core.errors import UserError
from src.core.runs.index import curves, files, notes, query
from src.core.runs.index.files import Metrics, RunPath
from src.core.runs.index.notes import Notes
from src.core.runs.index.rows import Index
from src.core.runs.run import is_training
from src.web.runs.table import format_cell
from tests.core.made_runs import PNG, make_run, rows_of

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{below}'] * 9)}]\n" for below, name in zip("abcdefghi", "bcdefghij", strict=True)
)  # a kilobyte that expands to gigabytes
BOMB += "composition: {env: *j, algo: *j}\n"


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "config.yaml").write_text("seed: 1\n")
    return tmp_path / "outputs"


@pytest.fixture
def run(outputs: Path) -> RunPath:
    make_run(outputs, "run")
    return files.locate([outputs], "outputs/run")


def test_runs_are_found_wherever_they_lie(outputs: Path):
    make_run(outputs, "runs/tictactoe/qlearning/1")
    inner = make_run(outputs, "sweeps/today/0")
    (inner / "wandb" / "files").mkdir(parents=True)
    (inner / "wandb" / "files" / "config.yaml").write_text("{}")
    (outputs / ".hydra").mkdir()
    (outputs / ".hydra" / "config.yaml").write_text("{}")
    (outputs / "link").symlink_to(outputs.parent / "secret")
    found = sorted(run.name for run in files.find([outputs, outputs.parent / "missing"]))
    assert found == ["outputs/runs/tictactoe/qlearning/1", "outputs/sweeps/today/0"]


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("leads out of outputs/", ("outputs/../secret", "outputs/run/../../secret", "outputs/link")),
        ("only runs below outputs/", ("/etc", "{folder}/secret", "secret", "../outputs/run", "")),
        ("no config.yaml", ("outputs/nothing", "outputs")),
        ("not the name of a run", ("outputs/a\0b", f"outputs/{'x' * 5000}")),
    ],
)
def test_nothing_outside_of_the_folders_is_opened(outputs: Path, run: RunPath, message: str, names: tuple[str, ...]):
    (outputs / "link").symlink_to(outputs.parent / "secret")
    for name in names:
        with pytest.raises(UserError, match=message):
            files.locate([outputs], name.format(folder=outputs.parent))


def test_a_file_over_the_limit_or_that_is_a_link_out_is_refused(outputs: Path, run: RunPath):
    with pytest.raises(UserError, match=r"config\.yaml is too large: at most 3 bytes"):
        files.file_of(run, "config.yaml", 3)
    (run.path / "metrics.csv").unlink()
    for name in ("metrics.csv", "look.png"):
        (run.path / name).symlink_to(outputs.parent / "secret" / "config.yaml")
    with pytest.raises(UserError, match="leads out of outputs/"):
        files.read_metrics(run, ["step"])
    assert files.pictures(run) == []


def test_half_a_file_gives_the_rows_that_are_whole(run: RunPath):
    for text, columns in (
        ("", {}),
        ("step,a\n", {"step": [], "a": []}),
        ('"step","a"\n1,"2"\n', {"step": [1], "a": [2]}),
        ("step,a\n1,2\n2,0.2", {"step": [1], "a": [2]}),  # the last number may be incomplete
        ("step,a\n1,2\n2\n3,4\n", {"step": [1, 3], "a": [2, 4]}),
        ("step,a\n1,\n2,nan\n3,inf\n4,x\n", {"step": [1, 2, 3, 4], "a": [None] * 4}),
    ):
        (run.path / "metrics.csv").write_text(text)
        files._metrics.clear()  # two of the texts may have the same stamp
        found = files.read_metrics(run, ["step", "a"])
        assert {name: [None if y != y else y for y in values] for name, values in found.columns.items()} == columns


def test_a_row_describes_a_run_and_its_result(outputs: Path, run: RunPath):
    (run.path / ".hydra").mkdir()
    (run.path / ".hydra" / "overrides.yaml").write_text("[seed=3, algo.epsilon=0.1, reward=outcome]")
    index = Index([outputs])
    expected = {"env": "tictactoe", "seed": 3, "step": 20, "score": 0.75, "state": "unfinished"}
    assert (expected | {"changes": "algo.epsilon=0.1"}).items() <= index.rows()[0].items()
    tally = {"episodes": 10, "wins": 9, "draws": 1, "losses": 0, "win_rate": 0.9, "win_rate_ci95": [0.6, 0.98]}
    (run.path / "eval.json").write_text(json.dumps({"scores": {"random": tally}}))
    assert {"win_rate": 0.9, "low": 0.6, "high": 0.98, "state": "finished"}.items() <= index.rows()[0].items()


def test_a_run_is_training_as_long_as_its_lock_is_held(outputs: Path, run: RunPath):
    index, lock = Index([outputs]), run.path / ".lock"

    def state() -> str:
        return index.rows()[0]["state"]

    assert state() == "unfinished"
    assert not lock.exists(), "asking leaves no lock behind"
    with FileLock(lock):
        assert state() == "training"
    assert state() == "unfinished"
    FileLock(lock).acquire(timeout=0).lock.release()  # asking has let go of it
    lock.unlink()
    lock.symlink_to(outputs / "elsewhere")
    assert state() == "unfinished"
    assert not (outputs / "elsewhere").exists()


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("eval.json", ['{"scores": {"random": {"episodes": 1', '{"scores": {"random": 3}}', "[" * 100_000]),
        ("config.yaml", ["a: [1", "just words", "\udcff", BOMB, "seed: 1" + ":59" * 60_000]),
        ("config.yaml", ["composition: {env: " + "[" * 5000 + "]" * 5000 + "}", "composition: &a {env: x, again: *a}"]),
        ("metrics.csv", ['step,"' + "a" * 200_000 + "\n"]),
    ],
)
def test_a_broken_file_costs_no_other_run_its_row(outputs: Path, run: RunPath, name: str, texts: list[str]):
    for number, text in enumerate(texts):
        (make_run(outputs, f"bad/{number}") / name).write_bytes(text.encode(errors="surrogateescape"))
    rows = {row["run"]: row for row in Index([outputs]).rows()}
    assert rows.pop(run.name)["error"] == ""
    assert len(rows) == len(texts)
    for row in rows.values():
        assert row["state"] == "unreadable"
        assert f"{row['run']}/{name}" in row["error"]


def test_curves_are_smoothed_as_by_tensorboard():
    points = np.array([[x, y] for x, y in enumerate([1.0, 3.0, 2.0, 8.0])])
    # by hand for a weight of 0.5: means 0.5, 1.75, 1.875, 4.9375, each divided by 1 - 0.5^n
    expected = [1.0, 1.75 / 0.75, 1.875 / 0.875, 4.9375 / 0.9375]
    assert [y for _, y in curves.smoothed(points, 0.5)] == pytest.approx(expected)
    assert curves.smoothed(points, 0.0) is points
    constant = np.array([[0.0, 0.1]] * 9)
    assert (curves.smoothed(constant, 0.9) == constant).all(), "a constant does not wave"


def test_groups_are_made_by_any_setting_or_by_all_but_the_seed(outputs: Path):
    texts = [f"seed: {seed}\nalgo: {{lr: {lr}, net: {{hidden: [1]}}}}" for lr in (0.1, 0.2) for seed in (1, 2)]
    rows = rows_of(outputs, *texts)
    assert set(query.differing_settings(rows)) == {"seed", "algo.lr"}
    assert list(query.group_runs(rows, query.BY_SEED)) == ["algo.lr=0.1 (2 runs)", "algo.lr=0.2 (2 runs)"]
    assert query.group_runs(rows, "seed") == {
        "seed=1 (2 runs)": ["outputs/s/0", "outputs/s/2"],
        "seed=2 (2 runs)": ["outputs/s/1", "outputs/s/3"],
    }
    assert list(query.group_runs(rows[:2], query.BY_SEED)) == ["same settings (2 runs)"]
    options = query.group_options(rows, "")
    assert "algo.lr" in options
    assert "algo.net.hidden" not in options, "it is the same in all of them"


def test_groups_with_the_same_short_label_are_not_mixed(outputs: Path):
    texts = [f"algo: {{lr: {lr}, net: {{_target_: {net}}}}}" for lr, net in ((0.1, "A"), (0.1, "B"), (0.2, "A"))]
    groups = query.group_runs(rows_of(outputs, *texts), query.BY_SEED)
    assert [len(members) for members in groups.values()] == [1, 1, 1]
    rates = [{"run": str(lr), "settings": {"algo.lr": lr}, "metrics": {}} for lr in (0.0003, 0.000300001)]
    assert list(query.group_runs(rates, "algo.lr")) == ["algo.lr=0.0003 (1 run)", "algo.lr=0.000300001 (1 run)"]


def test_the_filter_compares_fields_and_searches_words(outputs: Path):
    texts = [f"algo: {{lr: {lr}, kind: {kind}}}" for lr in (0.1, 0.2) for kind in ("a", "null")]
    rows_of(outputs, texts[0] + "\ndeep: true", *texts[1:])
    notes.write(files.locate([outputs], "outputs/s/1"), Notes(), Notes("two words", ("keep",)))
    index = Index([outputs])
    expected = {
        **{"": "0123", "tictactoe": "0123", "s/2": "2", "S/2 algo=qlearning": "2", "algo=ppo": ""},
        **{"lr>0.15": "23", "algo.lr<=0.1": "01", "lr=0.10": "01", "kind!=a": "13", "kind=A,zzz lr>=0.2": "2"},
        **{"kind=null": "13", "run=*/s/[01]": "01", "seed=3 score>70% eval/win_rate<1": "0123", "tag=keep": "1"},
        **{"tag=ke*": "1", "'two words'": "1", "deep=true": "0"},
    }
    rows = index.rows()
    tests = {text: query.parse_filter(text, index.fields()) for text in expected}
    found = {text: "".join(sorted(row["run"][-1] for row in rows if test(row))) for text, test in tests.items()}
    assert found == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lrr>1", "lrr is not a field of any run: did you mean lr?"),
        ("lr>fast", "lr>fast compares with fast, which is not a number"),
        ("lr>", "lr> has no value after >"),
        (">1", ">1 has no field before >"),
        ("lr > 0.1", "> has no field before >"),
        ("'open", "a quotation mark is not closed"),
        ("size=1", "size is ambiguous: write a.size or b.size"),
        ("x" * 2000, "at most 1,000 characters"),
        ("zzzzzz=1", "zzzzzz is not a field of any run"),
    ],
)
def test_a_bad_filter_is_explained(text: str, message: str):
    with pytest.raises(UserError) as caught:
        query.parse_filter(text, ["algo.lr", "train/lr", "a.size", "b.size"])
    assert message in str(caught.value)


def test_runs_without_a_value_come_last_in_both_orders(outputs: Path):
    rows = rows_of(outputs, "algo: {lr: 0.1}", "algo: {lr: 0.3}", "algo: {}", "algo: {lr: x}")
    assert [row["run"][-1] for row in query.sort_rows(rows, "algo.lr")] == ["0", "1", "3", "2"]
    assert [row["run"][-1] for row in query.sort_rows(rows, "-algo.lr")] == ["3", "1", "0", "2"]
    assert format_cell(rows[0] | {"win_rate": 0.0, "low": 0.0, "high": 0.1}, "win_rate") == "0.0% (0.0-10.0)"


def test_notes_are_kept_beside_the_results_and_never_half_written(
    outputs: Path, run: RunPath, monkeypatch: pytest.MonkeyPatch
):
    before = {file: file.read_bytes() for file in run.path.iterdir()}
    first = Notes("try again", ("keep", "slow one"))
    notes.write(run, Notes(), Notes(" try again ", ("keep", "slow  one ", "", "keep")))
    assert notes.read(run) == first
    (row,) = Index([outputs]).rows()
    assert Notes(row["notes"], row["tags"]) == first

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(UserError, match="No space left"):
        notes.write(run, first, Notes("lost"))
    monkeypatch.undo()
    with pytest.raises(UserError, match="changed by another page"):
        notes.write(run, Notes(), Notes("mine"))
    assert notes.read(run) == first
    assert all(file.read_bytes() == content for file, content in before.items())


def test_notes_have_limits_and_do_not_leave_the_run(run: RunPath):
    (run.path / "notes.json").symlink_to(run.path / "aside.json")
    for found, message in (
        (Notes("x" * 10_001), "at most 10,000 characters"),
        (Notes(tags=("x" * 41,)), "too long"),
        (Notes(tags=tuple(map(str, range(21)))), "at most 20 tags"),
        (Notes(tags=("a,b",)), "comma"),
        (Notes("x"), "symlink"),
    ):
        with pytest.raises(UserError, match=message):
            notes.write(run, Notes(), found)
    assert not (run.path / "aside.json").exists()


@pytest.mark.parametrize("text", ['{"text": 3, "tags": []}', "{", '{"text": ""}', "[" * 60_000])
def test_broken_notes_do_not_make_a_run_unreadable(outputs: Path, run: RunPath, text: str):
    (run.path / "notes.json").write_text(text)
    (row,) = Index([outputs]).rows()
    assert row["state"] == "unfinished"
    assert "notes.json is not readable" in row["notes"]


def test_the_last_value_of_each_metric_is_found_from_the_end(run: RunPath, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "TAIL", 12)  # the value of b is before it
    long = "step,a,b,c\n1,1,5,\n2,2,,\n3,3,nan,\n4,4\n5,5,6"
    for text, found in ((long, {"step": 3, "a": 3, "b": 5}), ("", {}), ("step,a", {})):
        (run.path / "metrics.csv").write_text(text)
        assert files.last_values(run) == found
    rows = [f"{step},{step if step < 2501 else 'nan'}" for step in range(3000)]
    (run.path / "metrics.csv").write_text("\n".join(["step,a", *rows, ""]))
    assert files.last_values(run) == {"step": 2999, "a": 2500}, "of all rows, not of those that a chart shows"


def test_metrics_are_read_again_only_if_the_file_or_the_columns_are_others(
    run: RunPath, monkeypatch: pytest.MonkeyPatch
):
    content = Mock(wraps=files.content)
    monkeypatch.setattr(files, "content", content)
    (run.path / "metrics.csv").write_text("step,a,b\n1,2,3\n")
    first = files.read_metrics(run, ["step", "a", "nothing"])
    assert (list(first.columns), first.names) == (["step", "a"], ("step", "a", "b"))
    assert files.read_metrics(run, ["a", "nothing"]) is first
    assert files.read_metrics(run, ["b"]).columns.keys() == {"step", "a", "b"}, "the earlier ones are kept"
    (run.path / "metrics.csv").write_text("step,a,b\n1,2,3\n4,5,6\n")
    assert files.read_metrics(run, ["a"]).columns["a"].tolist() == [2, 5]
    assert content.call_count == 3


def test_of_a_long_file_only_what_a_chart_can_show_is_parsed(run: RunPath, monkeypatch: pytest.MonkeyPatch):
    numbers = Mock(wraps=files.numbers)
    monkeypatch.setattr(files, "numbers", numbers)
    rows = (f"{step},{-step},{step / 2 if step % 500 == 0 else ''},7\r\n" for step in range(20_000))
    (run.path / "metrics.csv").write_text("".join(["step,dense,sparse,other\r\n", *rows]), newline="")
    found = files.read_metrics(run, ["step", "dense", "sparse"])
    assert list(found.columns) == ["step", "dense", "sparse"], "only the columns asked for"
    assert sum(len(call.args[0]) for call in numbers.call_args_list) <= 3 * (files.MAX_VALUES + 41)
    assert files.read_metrics(run, ["step"], 100) is found, "more than enough"
    dense, sparse = (found.points("step", name) for name in ("dense", "sparse"))
    assert (dense[:, 0] == -dense[:, 1]).all()
    assert (len(dense) >= files.MAX_VALUES, dense[-1].tolist()) == (True, [19_999, -19_999])
    assert sparse.tolist() == [[step, step / 2] for step in range(0, 20_000, 500)], "a rare value is never left out"


def test_of_many_runs_fewer_values_are_read_until_one_is_seen_alone(run: RunPath):
    (run.path / "metrics.csv").write_text("".join(["step,a\n", *(f"{step},1\n" for step in range(5000))]))
    most = curves.values_per_run(62)
    many = files.read_metrics(run, ["step", "a"], most)
    assert curves.points_per_curve(62) <= len(many.columns["a"]) <= most + 1 < 400
    assert many.last("step") == 4999
    alone = files.read_metrics(run, ["step"], curves.values_per_run(1))
    assert len(alone.columns["a"]) > 800
    assert files.read_metrics(run, ["a"], most) is alone


def test_many_runs_are_read_once_and_then_only_what_has_changed(outputs: Path, monkeypatch: pytest.MonkeyPatch):
    """Counts the work instead of timing it."""
    for number in range(200):
        (make_run(outputs, f"s/{number}") / ".lock").touch()
    content, probe = Mock(wraps=files.content), Mock(wraps=is_training)
    monkeypatch.setattr(files, "content", content)
    monkeypatch.setattr("src.core.runs.index.rows.is_training", probe)
    index = Index([outputs])
    rows = index.rows()
    assert (len(rows), probe.call_count, content.call_count) == (200, 200, 1000)
    assert index.rows() is rows, "nothing has changed, so that no page has anything to do"
    assert (probe.call_count, content.call_count) == (200, 1000)
    (outputs / "s/7/metrics.csv").write_text("step,eval/win_rate\n30,1\n")
    assert index.rows()[0]["score"] == 1.0
    index.refresh(1000)  # another visitor has looked a moment ago
    assert (probe.call_count, content.call_count) == (201, 1005)
    assert {call.args[0].name for call in content.call_args_list[1000:]} == {"outputs/s/7"}


def test_a_run_saved_without_its_evaluation_has_one_result_everywhere(outputs: Path):
    text = "step,final/win_rate,final/win_rate_low,final/win_rate_high,final/episodes,final/loss_rate\n"
    make_run(outputs, "old", text + "5,0.95,0.76,0.99,20,0.05\n")
    (row,) = Index([outputs]).rows()
    assert (row["state"], format_cell(row, "win_rate")) == ("finished", "95.0% (76.0-99.0)")
    assert row["scores"] == [files.Score("final evaluation", 20, 19, 0, 1, 0, 0.95, 0.76, 0.99)]


def test_runs_have_friendly_names(outputs: Path):
    make_run(outputs, "runs/tictactoe/qlearning/2026-11-19_01-20-08-207558")
    make_run(outputs, "kept/my_best")
    named = make_run(outputs, "named")
    notes.write(RunPath("outputs/named", named, outputs), Notes(), Notes(name=" The  one "))
    titles = {row["run"].rpartition("/")[2]: row["title"] for row in Index([outputs]).rows()}
    assert titles == {
        "2026-11-19_01-20-08-207558": "Tictactoe · qlearning · 19 Nov 01:20",
        **{"my_best": "Kept my best", "named": "The one"},
    }


def test_progress_is_read_and_a_broken_file_is_no_progress(run: RunPath):
    for text, words in (
        ('{"done": 1000, "total": 20000, "unit": "steps", "fraction": 0.05, "speed": 300.2, "seconds_left": 63.0}',
         "1,000 of 20,000 steps · 300 steps/s · about 63 s left"),
        ('{"done": 1, "total": 2, "unit": "steps", "fraction": 0.5, "speed": 0.25, "seconds_left": null}',
         "1 of 2 steps · 0.25 steps/s"),
        ('{"done": 1.5, "total": 2, "unit": "steps", "fraction": 0.75, "speed": 0.25, "seconds_left": null}',
         "1 of 2 steps · 0.25 steps/s"),
        ('{"done": "x", "total": 2, "unit": "steps", "fraction": 0.5, "speed": 0.25, "seconds_left": null}', None),
        ('{"done": 1, "total": 2, "unit": "steps", "fraction": "x", "speed": 0.25, "seconds_left": null}', None),
        ('{"done": Infinity, "total": 2, "unit": "steps", "fraction": 1, "speed": 0.25, "seconds_left": null}', None),
        *((text, None) for text in ("", "[]", "{", '{"done": 1}')),
    ):  # fmt: skip
        (run.path / "progress.json").write_text(text)
        found = files.read_progress(run)
        assert (found and found.words()) == words


def test_a_model_of_the_zoo_is_no_unfinished_run(run: RunPath):
    (run.path / "metrics.csv").unlink()
    assert Index([run.folder]).rows()[0]["state"] == "unfinished"
    (run.path / "checkpoints").mkdir()
    (run.path / "checkpoints/best.safetensors").write_bytes(b"")
    assert Index([run.folder]).rows()[0]["state"] == "model"


def test_labels_say_what_is_different():
    changes = {"outputs/s/0": ["seed=1", "lr=1"], "outputs/s/1": ["seed=1", "lr=2"], "outputs/t/1": ["seed=1"]}
    assert list(curves.short_labels(changes).values()) == ["s/0 (lr=1)", "s/1 (lr=2)", "t/1"]
    assert curves.short_labels({"outputs/s/0": ["seed=1"]}) == {"outputs/s/0": "outputs/s/0"}
    assert curves.short_labels({}) == {}


def test_long_curves_are_subsampled_and_keep_their_end():
    points = np.array([[x, 0.0] for x in range(50_001)])
    assert len(curves.subsampled(points, 4000)) <= 4001
    assert curves.subsampled(points, 4000)[-1] == [50_000, 0]
    assert curves.subsampled(points[:2], 4000) == [[0, 0], [1, 0]]
    assert curves.subsampled(points[:0], 4000) == []
    assert curves.points_per_curve(62) * 62 <= curves.MAX_POINTS


def test_the_metrics_shown_first():
    for columns, expected in ((["a/z", "eval/win_rate"], ("eval/win_rate",)), (["a/z"], ("a/z",)), ([], ())):
        assert curves.default_metrics({"a": Metrics(("step", *columns))}) == expected
    assert "95% Wilson" in curves.meaning("eval/win_rate_low")


def test_a_run_that_was_online_has_a_link(run: RunPath):
    assert files.wandb_address(run) is None
    for text in ("http://wandb.ai/lab", "javascript:alert(1)", "https:", "https://[", ""):
        (run.path / "wandb_url.txt").write_text(text)
        assert files.wandb_address(run) is None, text
    (run.path / "wandb_url.txt").write_text("https://wandb.ai/lab/board%20games/runs/abc123\n")
    assert files.wandb_address(run) == "https://wandb.ai/lab/board%20games/runs/abc123"


def test_the_size_of_a_picture_is_read_from_its_head(run: RunPath):
    for cut, size in ((None, (1, 1)), (20, None), (0, None)):
        (run.path / "heat.png").write_bytes(PNG[:cut])
        assert files.picture_size(run, "heat.png") == size
    os.mkfifo(run.path / "look.png")
    assert files.pictures(run) == ["heat.png"]
    assert files.picture_size(run, "look.png") is None
