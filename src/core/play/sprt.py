"""Sequential probability ratio test (Wald 1945) of a match, on pairs of games as fishtest has it.

The two games of a pair begin with the same opening, seats swapped, so their results are not independent; a pair has one
of five results, from 0 to 2 points. The hypotheses `elo0` and `elo1` fix only the mean of their distribution, so each
is represented by the distribution with that mean under which the observed pairs are most likely (generalised SPRT, Van
den Bergh 2019). With these distributions p0 and p1 and n_i pairs of result i, the log likelihood ratio is

    LLR = sum of n_i ln(p1_i / p0_i)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from ..errors import require
from ..ranges import Bounds, check_fields
from .rating import ELO, Rating, Z

Probability = Annotated[float, Bounds(gt=0, lt=0.5)]
EloDifference = Annotated[float, Bounds(ge=-2000, le=2000)]
RESULTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # points per game of a pair
MIN_PAIRS = 16  # before a verdict: distributions fitted to a few pairs say little
LEAST = 1e-3  # count of a result that has not occurred, as in fishtest: every mean must be possible
PRIOR = 0.2  # added to each count for an interval, one pair in total: equal pairs do not prove a variance of 0


def expected_points(elo: float) -> float:
    """Return the points per game of a player rated `elo` above its opponent."""
    return 1 / (1 + math.exp(-elo / ELO))


def elo_of(points: float) -> float:
    """Return the rating difference with these expected points per game, of which 0 and 1 are infinite."""
    if points in (0.0, 1.0):
        return math.copysign(math.inf, points - 0.5)
    return ELO * math.log(points / (1 - points))


@dataclass(frozen=True)
class Hypotheses:
    """The player is `elo0` above its opponent, or `elo1`."""

    elo0: EloDifference
    elo1: EloDifference
    alpha: Probability  # of accepting elo1 though elo0 is true
    beta: Probability  # of accepting elo0 though elo1 is true

    def __post_init__(self) -> None:
        check_fields(self)
        require(self.elo0 < self.elo1, f"elo0={self.elo0:g} must be less than elo1={self.elo1:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """The LLR at which elo0 and elo1 are accepted."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, pairs: Sequence[int]) -> float:
        """Return the log likelihood ratio of the counts of `RESULTS`."""
        return float(log_likelihood_ratio(np.array(pairs), expected_points(self.elo0), expected_points(self.elo1)))

    def verdict(self, pairs: Sequence[int]) -> str | None:
        """Return the accepted hypothesis, None as long as the match has to go on."""
        if sum(pairs) < MIN_PAIRS:
            return None
        llr, (lower, upper) = self.llr(pairs), self.bounds
        if llr >= upper:
            return f"elo1={self.elo1:g} accepted"
        return f"elo0={self.elo0:g} accepted" if llr <= lower else None


def log_likelihood_ratio(pairs: np.ndarray, mean0: float, mean1: float) -> np.ndarray:
    """Return the log likelihood ratio of a mean of `mean1` to one of `mean0` for counts of `RESULTS` (..., 5)."""
    counts = np.maximum(pairs, LEAST)
    ratio: np.ndarray = (counts * np.log(most_likely(counts, mean1) / most_likely(counts, mean0))).sum(axis=-1)
    return ratio


def most_likely(counts: np.ndarray, mean: float) -> np.ndarray:
    """Return the distribution with this mean under which the counts, none of them 0, are most likely (..., 5).

    For observed frequencies f_i of results r_i it is f_i / (1 + x (r_i - mean)), where x is the Lagrange multiplier for
    which its mean is the given one. The mean decreases with x, which is found by bisection.
    """
    frequencies, excess = counts / counts.sum(axis=-1, keepdims=True), np.array(RESULTS) - mean
    low, high = -1 / excess[-1], -1 / excess[0]  # where a probability would be infinite
    for _ in range(64):
        x = (low + high) / 2
        too_low = (frequencies * excess / (1 + x * excess)).sum(axis=-1, keepdims=True) > 0
        low, high = np.where(too_low, x, low), np.where(too_low, high, x)
    fitted: np.ndarray = frequencies / (1 + x * excess)
    return fitted


@dataclass
class PairCounts:
    """The results of the pairs of a match, and of its games, for the first player."""

    pairs: list[int] = field(default_factory=lambda: [0] * len(RESULTS))
    wins: int = 0
    draws: int = 0
    losses: int = 0
    aborted: int = 0  # pairs with a game without a result, which are in none of the other counts

    def add(self, outcomes: Sequence[int | None]) -> None:
        """Add the two games of a pair: +1, 0, -1, or None for an aborted game, without which a pair has no result."""
        results = [outcome for outcome in outcomes if outcome is not None]
        if len(results) < 2:
            self.aborted += 1
            return
        self.pairs[sum(results) + 2] += 1
        self.wins += results.count(1)
        self.draws += results.count(0)
        self.losses += results.count(-1)

    @property
    def games(self) -> int:
        return 2 * sum(self.pairs)

    @property
    def points(self) -> float:
        """Points per game, of at least one pair."""
        return sum(count * result for count, result in zip(self.pairs, RESULTS, strict=True)) / sum(self.pairs)

    def elo(self) -> Rating:
        """Return the estimated difference and its 95% interval, from the variance between pairs.

        The interval is that of the counts with `PRIOR`. It is infinite on a side where it includes 0 or 1 points.
        """
        counts = np.array(self.pairs) + PRIOR
        mean = np.average(RESULTS, weights=counts)
        variance = np.average((np.array(RESULTS) - mean) ** 2, weights=counts)
        half = Z * math.sqrt(variance / counts.sum())
        low, high = max(float(mean) - half, 0.0), min(float(mean) + half, 1.0)
        return Rating(elo_of(self.points), elo_of(low), elo_of(high))
