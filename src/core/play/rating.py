"""Elo ratings by maximum likelihood with 95% intervals, round robins, and sequential tests of a match.

The model is Bradley and Terry's (1952): a player rated d points above another scores 1 / (1 + 10 ** (-d / 400)) points
a game on average, where a win is one point and a draw half a point.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Annotated, NamedTuple

import numpy as np

from ..errors import UserError, require
from ..ranges import Bounds, check_fields
from .agent import Agent
from .arena import Z95, Tally, evaluate, require_varied
from .game import Game

ELO = 400 / math.log(10)  # Elo points per unit of the natural logarithm of the odds
MAX_STEP = 2.0  # of an iteration, in units of log odds

Probability = Annotated[float, Bounds(gt=0, lt=0.5)]
EloDifference = Annotated[float, Bounds(ge=-2000, le=2000)]
PAIR_RESULTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # points per game of a pair
MIN_PAIRS = 16  # before a verdict: distributions fitted to a few pairs say little
MIN_COUNT = 1e-3  # count of a result that has not occurred, as in fishtest: every mean must be possible
PRIOR_COUNT = 0.2  # added to each count for an interval, one pair in total: equal pairs do not prove a variance of 0


class Points(NamedTuple):
    """The result of a match for the first of its two players."""

    scored: float  # a win is 1, a draw 0.5
    games: int


class Rating(NamedTuple):
    elo: float
    low: float  # 95% interval
    high: float


Pair = tuple[str, str]
Results = Mapping[Pair, Points]  # points of the first of a pair


def points_of(tally: Tally) -> Points:
    """Return the points of a match; aborted games do not count."""
    return Points(tally.wins + tally.draws / 2, tally.games - tally.aborted)


def ratings(results: Results, anchor: str) -> dict[str, Rating]:
    """Return the rating of every player relative to `anchor`, which is rated 0.

    One drawn game is added to every match: otherwise a player that won all its games would be rated infinite. The
    intervals follow from the Fisher information, with the variance of games without draws, so draws make them wider
    than needed; they are too narrow if a player wins or loses nearly every game. They are intervals of the difference
    from the anchor, whose own interval is empty.
    """
    players = list(dict.fromkeys(name for pair in results for name in pair))
    require(anchor in players, f"{anchor} has played no games: there are {', '.join(players) or 'none'}")
    scored, games = _matrices(players, results)
    _require_connected(players, games, players.index(anchor))
    free = [i for i, name in enumerate(players) if name != anchor]
    log_odds = np.zeros(len(players))
    for _ in range(1000):  # Newton's method; the likelihood is concave
        gradient, information = _derivatives(log_odds, scored, games)
        step = np.linalg.solve(information[np.ix_(free, free)], gradient[free])
        log_odds[free] += step * min(1.0, MAX_STEP / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    half = np.zeros(len(players))
    _, information = _derivatives(log_odds, scored, games)
    half[free] = Z95 * np.sqrt(np.diag(np.linalg.inv(information[np.ix_(free, free)])))
    rows = zip(players, (ELO * log_odds).tolist(), (ELO * half).tolist(), strict=True)
    return {name: Rating(elo, elo - width, elo + width) for name, elo, width in rows}


def rating_against(tally: Tally) -> Rating:
    """Return the rating of a player relative to the one opponent of its games."""
    return ratings({("player", "opponent"): points_of(tally)}, "opponent")["player"]


def _matrices(players: Sequence[str], results: Results) -> tuple[np.ndarray, np.ndarray]:
    """Return points and games of each player (row) against each other, with one more drawn game per match."""
    index = {name: i for i, name in enumerate(players)}
    scored, games = np.zeros((2, len(players), len(players)))
    for (one, other), points in results.items():
        i, j = index[one], index[other]
        scored[i, j] += points.scored + 0.5
        scored[j, i] += points.games - points.scored + 0.5
        games[[i, j], [j, i]] += points.games + 1
    return scored, games


def _derivatives(log_odds: np.ndarray, scored: np.ndarray, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient of the log likelihood (P,) and the Fisher information (P, P)."""
    expected = 1 / (1 + np.exp(log_odds - log_odds[:, None]))  # share of the points of the row
    weights = games * expected * (1 - expected)
    return (scored - games * expected).sum(axis=1), np.diag(weights.sum(axis=1)) - weights


def _require_connected(players: Sequence[str], games: np.ndarray, anchor: int) -> None:
    reached, added = set[int](), {anchor}
    while added:
        reached |= added
        added = {int(j) for i in added for j in np.flatnonzero(games[i])} - reached
    missing = [name for i, name in enumerate(players) if i not in reached]
    require(not missing, f"no games connect {', '.join(missing)} with {players[anchor]}: their ratings are unknown")


@dataclass(frozen=True)
class Standings:
    """The results of matches, and ratings from them relative to `anchor`."""

    matches: Mapping[Pair, Tally]  # for the first of the pair
    anchor: str

    @cached_property
    def ratings(self) -> dict[str, Rating]:
        """Return the ratings by player, the best first."""
        rated = ratings({pair: points_of(tally) for pair, tally in self.matches.items()}, self.anchor)
        return dict(sorted(rated.items(), key=lambda item: -item[1].elo))

    def against(self, player: str, opponent: str) -> Tally | None:
        """Return the results of a player against another; None if they did not meet."""
        if (player, opponent) in self.matches:
            return self.matches[player, opponent]
        swapped = self.matches.get((opponent, player))
        return None if swapped is None else swapped.swapped()

    def total(self, player: str) -> Tally:
        """Return the results of a player against all others."""
        return Tally.sum(tally for other in self.ratings if (tally := self.against(player, other)) is not None)


def require_playable(game: Game, players: Mapping[str, Agent], games: int, opening_plies: int) -> None:
    """Raise `UserError` if a round robin of these players is not possible or not a sample."""
    require(games % 2 == 0, f"games={games} must be even: each opening is played twice, with seats swapped")
    for name, agent in players.items():
        try:
            agent.check(game)
        except UserError as error:
            raise UserError(f"agents: {name} cannot play this game: {error}") from error
    for one, other in combinations(players, 2):
        try:
            require_varied(game, players[one], players[other], opening_plies, games, ("opening_plies", "games"))
        except UserError as error:
            raise UserError(f"{one} against {other}: {error}") from error


def round_robin(
    game: Game,
    players: Mapping[str, Agent],
    games: int,
    seed: int,
    opening_plies: int = 0,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> dict[Pair, Tally]:
    """Play `games` games between each two players, half of them in each seat.

    The openings depend on the seed alone, so they are the same in every match.
    """
    matches: dict[Pair, Tally] = {}
    for number, (one, other) in enumerate(combinations(players, 2)):
        # The first agent of an evaluation decides the size of its batches, from which networks gain.
        first, second = (one, other) if players[one].games_in_step >= players[other].games_in_step else (other, one)

        def advance(finished: int, before: int = number * games) -> None:
            on_progress(before + finished)

        score = evaluate(
            game, players[first], players[second], games, seed, opening_plies=opening_plies, on_progress=advance
        )
        matches[one, other] = score.total if first == one else score.total.swapped()
    return matches


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
    """The player is `elo0` above its opponent, or `elo1`: a sequential probability ratio test (Wald 1945) on pairs of
    games, as fishtest has it.

    The two games of a pair begin with the same opening, seats swapped, so their results are not independent; a pair has
    one of five results, from 0 to 2 points. The hypotheses fix only the mean of their distribution, so each is
    represented by the distribution with that mean under which the observed pairs are most likely (generalized SPRT, Van
    den Bergh 2019). With these distributions p0 and p1 and n_i pairs of result i, the log likelihood ratio is

        LLR = sum of n_i ln(p1_i / p0_i)
    """

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
        """Return the log likelihood ratio of the counts of `PAIR_RESULTS`."""
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
    """Return the log likelihood ratio of a mean of `mean1` to one of `mean0` for counts of `PAIR_RESULTS` (..., 5)."""
    counts = np.maximum(pairs, MIN_COUNT)
    ratio: np.ndarray = (counts * np.log(most_likely(counts, mean1) / most_likely(counts, mean0))).sum(axis=-1)
    return ratio


def most_likely(counts: np.ndarray, mean: float) -> np.ndarray:
    """Return the distribution with this mean under which the counts, none of them 0, are most likely (..., 5).

    For observed frequencies f_i of results r_i it is f_i / (1 + x (r_i - mean)), where x is the Lagrange multiplier for
    which its mean is the given one. The mean decreases with x, which is found by bisection.
    """
    frequencies, excess = counts / counts.sum(axis=-1, keepdims=True), np.array(PAIR_RESULTS) - mean
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

    pairs: list[int] = field(default_factory=lambda: [0] * len(PAIR_RESULTS))
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
        return sum(count * result for count, result in zip(self.pairs, PAIR_RESULTS, strict=True)) / sum(self.pairs)

    def elo(self) -> Rating:
        """Return the estimated difference and its 95% interval, from the variance between pairs.

        `PRIOR_COUNT` is added to the counts of the interval. It is infinite on a side where it includes 0 or 1 points.
        """
        counts = np.array(self.pairs) + PRIOR_COUNT
        mean = np.average(PAIR_RESULTS, weights=counts)
        variance = np.average((np.array(PAIR_RESULTS) - mean) ** 2, weights=counts)
        half = Z95 * math.sqrt(variance / counts.sum())
        low, high = max(float(mean) - half, 0.0), min(float(mean) + half, 1.0)
        return Rating(elo_of(self.points), elo_of(low), elo_of(high))
