"""Learning curves of runs, and means over groups of runs, from their metrics."""

import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..metrics import CURVES, METRICS
from .files import Metrics

MAX_POINTS = 8_000  # of a chart; longer curves are subsampled evenly
MIN_POINTS, MOST_POINTS = 120, 1000  # of a curve
MIN_VALUES = 300  # of a column that are read of each run
MAX_WHISKERS = 12  # runs that have the intervals of their values in a chart, where more would cover each other
AXES = {"step": "steps", "time/seconds": "seconds of training"}
BANDS = {"interval": "95% interval of the mean", "range": "lowest to highest run", "none": "no band"}
PREFERRED = (*CURVES, "losses/loss", "train/episode_return", "losses/entropy")
DEFAULT_CHARTS = 4  # at most
# The 97.5% quantile of Student's t with 1, 2, ... degrees of freedom; beyond them the normal distribution's.
T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Curve(NamedTuple):
    """One line of a chart, in rows of x and y; those of `whiskers` and `band` are x, low and high.

    `raw` is the line before smoothing. The band is nan at steps of fewer than two runs.
    """

    label: str
    points: list[list[float]]
    raw: list[list[float]] = []
    whiskers: list[list[float]] = []
    band: list[list[float]] = []


class Scale(NamedTuple):
    axis: str = "step"
    smooth: float = 0.0
    log_x: bool = False
    log_y: bool = False

    def drawable(self, points: np.ndarray) -> np.ndarray:
        """Return the points that a logarithmic axis can show."""
        return points[(points > np.where([self.log_x, self.log_y], 0, -np.inf)).all(axis=1)]


def columns_of(metrics: Iterable[str]) -> list[str]:
    """Return the columns that the charts of these metrics need; of the metrics shown first if there are none."""
    return ["step", "time/seconds", *(m + end for m in list(metrics) or PREFERRED for end in ("", "_low", "_high"))]


def metric_names(runs: Mapping[str, Metrics]) -> list[str]:
    return sorted({name for metrics in runs.values() for name in metrics.names} - {"step", ""})


def default_metrics(runs: Mapping[str, Metrics]) -> tuple[str, ...]:
    """Return the metrics shown first: those that most comparisons need, or else the first one."""
    names = metric_names(runs)
    return tuple(name for name in PREFERRED if name in names)[:DEFAULT_CHARTS] or tuple(names[:1])


def meaning(metric: str) -> str:
    return next((words for pattern, words in METRICS.items() if fnmatchcase(metric, pattern)), "")


def short_labels(changes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the names of runs without their common prefix, with the overrides that not all runs share."""
    if len(changes) < 2:
        return {name: name for name in changes}
    prefix = os.path.commonpath(list(changes))
    common = set.intersection(*(set(words) for words in changes.values()))
    labels = {}
    for name, words in changes.items():
        short = name.removeprefix(prefix).lstrip("/") or name
        own = " ".join(word for word in words if word not in common)
        labels[name] = f"{short} ({own})" if own else short
    return labels


def smoothed(points: np.ndarray, weight: float) -> np.ndarray:
    """Return the exponential moving average of TensorBoard and wandb, without its bias toward 0 at the start.

    A constant curve is left as it is: rounding would make it wave.
    """
    if weight <= 0 or len(np.unique(points[:, 1])) <= 1:
        return points
    means = np.array(list(accumulate(points[:, 1], lambda mean, y: mean * weight + (1 - weight) * y, initial=0.0))[1:])
    return np.column_stack([points[:, 0], means / (1 - weight ** np.arange(1, len(points) + 1))])


def subsampled(points: np.ndarray, most: int) -> list[Any]:
    """Return evenly spaced points, about `most`, and the last one."""
    every = max(-(-len(points) // most), 1)
    return [*points[: max(len(points) - 1, 0) : every].tolist(), *points[-1:].tolist()]


def points_per_curve(curves: int) -> int:
    return min(max(MAX_POINTS // max(curves, 1), MIN_POINTS), MOST_POINTS)


def values_per_run(runs: int) -> int:
    """Return how many numbers of a column are read for a comparison: more than are drawn, as means need them."""
    return max(points_per_curve(runs), MIN_VALUES)


def run_curves(runs: Mapping[str, Metrics], metric: str, scale: Scale) -> list[Curve]:
    """Return the curve of each run; the keys of `runs` are labels."""
    most, curves = points_per_curve(len(runs)), []
    for label, metrics in runs.items():
        points = scale.drawable(metrics.points(scale.axis, metric))
        low = dict(scale.drawable(metrics.points(scale.axis, f"{metric}_low")).tolist())
        high = dict(metrics.points(scale.axis, f"{metric}_high").tolist())
        whiskers = np.array([(x, y, high[x]) for x, y in low.items() if x in high]).reshape(-1, 3)
        raw = subsampled(points, most) if scale.smooth else []
        line = subsampled(smoothed(points, scale.smooth), most)
        curves.append(Curve(label, line, raw, subsampled(whiskers, most) if len(runs) <= MAX_WHISKERS else []))
    return curves


def mean_curve(label: str, runs: Sequence[Metrics], metric: str, scale: Scale, band: str, most: int) -> Curve:
    """Return the mean of several runs and its band, at about `most` steps.

    Runs are interpolated to the steps of all of them, each within its own range; the band needs two runs.
    """
    logged = [scale.drawable(metrics.points(scale.axis, metric)) for metrics in runs]
    # The last value of a step counts; np.unique sorts the steps, and the reversed rows make the last ones the first.
    raw = [points[::-1][np.unique(points[::-1, 0], return_index=True)[1]] for points in logged if len(points)]
    if not raw:
        return Curve(label, [])
    lines = [smoothed(points, scale.smooth) for points in raw]
    steps = np.array(subsampled(np.unique(np.concatenate(lines)[:, 0]), most))
    means, low, high = _statistics(steps, lines, band)
    floor = means.min() if scale.log_y else -np.inf  # a logarithmic axis cannot show an end at or below 0
    ends = np.column_stack([steps, np.maximum(low, floor), high]).tolist()
    raw_means = np.column_stack([steps, _statistics(steps, raw, "none")[0]]).tolist() if scale.smooth else []
    points = np.column_stack([steps, means]).tolist()
    return Curve(label, points, raw_means, band=ends if np.isfinite(low).any() else [])


def _statistics(steps: np.ndarray, lines: Sequence[np.ndarray], band: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean over the runs at each step, and the low and high end of the band, nan where there is none."""
    # (runs, steps)
    grid = np.stack([np.interp(steps, one[:, 0], one[:, 1], left=np.nan, right=np.nan) for one in lines])
    count = np.sum(~np.isnan(grid), axis=0)
    means = np.nansum(grid, axis=0) / count
    if band == "none" or not (count > 1).any():
        nothing = np.full(len(steps), np.nan)
        return means, nothing, nothing
    if band == "range":
        low, high = np.nanmin(grid, axis=0), np.nanmax(grid, axis=0)
    else:
        deviation = np.sqrt(np.nansum((grid - means) ** 2, axis=0) / np.maximum(count - 1, 1))
        quantile = np.array([1.96, *T_975])[np.where(count - 1 <= len(T_975), np.maximum(count - 1, 1), 0)]
        half = quantile * deviation / np.sqrt(count)
        low, high = means - half, means + half
    return means, np.where(count > 1, low, np.nan), np.where(count > 1, high, np.nan)
