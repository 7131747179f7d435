"""Statistics over runs: equal to rliable's, and to the definitions by brute force."""

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.core.runs import statistics
from tests.lab import read_json

CASES: dict[str, dict[str, Any]] = read_json(Path(__file__).with_name("rliable.json"))["cases"]
SCORES = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=9)


def columns(scores: list[list[float]]) -> list[np.ndarray]:
    """Return the scores of each environment, from (runs, environments)."""
    return list(np.array(scores).T)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_rliable(name: str):
    """Intervals are of other random samples, so they agree within their error of about 0.01."""
    case = CASES[name]
    x, y = columns(case["x"]), columns(case["y"])
    assert statistics.mean(x) == pytest.approx(case["mean"]["value"])
    assert statistics.iqm(x) == pytest.approx(case["iqm"]["value"])
    assert statistics.improvement(x, y) == pytest.approx(case["improvement"]["value"])
    assert statistics.interval(x, statistics.mean) == pytest.approx(case["mean"]["interval"], abs=0.012)
    assert statistics.interval(x, statistics.iqm) == pytest.approx(case["iqm"]["interval"], abs=0.012)
    assert statistics.improvement_interval(x, y) == pytest.approx(case["improvement"]["interval"], abs=0.05)


@given(SCORES)
def test_the_iqm_leaves_out_a_quarter_at_each_end(scores: list[float]):
    kept = sorted(scores)
    for _ in range(int(Fraction(len(scores), 4))):
        kept.remove(min(kept))
        kept.remove(max(kept))
    assert statistics.iqm([np.array(scores)]) == pytest.approx(sum(kept) / len(kept))


@given(SCORES, SCORES)
def test_improvement_counts_the_pairs(scores: list[float], others: list[float]):
    pairs = list(itertools.product(scores, others))
    won = sum(one > other for one, other in pairs) + sum(one == other for one, other in pairs) / 2
    found = statistics.improvement([np.array(scores)], [np.array(others)])
    assert found == pytest.approx(won / len(pairs))
    assert statistics.improvement([np.array(others)], [np.array(scores)]) == pytest.approx(1 - found)


def test_an_interval_is_of_all_samples_with_replacement():
    """Three runs have 27 samples, few enough for their exact distribution."""
    scores = np.array([0.1, 0.4, 0.9])
    means = [np.mean(sample) for sample in itertools.product(scores, repeat=3)]
    exact = np.percentile(means, [2.5, 97.5], method="inverted_cdf")
    assert statistics.interval([scores], statistics.mean) == pytest.approx(exact)


def test_runs_are_drawn_within_their_environment():
    """Across environments the mean would vary; within each all runs are equal here."""
    assert statistics.interval([np.zeros(4), np.ones(4)], statistics.mean) == pytest.approx([0.5, 0.5])


def test_an_interval_is_the_same_every_time():
    scores = [np.random.default_rng(0).random(7)]
    assert (statistics.interval(scores, statistics.iqm) == statistics.interval(scores, statistics.iqm)).all()


def test_a_curve_has_the_interval_of_each_point():
    values = np.random.default_rng(0).random((6, 3))
    band = statistics.interval([values], statistics.iqm)
    for point in range(3):
        alone = statistics.interval([values[:, point]], statistics.iqm)
        assert band[:, point] == pytest.approx(alone), "the same seed draws the same runs"


def test_curves_are_aligned_where_all_of_them_are():
    first = np.array([0.0, 10.0, 20.0]), np.array([0.0, 1.0, 2.0])
    second = np.array([5.0, 15.0, 25.0]), np.array([10.0, 20.0, 30.0])
    steps, values = statistics.align([first, second])
    assert steps.tolist() == [5, 10, 15, 20]
    assert values.tolist() == [[0.5, 1, 1.5, 2], [10, 15, 20, 25]]
    steps, values = statistics.align([first, first])
    assert (steps.tolist(), values.tolist()) == (first[0].tolist(), [first[1].tolist()] * 2)
    long = np.arange(3000.0), np.arange(3000.0)
    steps, values = statistics.align([long, long])
    assert (steps[0], steps[-1], values.shape) == (0, 2999, (2, statistics.MOST_POINTS))
    assert (values[0] == steps).all()
