"""The sequential test: numbers computed by hand, and its decisions."""

import math

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.play.rating import (
    MIN_PAIRS,
    PAIR_RESULTS,
    Hypotheses,
    PairCounts,
    elo_of,
    expected_points,
    log_likelihood_ratio,
    most_likely,
)

TEST = Hypotheses(elo0=0, elo1=10, alpha=0.05, beta=0.05)
WIDER = Hypotheses(elo0=0, elo1=20, alpha=0.05, beta=0.05)


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


def test_the_likelihood_ratio_of_two_results_by_hand():
    # With 0 or 2 points a pair, the mean is the probability of 2 points: 0.5, and 1 / (1 + 10^(-1/20)) = 0.5287505.
    # LLR = 60 ln(0.4712495 / 0.5) + 40 ln(0.5287505 / 0.5) = -3.5533 + 2.2363
    assert WIDER.llr([60, 0, 0, 0, 40]) == pytest.approx(-1.3170, abs=1e-3)
    # With 1 or 2 points a pair that mean has a probability of 2 * 0.0287505 = 0.057501 of 2 points. A mean of 0.5 needs
    # pairs of 0 points, which have not occurred: with q for each of 0 and 2 points, (1 - 2 q)^90 q^10 has its maximum
    # at q = 0.05. LLR = 90 ln(0.942499 / 0.9) + 10 ln(0.057501 / 0.05) = 4.1525 + 1.3977, plus that of MIN_COUNT.
    assert WIDER.llr([0, 0, 90, 0, 10]) == pytest.approx(5.550, abs=0.02)


def test_equal_pairs_are_weak_evidence():
    # A mean of 0.5 is certain to give 16 pairs of 1-1; one of 0.5287505 gives each with 1 - 2 * 0.0287505 at most.
    assert WIDER.llr([0, 0, 16, 0, 0]) == pytest.approx(16 * math.log(0.942499), abs=0.01)
    assert WIDER.verdict([0, 0, 16, 0, 0]) is None


def test_the_ratio_is_0_between_both_hypotheses():
    balanced = Hypotheses(elo0=-15, elo1=15, alpha=0.05, beta=0.05)
    for pairs in ([3, 5, 20, 5, 3], [0, 0, 16, 0, 0], [7, 0, 0, 0, 7]):
        assert balanced.llr(pairs) == pytest.approx(0, abs=1e-9)
    assert TEST.llr([0, 0, 0, 0, 0]) == pytest.approx(0, abs=1e-4)


def test_many_pairs_approach_the_normal_distribution():
    # mean 0.575 and variance 0.050625: LLR = 100 * 0.0143871842 * (1.15 - 1.0143871842) / 0.10125 = 1.927
    assert TEST.llr([0, 20, 40, 30, 10]) == pytest.approx(1.927, rel=0.05)


@pytest.mark.parametrize("counts", [[4, 20, 40, 30, 10], [1e-3, 1e-3, 16, 1e-3, 1e-3], [1e-3, 1e-3, 1e-3, 1e-3, 1e5]])
@pytest.mark.parametrize("elo", [-2000, -30, 0, 20, 2000])
def test_no_other_distribution_of_that_mean_is_as_likely(counts: list[float], elo: float):
    mean = expected_points(elo)
    best = most_likely(np.array(counts), mean)
    assert best.sum() == pytest.approx(1)
    assert best @ np.array(PAIR_RESULTS) == pytest.approx(mean)
    for change in ([1, -2, 1, 0, 0], [0, 1, -2, 1, 0], [0, 0, 1, -2, 1]):  # these keep the sum and the mean
        step = 0.01 * best.min() * np.array(change)
        for other in (best + step, best - step):
            assert np.array(counts) @ np.log(other / best) < 0


def accepted(
    test: Hypotheses, distribution: list[float], matches: int = 500, longest: int = 200
) -> tuple[float, float]:
    """Return the shares of simulated matches that accept elo0 and elo1."""
    results = np.random.default_rng(0).choice(len(PAIR_RESULTS), (matches, longest), p=distribution)
    counts = np.eye(len(PAIR_RESULTS), dtype=int)[results].cumsum(axis=1)[:, MIN_PAIRS - 1 :]
    states, which = np.unique(counts.reshape(-1, len(PAIR_RESULTS)), axis=0, return_inverse=True)
    llr = log_likelihood_ratio(states, expected_points(test.elo0), expected_points(test.elo1))[which]
    decided = np.searchsorted(test.bounds, llr.reshape(matches, -1)) - 1  # -1: elo0, 0: none, 1: elo1
    first = decided[np.arange(matches), (decided != 0).argmax(axis=1)]
    return float((first < 0).mean()), float((first > 0).mean())


@pytest.mark.parametrize(
    ("test", "mean", "distribution"),
    [
        (WIDER, expected_points(20), [0, 0, 0.942499, 0, 0.057501]),  # pairs of 1-1 or 2-0
        (Hypotheses(0, 100, 0.05, 0.05), 0.5, [0.5, 0, 0, 0, 0.5]),
        (Hypotheses(0, 100, 0.05, 0.05), expected_points(100), [0.359935, 0, 0, 0, 0.640065]),
    ],
)
def test_wrong_hypotheses_are_accepted_as_rarely_as_promised(test: Hypotheses, mean: float, distribution: list[float]):
    assert np.dot(distribution, PAIR_RESULTS) == pytest.approx(mean, abs=1e-5)
    shares = accepted(test, distribution)
    right = mean > 0.5
    assert shares[not right] < 0.08, "alpha and beta are 0.05; two standard errors of 500 matches are 0.02"
    assert shares[right] > 0.87, "few of these matches end without a decision"


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
    for outcomes in [(1, 1), (1, 0), (1, -1), (0, 0), (-1, 0), (-1, -1)]:
        counts.add(outcomes)
    assert counts.pairs == [1, 1, 2, 1, 1]
    assert (counts.wins, counts.draws, counts.losses, counts.aborted) == (4, 4, 4, 0)
    assert counts.games == 12
    assert counts.points == 0.5


def test_a_pair_with_an_aborted_game_has_no_result():
    counts = PairCounts()
    for outcomes in [(None, 1), (-1, None), (None, None), (1, 0)]:
        counts.add(outcomes)
    assert counts == PairCounts(pairs=[0, 0, 0, 1, 0], wins=1, draws=1, aborted=3)


def test_the_interval_is_that_of_the_pairs():
    # With 0.2 more of each: mean (20.2 * 0.25 + 40.2 * 0.5 + 30.2 * 0.75 + 10.2) / 101 = 58 / 101,
    # mean square (20.2 * 0.0625 + 40.2 * 0.25 + 30.2 * 0.5625 + 10.2) / 101 = 38.5 / 101
    half = 1.959964 * math.sqrt((38.5 / 101 - (58 / 101) ** 2) / 101)
    expected = (elo_of(0.575), elo_of(58 / 101 - half), elo_of(58 / 101 + half))
    assert PairCounts(pairs=[0, 20, 40, 30, 10]).elo() == pytest.approx(expected)


@pytest.mark.parametrize("pairs", [1, 16, 10_000])
def test_equal_pairs_have_an_interval(pairs: int):
    elo, low, high = PairCounts(pairs=[0, 0, 0, 0, pairs]).elo()
    assert elo == high == math.inf
    assert low < elo_of(0.3 ** (1 / pairs)), "a player who wins them all with a probability of 30% is not excluded"
    elo, low, high = PairCounts(pairs=[0, 0, pairs, 0, 0]).elo()
    assert elo == 0
    assert low == pytest.approx(-high) != 0


def test_settings_out_of_range_are_refused():
    with pytest.raises(UserError, match="elo0=5 must be less than elo1=5"):
        Hypotheses(5, 5, 0.05, 0.05)
    with pytest.raises(UserError, match="alpha"):
        Hypotheses(0, 5, 0.5, 0.05)
    with pytest.raises(UserError, match="elo1=1000000"):
        Hypotheses(0, 1e6, 0.05, 0.05)
