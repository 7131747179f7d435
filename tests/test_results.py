"""Figures on the pages: from data, of the commands that the data names, and marked where the code has changed."""

from pathlib import Path

import pytest

from experiments import measure
from experiments.measure import MEASUREMENTS, PAGES, Measurement

ONE = Measurement(
    "table", "Tables", "evaluate agent=trained agent.run=experiments/tictactoe_qlearning opponent=random episodes=20"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_the_data_of_this_code(page: Path):
    assert page.read_text() == measure.filled(page), "run make tables, or measure the changed rows again"


def test_every_line_of_data_is_of_a_known_command():
    commands = {one.name: f"python -m src.{one.command}" for one in MEASUREMENTS}
    assert len(commands) == len(MEASUREMENTS)
    for name, row in measure.read().items():
        assert row["command"] == commands[name]


def test_a_digest_follows_the_code_and_not_its_comments(tmp_path: Path):
    texts = ('"""A."""\nx = 1\n', '"""B."""\n\nx = 1  # one\n', '"""A."""\nx = 2\n')
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.py").write_text(text)
    first, same, other = (measure.source_digest(tmp_path / f"{number}.py") for number in range(3))
    assert first == same != other


def test_the_code_that_matters_is_followed_through_imports():
    solver, network = (
        {path.name for path in measure._imported({f"src.envs.minesweeper.{name}"})} for name in ("agents", "net")
    )
    assert "exact.py" in solver - network
    assert not {path for path in measure._imported({"src.envs.minesweeper.agents"}) if "web" in path.parts}


def test_a_result_is_measured_kept_and_marked_when_the_code_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measure, "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setattr(measure, "MEASUREMENTS", (ONE,))
    row = measure.measure(ONE)
    measure.keep(row)
    assert measure.read() == {"table": row}
    assert sum(row["scores"]["random"].values()) == 20
    assert row["lost_lines"] == [0, 0]
    assert measure.line(ONE, row).endswith(f"| {row['date']} |")
    assert "| table | 0 lines lost, " in measure.all_tables()
    monkeypatch.setattr(measure, "source_digest", lambda path: "changed")
    assert measure.line(ONE, row).endswith(f"| at `{row['commit']}` |")
