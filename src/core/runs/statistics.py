"""Statistics over the runs of a setting, as in rliable (Agarwal et al. 2021).

The scores of a setting are a list of arrays, one for each environment with a score for each run. Intervals are
percentiles of a stratified bootstrap: runs are drawn with replacement within each environment. With fewer than five
runs they are too narrow, because a bootstrap can only repeat what it has seen.
"""

from collections.abc import Callable, Sequence

import numpy as np

Scores = Sequence[np.ndarray]  # one array for each environment, (runs,) or (runs, points of a curve)
Statistic = Callable[[list[np.ndarray]], np.ndarray]  # of arrays (runs, samples...), to (samples...)
Interval = tuple[float, float]

LEVEL = (2.5, 97.5)  # percentiles of a 95% interval
SAMPLES = 10_000  # of a bootstrap
CURVE_SAMPLES = 1000  # for each point of a curve
MOST_POINTS = 500  # of a curve


def mean(scores: Scores) -> np.ndarray:
    """Return the mean over environments of the mean over runs."""
    return np.asarray(np.mean([one.mean(axis=0) for one in scores], axis=0))


def iqm(scores: Scores) -> np.ndarray:
    """Return the interquartile mean: the mean without the lowest and the highest quarter of all runs, rounded down."""
    ordered = np.sort(np.concatenate(list(scores)), axis=0)
    cut = len(ordered) // 4
    return np.asarray(ordered[cut : len(ordered) - cut].mean(axis=0))


def improvement(scores: Scores, others: Scores) -> float:
    """Return the probability that a run scores higher than another one of `others`, a tie being half of one.

    It is the mean over environments, which are the same in both.
    """
    return float(np.mean([_wins(one[:, None], other[:, None])[0] for one, other in zip(scores, others, strict=True)]))


def interval(scores: Scores, statistic: Statistic, samples: int = SAMPLES, seed: int = 0) -> np.ndarray:
    """Return both ends of the 95% interval of a statistic, (2,) or (2, points of a curve)."""
    rng = np.random.default_rng(seed)
    return np.percentile(statistic([_resample(one, samples, rng) for one in scores]), LEVEL, axis=0)


def improvement_interval(scores: Scores, others: Scores, samples: int = SAMPLES, seed: int = 0) -> Interval:
    """Return the 95% interval of `improvement`; the runs of both are drawn independently."""
    rng = np.random.default_rng(seed)
    pairs = [
        _wins(_resample(one, samples, rng), _resample(other, samples, rng))
        for one, other in zip(scores, others, strict=True)
    ]
    low, high = np.percentile(np.mean(pairs, axis=0), LEVEL)
    return float(low), float(high)


def align(curves: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps (P,) that all curves cover, and the values (runs, P) at them, interpolated linearly.

    A curve is its steps, in ascending order, and its values. Of more than `MOST_POINTS` steps some are left out.
    """
    first, last = max(steps[0] for steps, _ in curves), min(steps[-1] for steps, _ in curves)
    grid = np.unique(np.concatenate([steps for steps, _ in curves]))
    grid = grid[(grid >= first) & (grid <= last)]
    if len(grid) > MOST_POINTS:
        grid = grid[np.linspace(0, len(grid) - 1, MOST_POINTS).round().astype(int)]
    return grid, np.array([np.interp(grid, steps, values) for steps, values in curves])


def _resample(values: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Draw as many runs as there are, with replacement; return them as (runs, samples, ...)."""
    return values[rng.integers(len(values), size=(len(values), samples))]


def _wins(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the share of pairs of runs in which the first is higher, of (runs, samples) and (others, samples).

    It is the Mann-Whitney U statistic divided by the number of pairs.
    """
    wins = np.zeros(values.shape[1])
    for one in values:
        wins += ((one > others) + 0.5 * (one == others)).mean(axis=0)
    return wins / len(values)
