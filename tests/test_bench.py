"""The table of all benchmarks and its history, with benchmarks that take no time."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from experiments.bench import ppo_throughput, quoridor, quoridor_batch, runs_page, tictactoe_qlearning
from experiments.bench.__main__ import BENCHMARKS, main
from experiments.bench.history import COLUMNS, Place, append, previous, table
from experiments.bench.speed import Row
from src.core.errors import UserError
from src.envs.minesweeper.net import CellCodes
from src.nets.boards import CNN

pytestmark = pytest.mark.slow

HERE = Place("a machine", "python 3", "abc1234")
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def printed(rows: list[Row], before: dict[str, float]) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table(rows, before))
    return captured.get()


def test_a_measured_row_is_stored_and_shown_next_to_the_next_one(tmp_path: Path):
    rows = quoridor.rows(0.0, depth=2)
    assert [row.unit for row in rows] == ["positions/s"]
    assert rows[0].figure > 0
    append(tmp_path / "history.csv", rows, HERE, WHEN)
    append(tmp_path / "history.csv", [rows[0]._replace(figure=1234.0)], HERE, WHEN)
    lines = (tmp_path / "history.csv").read_text().splitlines()
    assert lines[0].split(",") == COLUMNS
    assert lines[2].startswith("2026-01-02T03:04:05Z,abc1234,a machine,python 3,")
    before = previous(tmp_path / "history.csv", HERE.machine)
    assert before == {rows[0].name: 1234.0}
    assert previous(tmp_path / "history.csv", "another machine") == {}
    assert "1,234" in printed(rows, before)


def test_tictactoe_tells_games_to_perfection():
    games, speed = tictactoe_qlearning.rows(0.0)
    assert (games.unit, speed.unit) == ("games", "games/s")
    assert 0 < games.figure <= 5000


def test_compiled_self_play_is_compared_with_the_loop_in_python():
    rows = quoridor_batch.rows(0.02, games=256)
    assert {row.unit for row in rows} == {"moves/s"}
    assert all(row.ratio is not None and row.ratio > 5 for row in rows)


def test_every_way_to_learn_collects_a_rollout_and_trains_on_it():
    task = ppo_throughput.minesweeper("4x4x3", CNN(8, encoder=CellCodes(), value_pool="mean_max"), 8, "cpu")
    for name, make in ppo_throughput.ways_to_learn(task, 4, None, "cpu").items():
        assert make()() == 32, name


def test_the_table_shows_ratio_peer_and_change():
    rows = [Row("fast", 200.0, "steps/s", "peer", 50.0), Row("alone", 3.0, "ms"), Row("lost", 1.0, "s", "absent", None)]
    text = printed(rows, {"fast": 400.0})
    fast, alone, lost = (next(line for line in text.splitlines() if name in line) for name in ("fast", "alone", "lost"))
    assert "4.0x" in fast
    assert "peer: 50" in fast
    assert "-50%" in fast
    assert "%" not in alone
    assert "absent: not installed" in lost


def test_a_file_that_is_no_history_is_refused_and_stays(tmp_path: Path):
    other = tmp_path / "metrics.csv"
    other.write_text("step,loss\n1,2\n")
    with pytest.raises(UserError, match="is no history of benchmarks"):
        main(["--only", "quoridor", "--history", str(other)])
    assert other.read_text() == "step,loss\n1,2\n"


def test_the_command_measures_and_appends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setitem(BENCHMARKS, "quoridor", lambda seconds: quoridor.rows(seconds, depth=2))
    for _ in range(2):
        main(["--only", "quoridor", "--history", str(tmp_path / "history.csv")])
    assert "last time" in capsys.readouterr().out
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 3


def test_the_runs_page_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # a server of NiceGUI would take itself for a part of the test
    runs_page.main(["--runs", "20"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["10", "runs", "20", "runs", "ratio"]
    assert len(lines) == 8
    assert all(float(line.split()[-1]) > 0 for line in lines[1:])
