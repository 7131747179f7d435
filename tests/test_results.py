"""Figures on the pages: from data, of the commands that the data names, and marked where the code has changed."""

import re
from pathlib import Path

import pytest

from experiments import measure, tables
from experiments.measure import MEASUREMENTS, Measurement
from src.core.errors import UserError
from tests.lab import ROOT

ONE = Measurement(
    "table", "evaluate agent=trained agent.run=experiments/tictactoe_qlearning opponent=random episodes=20"
)


def test_the_pages_show_the_data_of_this_code():
    outdated = [str(page.relative_to(ROOT)) for page in tables.pages() if page.read_text() != tables.filled(page)]
    assert outdated == [], "run make tables, or measure the changed rows again"


def test_no_rate_is_written_by_hand():
    """Only the page of decisions tells what was measured on the code of its time."""
    for page in set(tables.pages()) - {ROOT / "docs/design.md"}:
        assert not re.findall(r".*\d% \([+-]?\d.*", tables.MARK.sub("", page.read_text())), page


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
    for module in (measure, tables):
        monkeypatch.setattr(module, "MEASUREMENTS", (ONE,))
    row = measure.measure(ONE)
    measure.keep(row)
    assert measure.read() == {"table": row}
    score = row["scores"]["random"]
    assert score["wins"] + score["draws"] + score["losses"] == 20
    assert score["first_player_wins"] == 10, "it wins every game as the first, and loses none as the second"
    assert row["lost_lines"] == [0, 0]
    shown = tables.results("tab.*").splitlines()
    assert shown[-1].startswith("| table | 0 lines lost, ")
    assert shown[-1].endswith(f"| {row['date']} |")
    monkeypatch.setattr(measure, "source_digest", lambda path: "changed")
    monkeypatch.setattr(measure, "code_digest", measure.code_digest.__wrapped__)  # without its cache
    assert tables.results("tab.*").endswith(f"| at `{row['commit']}` |")


def test_a_query_with_two_groups_is_a_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ones = [
        Measurement(f"{board}, {player}", ONE.command) for board in ("a", "b") for player in ("x", "y against itself")
    ]
    monkeypatch.setattr(measure, "RESULTS", tmp_path / "results.jsonl")
    for module in (measure, tables):
        monkeypatch.setattr(module, "MEASUREMENTS", ones)
    score = {"wins": 1, "draws": 1, "losses": 2, "aborted": 0, "first_player_wins": 3}
    for one in ones[:3]:
        measure.keep(
            {"name": one.name, "code": measure.code_digest(one.command), "scores": {"": score}, "lost_lines": []}
        )
    assert tables.results("(.), (.*)").splitlines() == [
        "| won (95%, games) | a | b |",
        "|---|---|---|",
        "| x | 25.0% (4.6-69.9, 4, 1 drawn) | 25.0% (4.6-69.9, 4, 1 drawn) |",
        "| y against itself | 75.0% (30.1-95.4, 4, 1 drawn) | not measured yet |",
    ]
    assert "| b, y against itself | not measured yet | | |" in tables.results("b, y.*")
    with pytest.raises(UserError, match="no measurement is named 'c'"):
        tables.results("c")
