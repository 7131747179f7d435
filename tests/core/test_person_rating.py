"""The rating of a person, and the ladder it is measured against."""

import json
import math
from pathlib import Path

import pytest

from experiments.quoridor_ladder.__main__ import ANCHOR, HERE, PLAYERS, tally
from src.core.play.person_rating import (
    ANCHOR_ELO,
    GOOD_GAME,
    LEAST,
    NEW,
    PersonRating,
    read_ladder,
    read_rating,
    write_ladder,
)
from src.core.play.rating import Rating, Standings
from src.envs.quoridor.game import Quoridor
from src.envs.tictactoe.game import TicTacToe

LEVEL = Rating(500.0, 500.0, 500.0)  # known exactly
LADDER = {"weak": Rating(-400.0, -400.0, -400.0), "even": Rating(0.0, 0.0, 0.0), "strong": LEVEL}


def test_as_in_the_example_of_glickman():
    """Sections "Update the rating" of http://www.glicko.net/glicko/glicko.pdf: a player of 1500 ± 200 and three games.

    The games of the example are one period; here each follows the one before it, so that the ends differ slightly.
    """
    person = PersonRating(1500, 200)
    expected = []
    for elo, deviation, points in ((1400, 30, 1.0), (1550, 100, 0.0), (1700, 300, 0.0)):
        level = Rating(elo - ANCHOR_ELO, elo - ANCHOR_ELO - 1.96 * deviation, elo - ANCHOR_ELO + 1.96 * deviation)
        expected.append(PersonRating(1500, 200).expected(level))
        person = person.after(level, points)
    assert expected == pytest.approx([0.639, 0.432, 0.303], abs=0.001)
    assert person.elo == pytest.approx(1464, abs=4)
    assert person.deviation == pytest.approx(151.4, abs=1)


def test_a_win_raises_a_loss_lowers_and_each_game_says_less():
    new = PersonRating(1500.0)
    won, drawn, lost = (new.after(LEVEL, points) for points in (1.0, 0.5, 0.0))
    assert won.elo > drawn.elo == new.elo > lost.elo, "the level is rated 1500"
    assert won.elo - new.elo == pytest.approx(new.elo - lost.elo)
    assert won.deviation == lost.deviation < NEW
    assert (won.games, won.after(LEVEL, 1.0).games) == (1, 2)
    assert won.after(LEVEL, 1.0).elo - won.elo < won.elo - new.elo
    surprise = new.after(Rating(900.0, 900.0, 900.0), 1.0)
    assert surprise.elo > won.elo, "a stronger level says more"
    for _ in range(500):
        won = won.after(LEVEL, 0.5)
    assert won.deviation == LEAST


def test_a_person_who_wins_as_often_as_a_rating_says_gets_it():
    person = PersonRating()
    for _ in range(60):
        for points in (1.0, 1.0, 1.0, 0.0):
            person = person.after(LEVEL, points)
    assert person.elo == pytest.approx(1500 + 400 * math.log10(3), abs=40)


def test_the_suggested_level_promises_a_good_game():
    for elo, level in ((400, "weak"), (1000, "even"), (1060, "even"), (1500, "strong"), (2500, "strong")):
        assert PersonRating(elo).suggested(LADDER) == level
    low, high = GOOD_GAME
    two = {"good": Rating(-50.0, -50.0, -50.0), "better": Rating(-20.0, -20.0, -20.0)}
    assert all(low <= PersonRating(1000).expected(level) <= high for level in two.values())
    assert PersonRating(1000).suggested(two) == "better"


def test_what_a_browser_kept_is_read_and_nonsense_is_a_new_person():
    rating = PersonRating(1430.5, 61.0, 12)
    assert read_rating(json.dumps(rating)) == rating
    for text in (
        None,
        "",
        "[1430]",
        '["a", 60, 1]',
        "[1e999, 60, 1]",
        "[NaN, 60, 1]",
        "[1430, 1, 1]",
        "[1e5, 60, 1]",
        "{",
    ):
        assert read_rating(text) == PersonRating()


def test_the_ladder_of_quoridor_is_the_one_that_was_measured(tmp_path: Path):
    files = [path for path in (HERE / "results").iterdir() if path.suffix == ".json"]
    names = {path: path.stem.split("_")[:2] for path in files}
    results = {(one, other): tally(path) for path, (one, other) in names.items() if {one, other} <= set(PLAYERS)}
    write_ladder(tmp_path / "ladder.yaml", Standings(results, ANCHOR).ratings, "python -m experiments.quoridor_ladder")
    package = Path(__file__).parents[2] / "src/envs/quoridor"
    assert (package / "ladder.yaml").read_text() == (tmp_path / "ladder.yaml").read_text()
    ladder = read_ladder(Quoridor(9, 10, 200, False))
    order = sorted(ladder, key=lambda name: ladder[name].elo)
    assert order == ["random", "easy", "runner", "normal", "hard", "reference", "hell", "master"]
    assert read_ladder(TicTacToe(symmetric=True)) == {}, "its levels were not rated"
