"""Elo ratings by maximum likelihood, with 95% intervals.

The model is Bradley and Terry's (1952): a player rated d points above another scores 1 / (1 + 10 ** (-d / 400)) points
a game on average, where a win is one point and a draw half a point.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import require
from .arena import Tally

ELO = 400 / math.log(10)  # Elo points per unit of the natural logarithm of the odds
Z = 1.959963984540054  # of a 95% interval
MAX_STEP = 2.0  # of an iteration, in units of log odds


class Points(NamedTuple):
    """The result of a match for the first of its two players."""

    scored: float  # a win is 1, a draw 0.5
    games: int


class Rating(NamedTuple):
    elo: float
    low: float  # 95% interval
    high: float


Results = Mapping[tuple[str, str], Points]  # (first, second) -> points of the first


def points_of(tally: Tally) -> Points:
    """Return the points of a match; aborted games do not count."""
    return Points(tally.wins + tally.draws / 2, tally.games - tally.aborted)


def ratings(results: Results, anchor: str) -> dict[str, Rating]:
    """Return the rating of every player relative to `anchor`, which is rated 0.

    One drawn game is added to every match: otherwise a player that won all its games would be rated infinite. The
    intervals follow from the Fisher information, with the variance of games without draws, so draws make them wider
    than needed; they are too narrow if a player wins or loses nearly every game. They are intervals of the difference
    from the anchor, so that of the anchor is empty.
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
    half[free] = Z * np.sqrt(np.diag(np.linalg.inv(information[np.ix_(free, free)])))
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
