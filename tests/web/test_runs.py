"""Reading run directories, without a browser."""

import json
import os
import struct
import zlib
from pathlib import Path

import pytest
from filelock import FileLock

from src.core.errors import UserError
from src.web import files
from src.web.files import Metrics
from src.web.lab import finished_runs
from src.web.runs import address, curves
from src.web.runs.address import Comparison
from src.web.runs.index import Index

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
    compared = Comparison(("outputs/a=1,b=2/x", "experiments/y z"), "eval/win_rate", "time/seconds")
    text = compared.address()
    assert text == "/runs?compare=outputs/a%3D1%2Cb%3D2/x,experiments/y%20z&metric=eval/win_rate&axis=time/seconds"
    assert address.read(text.partition("?")[2]) == compared
    assert address.read("compare=a,b,a,&metric=") == Comparison(("a", "b"))
    assert Comparison().address() == "/runs"


def test_curves_lie_over_each_other_with_intervals_where_there_are_any():
    plain = Metrics({"step": [1.0, 2.0, 3.0], "m": [0.1, None, 0.3]})
    sure = Metrics({"step": [1.0, 2.0], "m": [None, 0.5], "m_low": [None, 0.4], "m_high": [None, 0.6]})
    drawn = curves.options({"a": plain, "b": sure}, "m", "step", logarithmic=False)
    lines = [(line["name"], line["data"]) for line in drawn["series"]]
    assert lines == [
        ("a", [(1.0, 0.1), (3.0, 0.3)]),
        ("a", []),
        ("b", [(2.0, 0.5)]),
        ("b", [[2.0, 0.4], [2.0, 0.6], [2.0, None]]),
    ]
    assert len({line["color"] for line in drawn["series"]}) == 2
    json.dumps(drawn, allow_nan=False)


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
    assert len(curves.thinned(points)) <= curves.MAX_POINTS + 1
    assert curves.thinned(points)[-1] == points[-1]


def test_the_metric_shown_first():
    assert curves.default_metric({"a": Metrics({"step": [], "a/z": [], "eval/win_rate": []})}) == "eval/win_rate"
    assert curves.default_metric({"a": Metrics()}) is None
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
