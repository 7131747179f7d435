"""Results under their metric names."""

import math
from typing import Any

import pytest
from rich.console import Console

from src.core.play.agent import RandomAgent
from src.core.play.arena import Score, Tally, wilson_interval
from src.core.runs.report import (
    PlainConsole,
    elo_metrics,
    first_baseline,
    new_table,
    score_metrics,
    score_table,
    show,
    win_rate_band,
    win_rate_metrics,
)
from tests.algos.making import minesweeper, versus
from tests.core.fixed import FirstMove
from tests.golden.metrics import is_documented


def test_a_win_rate_is_logged_with_its_interval():
    low, high = wilson_interval(30, 40)
    assert win_rate_band(30.0, 40.0) == {"train/win_rate_low": low, "train/win_rate_high": high}
    assert win_rate_band(0, 0) == {"train/win_rate_low": 0.0, "train/win_rate_high": 1.0}
    metrics = win_rate_metrics(Tally(30, 5, 5), "eval")
    assert metrics == {
        "eval/win_rate": 0.75, "eval/win_rate_low": low, "eval/win_rate_high": high, "eval/episodes": 40,
    }  # fmt: skip
    assert all(is_documented(name) for name in (*metrics, *win_rate_band(1, 2)))


def test_the_final_evaluation_has_names_of_its_own():
    scores = {"a": Score([1, 0], [0, 1], 0.0, {"steps": 3.0}), "b": Score([-1, -1], [0, 1], 0.0, {})}
    metrics = score_metrics(scores, players=2)
    assert all(name.startswith("final/") and is_documented(name) for name in metrics)
    assert (metrics["final/win_rate"], metrics["final/episodes"], metrics["final/a/steps"]) == (0.5, 2, 3.0)
    assert (metrics["final/a/draw_rate"], metrics["final/b/loss_rate"]) == (0.5, 1.0)
    # One win and one draw against the first baseline, and one more draw: 2 of 3 points.
    assert metrics["final/elo"] == pytest.approx(400 * math.log10(2))
    assert not any("elo" in name for name in score_metrics(scores, players=1)), "nobody to be compared with"


def test_the_first_baseline_is_the_opponent_of_two_player_games():
    first, other = FirstMove(), RandomAgent()
    assert first_baseline(versus(baselines={"first": first, "other": other})) is first
    assert isinstance(first_baseline(versus(baselines={})), RandomAgent)
    assert first_baseline(minesweeper()) is None


def test_elo_is_logged_with_its_interval():
    """30 wins, 4 draws and 5 losses: 32 of 39 points, with one more draw 32.5 of 40."""
    metrics = elo_metrics(Tally(30, 4, 5), "eval")
    half = 1.959964 * 400 / math.log(10) / math.sqrt(40 * 0.8125 * 0.1875)
    assert metrics["eval/elo"] == pytest.approx(400 * math.log10(32.5 / 7.5))
    assert metrics["eval/elo_low"] == pytest.approx(metrics["eval/elo"] - half, rel=1e-5)
    assert metrics["eval/elo_high"] == pytest.approx(metrics["eval/elo"] + half, rel=1e-5)
    assert all(is_documented(name) for name in metrics)


def test_aborted_games_alone_give_no_elo():
    assert elo_metrics(Tally(0, 0, 0, aborted=5), "eval") == {}


def test_aborted_games_are_a_category_of_their_own():
    score = Score([1, None, None, -1], [0, 1, 0, 1], 0.0, {})
    metrics = score_metrics({"a": score}, players=2)
    shares = [metrics[f"final/a/{name}_rate"] for name in ("win", "draw", "loss", "aborted")]
    assert shares == [0.25, 0.0, 0.25, 0.5]
    assert metrics["final/elo"] == pytest.approx(0), "one win and one loss"
    assert score.total.as_dict()["aborted"] == 2
    assert score.total.swapped() == Tally(1, 0, 1, aborted=2)
    shown = Console(width=200)
    with shown.capture() as text:
        shown.print(score_table("", {"a": score, "b": Score([0], [0], 0.0, {})}, players=2))
    assert "1/0/1, 2 aborted" in text.get()
    assert text.get().count("aborted") == 1, "not where none was"


@pytest.mark.parametrize(
    ("players", "first", "seats"), [(1, "agent", []), (2, "against", [("as first", "100.0%"), ("as second", "0.0%")])]
)
def test_the_table_names_the_opponents_and_both_seats_in_two_player_games(players: int, first: str, seats: list[Any]):
    table = score_table("", {"random": Score([1, -1], [0, 1] if seats else [0, 0], 0.0, {})}, players)
    columns = [(column.header, *column.cells) for column in table.columns]
    assert columns[:3] == [(first, "random"), ("games", "2"), ("won/drawn/lost", "1/0/1")]
    assert [name for name, _ in columns[3:5]] == ["win rate", "95% range"]
    assert columns[5:] == seats


def test_lines_over_every_play_have_a_row_for_each_seat(capsys: pytest.CaptureFixture[str]):
    show("x", versus().game, {}, {"first": Tally(3, 1, 0), "second": Tally(2, 0, 5)})
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    for row in ("moving lines won drawn lost", "first 4 3 1 0", "second 7 2 0 5"):
        assert row.split() in words


def test_names_are_not_cut_without_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    table = new_table("x")
    for _ in range(4):
        table.add_column(28 * "n", justify="right")
    PlainConsole().print(table)
    assert [28 * "n"] * 4 in [line.split() for line in capsys.readouterr().out.splitlines()]
