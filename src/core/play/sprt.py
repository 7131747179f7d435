"""Sequential probability ratio test (Wald 1945) of a match, on pairs of games as fishtest has it.

The two games of a pair begin with the same opening, seats swapped, so their results are not independent; a pair has one
of five results, from 0 to 2 points. The log likelihood ratio of the hypotheses `elo1` and `elo0` is approximated by
that of a normal distribution with the observed variance (generalised SPRT, Van den Bergh 2019):

    LLR = n (s1 - s0) (2 m - s0 - s1) / (2 v)

for n pairs with the mean m and the variance v of the points per game, where s0 and s1 are the points that the
hypotheses expect.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from ..errors import require
from ..ranges import Bounds, check_fields
from .rating import ELO, Z

Probability = Annotated[float, Bounds(gt=0, lt=0.5)]
RESULTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # points per game of a pair
MIN_PAIRS = 16  # before a verdict: the observed variance of a few pairs says nothing
LEAST = 1e-3  # count of a result that has not occurred, so that the variance is never 0


def expected_points(elo: float) -> float:
    """Return the points per game of a player rated `elo` above its opponent."""
    return 1 / (1 + math.exp(-elo / ELO))


def elo_of(points: float) -> float:
    """Return the rating difference with these expected points per game, of which 0 and 1 are infinite."""
    if points in (0.0, 1.0):
        return math.copysign(math.inf, points - 0.5)
    return -ELO * math.log(1 / points - 1)


@dataclass(frozen=True)
class Hypotheses:
    """The player is `elo0` above its opponent, or `elo1`."""

    elo0: float
    elo1: float
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
        counts = [count or LEAST for count in pairs]
        mean, variance = _moments(counts)
        low, high = expected_points(self.elo0), expected_points(self.elo1)
        return sum(counts) * (high - low) * (2 * mean - low - high) / (2 * variance) if sum(pairs) else 0.0

    def verdict(self, pairs: Sequence[int]) -> str | None:
        """Return the accepted hypothesis, None as long as the match has to go on."""
        if sum(pairs) < MIN_PAIRS:
            return None
        llr, (lower, upper) = self.llr(pairs), self.bounds
        if llr >= upper:
            return f"elo1={self.elo1:g} accepted"
        return f"elo0={self.elo0:g} accepted" if llr <= lower else None


@dataclass
class PairCounts:
    """The results of the pairs of a match, and of its games, for the first player."""

    pairs: list[int] = field(default_factory=lambda: [0] * len(RESULTS))
    wins: int = 0
    draws: int = 0
    losses: int = 0

    def add(self, outcomes: Sequence[int | None]) -> None:
        """Add the two games of a pair: +1, 0, -1; an aborted game counts as a draw."""
        one, other = (outcome or 0 for outcome in outcomes)
        self.pairs[one + other + 2] += 1
        for outcome in (one, other):
            self.wins, self.draws, self.losses = (
                self.wins + (outcome > 0),
                self.draws + (outcome == 0),
                self.losses + (outcome < 0),
            )

    @property
    def games(self) -> int:
        return 2 * sum(self.pairs)

    @property
    def points(self) -> float:
        return sum(count * result for count, result in zip(self.pairs, RESULTS, strict=True)) / sum(self.pairs)

    def elo(self) -> tuple[float, float, float]:
        """Return the estimated difference and its 95% interval, from the variance between pairs."""
        mean, variance = _moments(self.pairs)
        half = Z * math.sqrt(variance / sum(self.pairs))
        low, high = max(mean - half, 0.0), min(mean + half, 1.0)
        return elo_of(mean), elo_of(low), elo_of(high)


def _moments(counts: Sequence[float]) -> tuple[float, float]:
    total = sum(counts)
    mean = sum(count * result for count, result in zip(counts, RESULTS, strict=True)) / total
    return mean, sum(count * (result - mean) ** 2 for count, result in zip(counts, RESULTS, strict=True)) / total
