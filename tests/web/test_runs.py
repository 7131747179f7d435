"""Reading run directories, without a browser."""

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from src.core.errors import UserError
from src.core.runs.run import is_training
from src.web import files
from src.web.files import Metrics, RunPath
from src.web.runs import address, curves, groups, notes, parallel, query
from src.web.runs.address import View
from src.web.runs.curves import Curve, Scale
from src.web.runs.index import Index, last_values
from src.web.runs.notes import Notes
from src.web.runs.table import cell, ordered
from src.web.services import finished_runs

CONFIG = (
    "composition: {env: tictactoe, algo: qlearning, reward: outcome, curriculum: none, experiment: null}\nseed: 3\n"
)

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{below}'] * 9)}]\n" for below, name in zip("abcdefghi", "bcdefghij", strict=True)
)  # a kilobyte that expands to gigabytes
BOMB += "composition: {env: *j, algo: *j}\n"


def make_run(folder: Path, name: str, metrics: str = "step,eval/win_rate\n10,0.5\n20,0.75\n") -> Path:
    path = folder / name
    path.mkdir(parents=True)
    (path / "config.yaml").write_text(CONFIG)
    (path / "metrics.csv").write_text(metrics)
    return path


def a_png() -> bytes:
    """Return a PNG of one white pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\xff")) + chunk(b"IEND", b"")
    )


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "config.yaml").write_text("seed: 1\n")
    return tmp_path / "outputs"


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
    ("name", "message"),
    [
        ("outputs/../secret", "leads out of outputs/"),
        ("outputs/run/../../secret", "leads out of outputs/"),
        ("outputs/link", "leads out of outputs/"),
        ("/etc", "only runs below outputs/"),
        ("{folder}/secret", "only runs below outputs/"),
        ("secret", "only runs below outputs/"),
        ("../outputs/run", "only runs below outputs/"),
        ("", "only runs below outputs/"),
        ("outputs/nothing", "no config.yaml"),
        ("outputs", "no config.yaml"),
        ("outputs/a\0b", "not the name of a run"),
        (f"outputs/{'x' * 5000}", "not the name of a run"),
    ],
)
def test_nothing_outside_of_the_folders_is_opened(outputs: Path, name: str, message: str):
    make_run(outputs, "run")
    (outputs / "link").symlink_to(outputs.parent / "secret")
    with pytest.raises(UserError, match=message):
        files.locate([outputs], name.format(folder=outputs.parent))


def test_a_file_over_the_limit_is_refused(outputs: Path):
    make_run(outputs, "run")
    with pytest.raises(UserError, match=r"config\.yaml is too large: at most 3 bytes"):
        files.file_of(files.locate([outputs], "outputs/run"), "config.yaml", 3)


def test_a_file_that_is_a_link_out_is_refused(outputs: Path):
    path = make_run(outputs, "run")
    (path / "metrics.csv").unlink()
    (path / "metrics.csv").symlink_to(outputs.parent / "secret" / "config.yaml")
    (path / "look.png").symlink_to(outputs.parent / "secret" / "config.yaml")
    run = files.locate([outputs], "outputs/run")
    with pytest.raises(UserError, match="leads out of outputs/"):
        files.read_metrics(run)
    assert files.pictures(run) == []


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", {}),
        ("step,a\n", {}),
        ("step,a\n1,2\n2,0.2", {"step": [1], "a": [2]}),  # the last number may be incomplete
        ("step,a\n1,2\n2\n3,4\n", {"step": [1, 3], "a": [2, 4]}),
        ("step,a\n1,\n2,nan\n3,inf\n4,x\n", {"step": [1, 2, 3, 4], "a": [None] * 4}),
    ],
)
def test_half_a_file_gives_the_rows_that_are_whole(outputs: Path, text: str, columns: dict[str, list[float | None]]):
    make_run(outputs, "run", text)
    assert files.read_metrics(files.locate([outputs], "outputs/run")).columns == columns


def test_a_row_describes_a_run_and_its_result(outputs: Path):
    path = make_run(outputs, "run")
    (path / ".hydra").mkdir()
    (path / ".hydra" / "overrides.yaml").write_text("[seed=3, algo.epsilon=0.1, reward=outcome]")
    index = Index([outputs])
    (row,) = index.rows()
    assert row["changes"] == "algo.epsilon=0.1"
    assert {"env": "tictactoe", "seed": 3, "step": 20, "score": 0.75, "state": "unfinished"}.items() <= row.items()

    tally = {"episodes": 10, "wins": 9, "draws": 1, "losses": 0, "win_rate": 0.9, "win_rate_ci95": [0.6, 0.98]}
    (path / "eval.json").write_text(json.dumps({"scores": {"random": tally}}))
    (row,) = index.rows()
    assert {"win_rate": 0.9, "low": 0.6, "high": 0.98, "state": "finished"}.items() <= row.items()


def test_a_run_of_earlier_names_reads_like_one_of_today(outputs: Path):
    path = make_run(outputs, "run", "step,eval/score,eval/win_rate\n10,0.5,\n20,0.75,\n20,,0.7\n")
    (row,) = Index([outputs]).rows()
    assert {"score": 0.75, "win_rate": 0.7, "state": "finished"}.items() <= row.items()
    (path / "metrics.csv").write_text("step,eval/win_rate,final/win_rate\n10,0.5,\n20,0.75,\n")
    (row,) = Index([outputs]).rows()
    assert {"score": 0.75, "win_rate": None, "state": "unfinished"}.items() <= row.items()
    (path / "metrics.csv").write_text("step,eval/not_lost_share\n10,0.5\n")
    assert Index([outputs]).rows()[0]["score"] == 0.5


def test_a_run_is_training_as_long_as_its_lock_is_held(outputs: Path):
    path = make_run(outputs, "run")
    index = Index([outputs])
    assert index.rows()[0]["state"] == "unfinished"
    assert not (path / ".lock").exists(), "asking leaves no lock behind"
    with FileLock(path / ".lock"):
        assert index.rows()[0]["state"] == "training"
    assert index.rows()[0]["state"] == "unfinished"
    FileLock(path / ".lock").acquire(timeout=0).lock.release()  # asking has let go of it
    (path / ".lock").unlink()
    (path / ".lock").symlink_to(outputs / "elsewhere")
    assert index.rows()[0]["state"] == "unfinished"
    assert not (outputs / "elsewhere").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("eval.json", '{"scores": {"random": {"episodes": 1'),
        ("eval.json", '{"scores": {"random": 3}}'),
        ("eval.json", "[" * 100_000),
        ("config.yaml", "a: [1"),
        ("config.yaml", "just words"),
        ("config.yaml", "\udcff"),
        ("config.yaml", BOMB),
        ("config.yaml", "composition: {env: " + "[" * 5000 + "]" * 5000 + "}"),
        ("config.yaml", "seed: 1" + ":59" * 60_000),
        ("metrics.csv", 'step,"' + "a" * 200_000 + "\n"),
    ],
)
def test_a_broken_file_costs_no_other_run_its_row(outputs: Path, name: str, text: str):
    make_run(outputs, "good")
    (make_run(outputs, "bad") / name).write_bytes(text.encode(errors="surrogateescape"))
    rows = {row["run"]: row for row in Index([outputs]).rows()}
    assert rows["outputs/good"]["fault"] == ""
    assert rows["outputs/bad"]["state"] == "unreadable"
    assert f"outputs/bad/{name}" in rows["outputs/bad"]["fault"]


def test_a_run_that_cannot_be_read_is_not_offered_for_play(outputs: Path):
    for name, text in (("good", CONFIG), ("bomb", BOMB), ("alias", "composition: &a {env: x, algo: y, again: *a}\n")):
        path = make_run(outputs, name)
        (path / "config.yaml").write_text(text)
        (path / "checkpoints").mkdir()
        (path / "checkpoints/best.safetensors").touch()
    assert [run.name for run in finished_runs([outputs])] == ["outputs/good"]


def test_the_address_of_a_comparison_is_stable():
    compared = View(("outputs/a=1,b=2/x", "experiments/y z"), ("eval/win_rate",), "time/seconds")
    text = compared.address()
    assert text == "/runs?compare=outputs/a%3D1%2Cb%3D2/x,experiments/y%20z&metric=eval/win_rate&axis=time/seconds"
    assert address.read(text.partition("?")[2]) == compared
    assert address.read("compare=a,b,a,&metric=") == View(("a", "b"))
    assert View().address() == "/runs"


def test_the_address_holds_everything_that_is_chosen():
    view = View(
        ("a",), ("m", "n"), "step", "0.6", "xy", "algo.lr", "range", "algo=ppo & lr>1", "-seed", ("seed", "a.b")
    )
    assert all(value != address.DEFAULT[name] for name, value in view._asdict().items() if name != "axis")
    assert address.read(view.address().partition("?")[2]) == view


def test_curves_lie_over_each_other_with_intervals_where_there_are_any():
    plain = Metrics({"step": [1.0, 2.0, 3.0], "m": [0.1, None, 0.3]})
    sure = Metrics({"step": [1.0, 2.0], "m": [None, 0.5], "m_low": [None, 0.4], "m_high": [None, 0.6]})
    drawn = curves.options(curves.curves_of({"a": plain, "b": sure}, "m", Scale()), Scale())
    lines = [(line["name"], line["data"]) for line in drawn["series"]]
    assert lines == [
        ("a", [(1.0, 0.1), (3.0, 0.3)]),
        ("b", [(2.0, 0.5)]),
        ("b", [[2.0, 0.4], [2.0, 0.6], [2.0, None]]),
    ]
    assert len({line["color"] for line in drawn["series"]}) == 2
    json.dumps(drawn, allow_nan=False)


def test_smoothing_is_that_of_tensorboard():
    points = [(float(x), y) for x, y in enumerate([1.0, 3.0, 2.0, 8.0])]
    # by hand for a weight of 0.5: means 0.5, 1.75, 1.875, 4.9375, each divided by 1 - 0.5^n
    assert [y for _, y in curves.smoothed(points, 0.5)] == pytest.approx(
        [1.0, 1.75 / 0.75, 1.875 / 0.875, 4.9375 / 0.9375]
    )
    assert curves.smoothed(points, 0.0) == points
    assert curves.smoothed([(0.0, 0.1)] * 9, 0.9) == [(0.0, 0.1)] * 9, "a constant does not wave"


def test_the_curve_before_smoothing_is_drawn_faintly_below_it():
    run = Metrics({"step": [1.0, 2.0, 3.0], "m": [1.0, 3.0, 2.0], "m_low": [0.0] * 3, "m_high": [4.0] * 3})
    scale = Scale(smooth=0.5)
    line, faint = curves.options(curves.curves_of({"a": run}, "m", scale), scale)["series"]
    assert faint["data"] == run.points("step", "m")
    assert line["data"] == curves.smoothed(run.points("step", "m"), 0.5)
    assert faint["lineStyle"]["opacity"] < 0.5
    assert line["name"] == faint["name"], "the legend switches both"


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show():
    run = Metrics(
        {"step": [0.0, 1.0, 2.0], "m": [1.0, -1.0, 2.0], "m_low": [0.5, -2.0, -1.0], "m_high": [2.0, 2.0, 2.0]}
    )
    (both,) = curves.curves_of({"a": run}, "m", Scale(log_x=True, log_y=True))
    assert both.points == [(2.0, 2.0)]
    assert both.whiskers == []
    assert curves.left_out({"a": run}, "m", Scale(log_y=True)) == 1
    drawn = curves.options([both], Scale(log_x=True))
    assert (drawn["xAxis"]["type"], drawn["yAxis"]["type"]) == ("log", "value")


def test_a_group_is_a_mean_with_an_interval_or_its_range():
    runs = [
        Metrics({"step": [0.0, 10.0], "m": [1.0, 3.0]}),
        Metrics({"step": [0.0, 5.0, 10.0], "m": [2.0, 3.0, 4.0]}),
        Metrics({"step": [0.0, 5.0], "m": [3.0, 7.0]}),  # stopped early: it counts where it was
    ]
    spread = curves.averaged("g", runs, "m", Scale(), "range", 100)
    assert spread.points == [(0.0, 2.0), (5.0, 4.0), (10.0, 3.5)]
    assert spread.band == [(0.0, 1.0, 3.0), (5.0, 2.0, 7.0), (10.0, 3.0, 4.0)]
    interval = curves.averaged("g", runs, "m", Scale(), "interval", 100)
    assert interval.points == spread.points
    half = 4.303 * 1.0 / 3**0.5  # Student's t with two degrees of freedom, standard deviation 1
    assert interval.band[0] == pytest.approx((0.0, 2.0 - half, 2.0 + half))
    assert curves.averaged("g", runs[:1], "m", Scale(), "interval", 100).band == [], "one run has no interval"
    assert curves.averaged("g", [Metrics()], "m", Scale(), "range", 100) == Curve("g", [])
    assert all(low > 0 for _, low, _ in curves.averaged("g", runs, "m", Scale(log_y=True), "interval", 100).band)
    json.dumps(curves.options([interval, spread], Scale()), allow_nan=False)


def rows_of(outputs: Path, *settings: str) -> list[dict[str, Any]]:
    """Return the rows of runs with these settings, as YAML, in the order given."""
    for number, text in enumerate(settings):
        (make_run(outputs, f"s/{number}") / "config.yaml").write_text(CONFIG + text + "\n")
    return sorted(Index([outputs]).rows(), key=lambda row: row["run"])


def test_a_band_is_not_drawn_across_steps_of_one_run():
    runs = [Metrics({"step": [0.0, 10.0], "m": [1.0, 1.0]}), Metrics({"step": [0.0, 10.0], "m": [2.0, 2.0]})]
    late = [Metrics({"step": [80.0, 90.0], "m": [1.0, 1.0]}), Metrics({"step": [80.0, 90.0], "m": [2.0, 2.0]})]
    alone = Metrics({"step": [20.0, 50.0], "m": [5.0, 5.0]})
    curve = curves.averaged("g", [*runs, *late, alone], "m", Scale(), "range", 100)
    assert curve.points[2:4] == [(20.0, 5.0), (50.0, 5.0)]
    (band,) = [one for one in curves.options([curve], Scale())["series"] if one["type"] == "custom"]
    assert [(part[0], part[3]) for part in band["data"]] == [(0.0, 10.0), (80.0, 90.0)]


def test_groups_are_made_by_any_setting_or_by_all_but_the_seed(outputs: Path):
    texts = [f"seed: {seed}\nalgo: {{lr: {lr}, net: {{hidden: [1]}}}}" for lr in (0.1, 0.2) for seed in (1, 2)]
    rows = rows_of(outputs, *texts)
    assert set(groups.differing(rows)) == {"seed", "algo.lr"}
    assert list(groups.grouped(rows, groups.SEEDS)) == ["algo.lr=0.1 (2 runs)", "algo.lr=0.2 (2 runs)"]
    assert groups.grouped(rows, "seed") == {
        "seed=1 (2 runs)": ["outputs/s/0", "outputs/s/2"],
        "seed=2 (2 runs)": ["outputs/s/1", "outputs/s/3"],
    }
    assert list(groups.grouped(rows[:2], groups.SEEDS)) == ["same settings (2 runs)"]
    assert "algo.lr" in groups.choices(rows, "")
    assert "algo.net.hidden" not in groups.choices(rows, ""), "it is the same in all of them"


def test_groups_of_unlike_runs_are_not_mixed_if_their_short_labels_are_the_same(outputs: Path):
    nets = ("net: {_target_: A}", "net: {_target_: B}", "net: {_target_: A}")
    texts = [f"algo: {{lr: {lr}, {net}}}" for lr, net in zip((0.1, 0.1, 0.2), nets, strict=True)]
    assert [len(members) for members in groups.grouped(rows_of(outputs, *texts), groups.SEEDS).values()] == [1, 1, 1]
    rates = [{"run": str(lr), "settings": {"algo.lr": lr}, "metrics": {}} for lr in (0.0003, 0.000300001)]
    labels = list(groups.grouped(rates, "algo.lr"))
    assert labels == ["algo.lr=0.0003 (1 run)", "algo.lr=0.000300001 (1 run)"]


def test_parallel_coordinates_have_an_axis_for_each_setting_that_differs(outputs: Path):
    texts = [f"algo: {{lr: {lr}, kind: {kind}, same: 1}}" for lr in (0.001, 0.1) for kind in ("a", "null")]
    rows = rows_of(outputs, *texts)
    drawn = parallel.options(rows, "score", ["outputs/s/1"])
    assert {axis["name"]: axis["type"] for axis in drawn["parallelAxis"]} == {
        "algo.lr": "log",
        "algo.kind": "category",
        "score": "value",
    }
    names = [axis["name"] for axis in drawn["parallelAxis"]]
    lines = [dict(zip(names, line["value"], strict=True)) for line in drawn["series"][0]["data"]]
    assert lines[1] == {"algo.lr": 0.001, "algo.kind": "none", "score": 0.75}
    assert [line["lineStyle"].get("width") for line in drawn["series"][0]["data"]] == [None, 4, None, None]
    assert parallel.options(rows, "win_rate", [])["series"][0]["data"] == [], "none is finished"
    json.dumps(drawn, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("", "0123"),
        ("tictactoe", "0123"),
        ("s/2", "2"),
        ("S/2 algo=qlearning", "2"),
        ("algo=ppo", ""),
        ("lr>0.15", "23"),
        ("algo.lr<=0.1", "01"),
        ("lr=0.10", "01"),
        ("kind!=a", "13"),
        ("kind=A,zzz lr>=0.2", "2"),
        ("kind=null", "13"),
        ("run=*/s/[01]", "01"),
        ("seed=3 score>70% eval/win_rate<1", "0123"),
        ("tag=keep", "1"),
        ("tag=ke*", "1"),
        ("'two words'", "1"),
        ("deep=true", "0"),
    ],
)
def test_the_filter_compares_fields_and_searches_words(outputs: Path, text: str, runs: str):
    texts = [f"algo: {{lr: {lr}, kind: {kind}}}" for lr in (0.1, 0.2) for kind in ("a", "null")]
    rows_of(outputs, texts[0] + "\ndeep: true", *texts[1:])
    notes.write(files.locate([outputs], "outputs/s/1"), Notes(), Notes("two words", ("keep",)))
    index = Index([outputs])
    index.rows()
    test = query.parse(text, index.fields())
    assert "".join(sorted(row["run"][-1] for row in index.known if test(row))) == runs


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
        query.parse(text, ["algo.lr", "train/lr", "a.size", "b.size"])
    assert message in str(caught.value)


def test_runs_without_a_value_come_last_in_both_orders(outputs: Path):
    rows = rows_of(outputs, "algo: {lr: 0.1}", "algo: {lr: 0.3}", "algo: {}", "algo: {lr: x}")
    assert [row["run"][-1] for row in ordered(rows, "algo.lr")] == ["0", "1", "3", "2"]
    assert [row["run"][-1] for row in ordered(rows, "-algo.lr")] == ["3", "1", "0", "2"]
    assert cell(rows[0] | {"win_rate": 0.0, "low": 0.0, "high": 0.1}, "win_rate") == "0.0% (0.0-10.0)"


def test_notes_are_kept_beside_the_results_and_never_half_written(outputs: Path, monkeypatch: pytest.MonkeyPatch):
    path = make_run(outputs, "run")
    before = {file: file.read_bytes() for file in path.iterdir()}
    run = files.locate([outputs], "outputs/run")
    first = Notes("try again", ("keep", "slow one"))
    notes.write(run, Notes(), Notes(" try again ", ("keep", "slow  one ", "", "keep")))
    assert notes.read(run) == first
    assert (row := Index([outputs]).rows()[0])["tags"] == first.tags
    assert row["notes"] == first.text

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(UserError, match="No space left"):
        notes.write(run, first, Notes("lost"))
    monkeypatch.undo()
    assert notes.read(run) == first
    assert all(file.read_bytes() == content for file, content in before.items())


def test_notes_written_by_another_page_meanwhile_are_kept(outputs: Path):
    make_run(outputs, "run")
    run = files.locate([outputs], "outputs/run")
    notes.write(run, Notes(), Notes("theirs"))
    with pytest.raises(UserError, match="changed by another page"):
        notes.write(run, Notes(), Notes("mine"))
    assert notes.read(run) == Notes("theirs")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Notes("x" * 10_001), "at most 10,000 characters"),
        (Notes(tags=("x" * 41,)), "too long"),
        (Notes(tags=tuple(map(str, range(21)))), "at most 20 tags"),
        (Notes(tags=("a,b",)), "comma"),
    ],
)
def test_notes_have_limits(outputs: Path, found: Notes, message: str):
    path = make_run(outputs, "run")
    with pytest.raises(UserError, match=message):
        notes.write(files.locate([outputs], "outputs/run"), Notes(), found)
    assert not (path / "notes.json").exists()


def test_notes_do_not_leave_the_run(outputs: Path):
    path = make_run(outputs, "run")
    (path / "notes.json").symlink_to(path / "aside.json")
    with pytest.raises(UserError, match="symlink"):
        notes.write(files.locate([outputs], "outputs/run"), Notes(), Notes("x"))
    assert not (path / "aside.json").exists()


@pytest.mark.parametrize("text", ['{"text": 3, "tags": []}', "{", '{"text": ""}', "[" * 60_000])
def test_broken_notes_do_not_make_a_run_unreadable(outputs: Path, text: str):
    (make_run(outputs, "run") / "notes.json").write_text(text)
    (row,) = Index([outputs]).rows()
    assert row["state"] == "unfinished"
    assert "notes.json is not readable" in row["notes"]


def test_the_last_value_of_each_metric_is_found_from_the_end():
    data = b"step,a,b,c\n1,1,5,\n2,2,,\n3,3,nan,\n4,4\n5,5,6"
    assert last_values(data, "m") == {"step": 3, "a": 3, "b": 5}
    assert last_values(b"", "m") == last_values(b"step,a", "m") == {}


def test_a_thousand_runs_are_read_once_and_then_only_what_has_changed(outputs: Path, monkeypatch: pytest.MonkeyPatch):
    """Counts the work instead of timing it."""
    for number in range(1000):
        path = make_run(outputs, f"s/{number}")
        (path / ".lock").touch()
    read: list[str] = []
    probed: list[Path] = []
    content = files.content

    def counted_content(run: RunPath, name: str, most: int) -> bytes | None:
        read.append(f"{run.name}/{name}")
        return content(run, name, most)

    def counted_probe(path: Path) -> bool:
        probed.append(path)
        return is_training(path)

    monkeypatch.setattr(files, "content", counted_content)
    monkeypatch.setattr("src.web.runs.index.is_training", counted_probe)
    index = Index([outputs])
    rows = index.rows()
    assert len(rows) == len(probed) == 1000
    assert len(read) == 5000
    read.clear()
    probed.clear()
    assert index.rows() is rows, "nothing has changed, so that no page has anything to do"
    assert (read, probed) == ([], [])
    (outputs / "s/7/metrics.csv").write_text("step,eval/win_rate\n30,1\n")
    assert index.rows()[0]["score"] == 1.0
    assert len(read) == 5
    assert all(name.startswith("outputs/s/7/") for name in read)
    assert len(probed) == 1
    index.refresh(1000)
    assert len(probed) == 1, "another visitor has looked a moment ago"


def test_labels_say_what_is_different():
    changes = {
        "outputs/s/0": ["seed=1", "algo.lr=1"],
        "outputs/s/1": ["seed=1", "algo.lr=2"],
        "outputs/t/1": ["seed=1"],
    }
    assert list(curves.labels(changes).values()) == ["s/0 (algo.lr=1)", "s/1 (algo.lr=2)", "t/1"]
    assert curves.labels({"outputs/s/0": ["seed=1"]}) == {"outputs/s/0": "outputs/s/0"}
    assert curves.labels({}) == {}


def test_long_curves_are_thinned_and_keep_their_end():
    points = [(float(x), 0.0) for x in range(50_001)]
    assert len(curves.thinned(points, 4000)) <= 4001
    assert curves.thinned(points, 4000)[-1] == points[-1]
    assert curves.points_per_curve(100) * 100 <= curves.MAX_POINTS


def test_the_metrics_shown_first():
    assert curves.default_metrics({"a": Metrics({"step": [], "a/z": [], "eval/win_rate": []})}) == ("eval/win_rate",)
    assert curves.default_metrics({"a": Metrics({"step": [], "a/z": []})}) == ("a/z",)
    assert curves.default_metrics({"a": Metrics()}) == ()
    assert "95% Wilson" in curves.meaning("eval/win_rate_low")


@pytest.mark.parametrize(
    ("note", "address"),
    [
        ("https://wandb.ai/lab/board%20games/runs/abc123\n", "https://wandb.ai/lab/board%20games/runs/abc123"),
        ("http://wandb.ai/lab", None),
        ("javascript:alert(1)", None),
        ("https:", None),
        ("https://[", None),
        ("", None),
    ],
)
def test_a_run_that_was_online_has_a_link(outputs: Path, note: str, address: str | None):
    path = make_run(outputs, "run")
    run = files.locate([outputs], "outputs/run")
    assert files.wandb_address(run) is None
    (path / "wandb_url.txt").write_text(note)
    assert files.wandb_address(run) == address


def test_a_pipe_is_no_picture(outputs: Path):
    os.mkfifo(make_run(outputs, "run") / "look.png")
    run = files.locate([outputs], "outputs/run")
    assert files.pictures(run) == []
    assert files.picture_size(run, "look.png") is None


@pytest.mark.parametrize(("cut", "size"), [(None, (1, 1)), (20, None), (0, None)])
def test_the_size_of_a_picture_is_read_from_its_head(outputs: Path, cut: int | None, size: tuple[int, int] | None):
    (make_run(outputs, "run") / "heat.png").write_bytes(a_png()[:cut])
    assert files.picture_size(files.locate([outputs], "outputs/run"), "heat.png") == size
