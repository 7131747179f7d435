"""Ratings from a round robin: Elo by maximum likelihood, with bootstrap intervals.

The model is Bradley and Terry's (1952): a player rated d points above another scores 1 / (1 + 10 ** (-d / 400)) a game.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

# (first, second) -> points of the first, a row for each opening: one game in each seat, 1 won, 0.5 drawn, 0 lost
Results = Mapping[tuple[str, str], np.ndarray]  # of (openings, 2)


class Rating(NamedTuple):
    elo: float
    low: float  # the 95% interval
    high: float


def ratings(results: Results, anchor: str, resamples: int = 1000, seed: int = 0) -> dict[str, Rating]:
    """Return the rating of every player relative to `anchor`, with bootstrap intervals over openings."""
    players, rng = list(dict.fromkeys(name for pair in results for name in pair)), np.random.default_rng(seed)
    best = fit(players, results, anchor)
    drawn = [fit(players, _resampled(results, rng), anchor) for _ in range(resamples)]
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return {name: Rating(*row) for name, *row in zip(players, best, low, high, strict=True)}


def fit(players: Sequence[str], results: Results, anchor: str) -> np.ndarray:
    """(players,) Elo of the largest likelihood, by minorisation and maximisation (Hunter 2004).

    Every pairing counts one game more, drawn, or who won everything would be rated infinite.
    """
    index = {name: i for i, name in enumerate(players)}
    points, games = np.zeros(len(players)), np.zeros((len(players), len(players)))
    for (one, other), scored in results.items():
        i, j = index[one], index[other]
        points[i] += scored.sum() + 0.5
        points[j] += scored.size - scored.sum() + 0.5
        games[i, j] += scored.size + 1
        games[j, i] += scored.size + 1
    strength = np.ones(len(players))
    for _ in range(10_000):
        better = points / (games / (strength[:, None] + strength)).sum(axis=1)
        better /= better[index[anchor]]
        settled = np.abs(np.log(better / strength)).max() < 1e-7
        strength = better
        if settled:
            break
    return 400 * np.log10(strength)


def _resampled(results: Results, rng: np.random.Generator) -> dict[tuple[str, str], np.ndarray]:
    return {pair: scored[rng.integers(len(scored), size=len(scored))] for pair, scored in results.items()}
