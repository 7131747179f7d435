"""The sequential test: numbers computed by hand, and its decisions."""

import math

import pytest

from src.core.errors import UserError
from src.core.play.sprt import Hypotheses, PairCounts, elo_of, expected_points

TEST = Hypotheses(elo0=0, elo1=10, alpha=0.05, beta=0.05)


def test_elo_and_points():
    assert expected_points(0) == 0.5
    assert expected_points(400) == pytest.approx(10 / 11)
    assert elo_of(10 / 11) == pytest.approx(400)
    assert elo_of(0.75) == pytest.approx(190.848, abs=1e-3)
    assert elo_of(1.0) == math.inf
    assert elo_of(0.0) == -math.inf


def test_the_bounds_are_those_of_wald():
    assert TEST.bounds == pytest.approx((-math.log(19), math.log(19)))
    assert Hypotheses(0, 10, alpha=0.1, beta=0.2).bounds == pytest.approx((math.log(2 / 9), math.log(8)))


def test_the_likelihood_ratio_by_hand():
    # 100 pairs: mean (20 * 0.25 + 40 * 0.5 + 30 * 0.75 + 10) / 100 = 0.575
    # variance (20 * 0.325^2 + 40 * 0.075^2 + 30 * 0.175^2 + 10 * 0.425^2) / 100 = 0.050625
    # s0 = 0.5, s1 = 1 / (1 + 10^(-1/40)) = 0.5143871842; LLR = 100 * 0.0143871842 * (1.15 - 1.0143871842) / 0.10125
    assert TEST.llr([0, 20, 40, 30, 10]) == pytest.approx(1.92703, abs=1e-3)
    assert TEST.llr([0, 0, 0, 0, 0]) == 0.0


def test_the_ratio_of_the_opponent_has_the_other_sign():
    mirrored = Hypotheses(elo0=-10, elo1=0, alpha=0.05, beta=0.05)
    assert mirrored.llr([10, 30, 40, 20, 0]) == pytest.approx(-TEST.llr([0, 20, 40, 30, 10]))


def test_a_match_goes_on_until_a_bound_is_reached():
    assert TEST.verdict([0, 20, 40, 30, 10]) is None
    assert TEST.verdict([0, 200, 400, 300, 100]) == "elo1=10 accepted"
    assert TEST.verdict([100, 300, 400, 200, 0]) == "elo0=0 accepted"
    assert TEST.verdict([0, 0, 3, 0, 0]) is None, "three equal pairs have no variance, and are no proof"


def test_pairs_are_counted():
    counts = PairCounts()
    for outcomes in [(1, 1), (1, 0), (1, -1), (0, 0), (-1, 0), (-1, -1), (None, 1)]:
        counts.add(outcomes)
    assert counts.pairs == [1, 1, 2, 2, 1]
    assert (counts.wins, counts.draws, counts.losses) == (5, 5, 4)
    assert counts.games == 14
    assert counts.points == pytest.approx(7.5 / 14)


def test_the_interval_is_that_of_the_pairs():
    counts = PairCounts(pairs=[0, 20, 40, 30, 10])
    half = 1.959964 * math.sqrt(0.050625 / 100)
    assert counts.elo() == pytest.approx((elo_of(0.575), elo_of(0.575 - half), elo_of(0.575 + half)))


def test_settings_out_of_range_are_refused():
    with pytest.raises(UserError, match="elo0=5 must be less than elo1=5"):
        Hypotheses(5, 5, 0.05, 0.05)
    with pytest.raises(UserError, match="alpha"):
        Hypotheses(0, 5, 0.5, 0.05)
