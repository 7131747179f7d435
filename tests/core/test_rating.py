"""Ratings: numbers computed by hand from the Bradley-Terry model."""

import math

import pytest

from src.core.errors import UserError
from src.core.play.arena import Tally
from src.core.play.rating import Points, Rating, points_of, rating_against, ratings


def test_two_players_by_hand():
    """29 points of 39 games and one more draw: 29.5 of 40, odds 29.5 : 10.5.

    Fisher information of the log odds: 40 * 29.5 / 40 * 10.5 / 40 = 7.74375, so the half width of the interval is
    1.95996 / sqrt(7.74375) = 0.704322 in log odds, times 400 / ln 10 = 173.7178 in Elo.
    """
    rated = ratings({("a", "b"): Points(29, 39)}, "b")
    assert rated["b"] == Rating(0, 0, 0)
    assert rated["a"].elo == pytest.approx(400 * math.log10(29.5 / 10.5))
    assert rated["a"].elo == pytest.approx(179.46, abs=0.01)
    assert rated["a"].high - rated["a"].elo == pytest.approx(122.35, abs=0.01)
    assert rated["a"].elo - rated["a"].low == pytest.approx(122.35, abs=0.01)


def test_the_anchor_may_be_either_player():
    results = {("a", "b"): Points(29, 39)}
    assert ratings(results, "a")["b"].elo == pytest.approx(-ratings(results, "b")["a"].elo)


def test_a_draw_is_half_a_point():
    assert points_of(Tally(wins=3, draws=4, losses=1)) == Points(5, 8)
    assert rating_against(Tally(wins=0, draws=7, losses=0)).elo == pytest.approx(0)
    # 5 of 8 points and one more draw: odds 5.5 : 3.5
    assert rating_against(Tally(wins=3, draws=4, losses=1)).elo == pytest.approx(400 * math.log10(5.5 / 3.5))


def test_three_players_by_hand():
    """With the added draw every match is 3 : 1, 3 : 1 and 9 : 1: consistent with odds 9, 3 and 1, which fit exactly.

    Information of (a, b) with c fixed: a-b and b-c 12 * 3/16 = 2.25 each, a-c 20 * 9/100 = 1.8, so the matrix is
    [[4.05, -2.25], [-2.25, 4.5]] with determinant 13.1625 and variances 4.5 / 13.1625 of a, 4.05 / 13.1625 of b.
    """
    results = {("a", "b"): Points(8.5, 11), ("b", "c"): Points(8.5, 11), ("c", "a"): Points(1.5, 19)}
    rated = ratings(results, "c")
    elo = 400 / math.log(10)
    assert rated["a"].elo == pytest.approx(elo * math.log(9))
    assert rated["b"].elo == pytest.approx(elo * math.log(3))
    assert rated["a"].high - rated["a"].elo == pytest.approx(1.959964 * elo * math.sqrt(4.5 / 13.1625), rel=1e-5)
    assert rated["b"].high - rated["b"].elo == pytest.approx(1.959964 * elo * math.sqrt(4.05 / 13.1625), rel=1e-5)


def test_ratings_do_not_depend_on_the_order_of_players():
    one = ratings({("a", "b"): Points(7, 10), ("b", "c"): Points(4, 10), ("a", "c"): Points(9.5, 10)}, "a")
    other = ratings({("c", "a"): Points(0.5, 10), ("c", "b"): Points(6, 10), ("b", "a"): Points(3, 10)}, "a")
    assert all(one[name] == pytest.approx(other[name]) for name in "abc")


def test_results_that_contradict_each_other_are_equal_strength():
    circle = {("a", "b"): Points(9, 10), ("b", "c"): Points(9, 10), ("c", "a"): Points(9, 10)}
    assert [rating.elo for rating in ratings(circle, "a").values()] == pytest.approx([0, 0, 0], abs=1e-6)


@pytest.mark.parametrize("games", [1, 20, 100_000])
def test_who_wins_everything_gets_a_finite_rating(games: int):
    assert rating_against(Tally(games, 0, 0)).elo == pytest.approx(400 * math.log10(2 * games + 1))
    assert rating_against(Tally(0, 0, games)).elo == pytest.approx(-400 * math.log10(2 * games + 1))


def test_no_games_say_nothing():
    rated = rating_against(Tally(0, 0, 0))
    assert rated.elo == pytest.approx(0)
    assert rated.high > 600


def test_players_without_games_in_common_are_refused():
    with pytest.raises(UserError, match="no games connect c, d with a"):
        ratings({("a", "b"): Points(1, 2), ("c", "d"): Points(1, 2)}, "a")
    with pytest.raises(UserError, match="x has played no games"):
        ratings({("a", "b"): Points(1, 2)}, "x")


def test_the_interval_covers_the_true_rating_as_often_as_it_says():
    """Exact coverage over the binomial distribution of 40 games; a discrete distribution cannot reach 95% exactly."""
    for share in (0.5, 0.64, 0.76, 0.9):
        true, covered = 400 * math.log10(share / (1 - share)), 0.0
        for wins in range(41):
            rated = rating_against(Tally(wins, 0, 40 - wins))
            if rated.low <= true <= rated.high:
                covered += math.comb(40, wins) * share**wins * (1 - share) ** (40 - wins)
        assert 0.93 < covered < 0.99
