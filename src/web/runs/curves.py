"""Learning curves as options of an ECharts chart.

Keys of options that start with a colon are JavaScript: names from runs, which are untrusted, are only ever values.
"""

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from ...core.runs.metrics import CURVES, METRICS
from .. import style
from ..files import Metrics

# Those that contrast with both a light and a dark page come first.
COLORS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.GREY, style.ORANGE, style.SKY)
STROKES = ("solid", "dashed", "dotted")  # used after all colors
MAX_POINTS = 20_000  # of a chart; longer curves are subsampled evenly
MIN_POINTS = 200  # of a curve
AXES = {"step": "steps", "time/seconds": "seconds of training"}
PREFERRED = (*CURVES, "losses/loss", "train/episode_return", "losses/entropy")
SHOWN_FIRST = 4  # charts
HIDDEN = ("step", "")
SHORT = """v => { const [unit, sign] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([u]) => Math.abs(v) >= u) ?? [1, ''];
  return +(v / unit).toPrecision(6) + sign }"""  # 200k for 200000
INK = "getComputedStyle(document.body).getPropertyValue('--ink')"  # of the theme
QUADRILATERAL = """(params, api) => ({type: 'polygon', style: {fill: api.visual('color'), opacity: .18}, silent: true,
  shape: {points: [[0, 1], [3, 4], [3, 5], [0, 2]].map(([x, y]) => api.coord([api.value(x), api.value(y)]))}})"""

Points = list[tuple[float, float]]


class Curve(NamedTuple):
    """One line of a chart. `raw` is the line before smoothing; `whiskers` and `band` are x, low and high.

    The band is nan at steps of fewer than two runs.
    """

    label: str
    points: Points
    raw: Points = []
    whiskers: list[tuple[float, float, float]] = []
    band: list[tuple[float, float, float]] = []


class Scale(NamedTuple):
    """How curves are drawn."""

    axis: str = "step"
    smooth: float = 0.0
    log_x: bool = False
    log_y: bool = False


def metrics_of(runs: Mapping[str, Metrics]) -> list[str]:
    """Return the names of all metrics logged by any of the runs."""
    names = dict.fromkeys(name for metrics in runs.values() for name in metrics.columns if name not in HIDDEN)
    return sorted(names)


def default_metrics(runs: Mapping[str, Metrics]) -> tuple[str, ...]:
    """Return the metrics shown first: those that most comparisons need, or else the first one."""
    names = metrics_of(runs)
    return tuple(name for name in PREFERRED if name in names)[:SHOWN_FIRST] or tuple(names[:1])


def meaning(metric: str) -> str:
    return next((words for pattern, words in METRICS.items() if fnmatchcase(metric, pattern)), "")


def labels(changes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return short labels: names without their common prefix, and overrides not shared by all runs."""
    names = list(changes)
    shared = os.path.commonpath(names) if len(names) > 1 else ""
    common = set.intersection(*(set(words) for words in changes.values())) if changes else set()
    found = {}
    for name, words in changes.items():
        own = " ".join(word for word in words if word not in common)
        short = name.removeprefix(shared).lstrip("/") or name
        found[name] = f"{short} ({own})" if own and len(names) > 1 else short
    return found


def smoothed(points: Points, weight: float) -> Points:
    """Return the exponential moving average of TensorBoard and wandb, without its bias towards 0 at the start.

    A constant curve is left as it is: rounding would make it wave.
    """
    if weight <= 0 or len({y for _, y in points}) <= 1:
        return points
    mean, missing, found = 0.0, 1.0, []
    for x, y in points:
        mean, missing = mean * weight + (1 - weight) * y, missing * weight
        found.append((x, mean / (1 - missing)))
    return found


def thinned(points: Sequence[Any], most: int) -> list[Any]:
    every = -(-len(points) // most)
    return list(points) if every <= 1 else [*points[: len(points) - 1 : every], points[-1]]


def curves_of(runs: Mapping[str, Metrics], metric: str, scale: Scale) -> list[Curve]:
    """Return the curve of each run; the keys of `runs` are labels."""
    most, found = points_per_curve(len(runs)), []
    for label, metrics in runs.items():
        points = drawable(metrics.points(scale.axis, metric), scale)
        low = dict(metrics.points(scale.axis, f"{metric}_low"))
        high = dict(metrics.points(scale.axis, f"{metric}_high"))
        whiskers = [(x, y, high[x]) for x, y in drawable(list(low.items()), scale) if x in high]
        raw = thinned(points, most) if scale.smooth else []
        found.append(Curve(label, thinned(smoothed(points, scale.smooth), most), raw, thinned(whiskers, most)))
    return found


def points_per_curve(curves: int) -> int:
    return max(MAX_POINTS // max(curves, 1), MIN_POINTS)


def drawable(points: Points, scale: Scale) -> Points:
    """Return the points that a logarithmic axis can show."""
    return [(x, y) for x, y in points if (x > 0 or not scale.log_x) and (y > 0 or not scale.log_y)]


def left_out(runs: Mapping[str, Metrics], metric: str, scale: Scale) -> int:
    """Return the number of points that logarithmic axes cannot show."""
    every = [metrics.points(scale.axis, metric) for metrics in runs.values()]
    return sum(len(points) - len(drawable(points, scale)) for points in every)


# The 97.5% quantile of Student's t with 1, 2, ... degrees of freedom; beyond them that of the normal distribution.
T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
BANDS = {"interval": "95% interval of the mean", "range": "lowest to highest run", "none": "no band"}


def averaged(label: str, runs: Sequence[Metrics], metric: str, scale: Scale, band: str, most: int) -> Curve:
    """Return the mean of several runs and its band.

    Runs are interpolated to the steps of all of them, each within its own range; the band needs two runs.
    """
    raw = [dict(drawable(metrics.points(scale.axis, metric), scale)) for metrics in runs]
    each = [smoothed(sorted(points.items()), scale.smooth) for points in raw if points]
    if not each:
        return Curve(label, [])
    steps = np.array(thinned(sorted({x for points in each for x, _ in points}), most))
    means, low, high = _statistics(steps, each, band)
    line = list(zip(steps.tolist(), means.tolist(), strict=True))
    floor = means.min() if scale.log_y else -np.inf  # a logarithmic axis cannot show an end at or below 0
    sides = list(zip(steps.tolist(), np.maximum(low, floor).tolist(), high.tolist(), strict=True))
    before = [sorted(points.items()) for points in raw if points]
    faint = _statistics(steps, before, "none")[0] if scale.smooth else ()
    return Curve(
        label,
        line,
        list(zip(steps.tolist(), map(float, faint), strict=False)),
        band=sides if np.isfinite(low).any() else [],
    )


def _statistics(steps: np.ndarray, each: Sequence[Points], band: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean over the runs at each step, and the low and high end of the band, nan where there is none."""
    parts = [np.array(points).T for points in each]
    grid = np.stack([np.interp(steps, x, y, left=np.nan, right=np.nan) for x, y in parts])
    count = np.sum(~np.isnan(grid), axis=0)
    means = np.nansum(grid, axis=0) / count
    nothing = np.full(len(steps), np.nan)
    if band == "none" or not (count > 1).any():
        return means, nothing, nothing
    if band == "range":
        ends = np.nanmin(grid, axis=0), np.nanmax(grid, axis=0)
    else:
        spread = np.sqrt(np.nansum((grid - means) ** 2, axis=0) / np.maximum(count - 1, 1))
        quantile = np.array([1.96, *T_975])[np.where(count - 1 <= len(T_975), np.maximum(count - 1, 1), 0)]
        half = quantile * spread / np.sqrt(count)
        ends = means - half, means + half
    return means, np.where(count > 1, ends[0], np.nan), np.where(count > 1, ends[1], np.nan)


def options(lines: Sequence[Curve], scale: Scale) -> dict[str, Any]:
    """Return the chart options."""
    series = [part for number, line in enumerate(lines) for part in _series(line, *look(number), scale)]
    return {
        "animation": False,
        "textStyle": {":color": INK},
        "grid": {"left": 12, "right": 24, "top": 16, "bottom": 62, "containLabel": True},
        "legend": {
            "bottom": 0,
            "type": "scroll",
            "textStyle": {":color": INK},
            ":pageTextStyle": f"({{color: {INK}}})",
            "data": [line.label for line in lines],
        },
        "tooltip": {
            "trigger": "axis",
            "confine": True,
            ":valueFormatter": "v => v == null ? '-' : Number(v).toPrecision(4)",
        },
        "xAxis": {"name": AXES[scale.axis], "nameLocation": "middle", "nameGap": 26} | _axis(scale.log_x, SHORT),
        "yAxis": _axis(scale.log_y, "v => +v.toPrecision(4)"),
        "series": series,
    }


def look(number: int) -> tuple[str, str]:
    """Return the color and the stroke of a curve by its place in the comparison."""
    return COLORS[number % len(COLORS)], STROKES[number // len(COLORS) % len(STROKES)]


def _axis(logarithmic: bool, formatter: str) -> dict[str, Any]:
    return {
        "type": "log" if logarithmic else "value",
        "splitLine": {"lineStyle": {"color": style.GREY, "opacity": 0.2}},
        "axisLabel": {":color": INK, "hideOverlap": True, ":formatter": formatter},
        "nameTextStyle": {":color": INK},  # not covered by textStyle
        "scale": True,
    }


def _series(line: Curve, color: str, stroke: str, scale: Scale) -> list[dict[str, Any]]:
    found = [_line(line.label, line.points, color, {"width": 2, "type": stroke})]
    if line.raw:
        faint = _line(line.label, line.raw, color, {"width": 1, "opacity": 0.3})
        found.append(faint | {"showSymbol": False, "tooltip": {"show": False}, "z": 1})
    if line.band:
        found.append(_band(line, color))
    if line.whiskers and not scale.smooth:  # they belong to the values that were measured
        found.append(_whiskers(line, color))
    return found


def _line(label: str, points: Sequence[Any], color: str, look: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": label,
        "type": "line",
        "data": points,
        "showSymbol": len(points) < 60,
        "symbolSize": 6,
        "color": color,
        "lineStyle": look,
    }


def _band(line: Curve, color: str) -> dict[str, Any]:
    """Return the area between the ends of the band, as one quadrilateral between each two steps that have one."""
    pairs = zip(line.band, line.band[1:], strict=False)
    return {
        "name": line.label,
        "type": "custom",
        "data": [[*left, *right] for left, right in pairs if np.isfinite((*left, *right)).all()],
        ":renderItem": QUADRILATERAL,
        "encode": {"x": [0, 3], "y": [1, 2, 4, 5]},
        "color": color,
        "clip": True,
        "silent": True,
        "tooltip": {"show": False},
        "z": 1,
    }


def _whiskers(line: Curve, color: str) -> dict[str, Any]:
    """Return the 95% interval at each point, where logged, as a series of vertical lines."""
    ends = [end for x, low, high in line.whiskers for end in ([x, low], [x, high], [x, None])]
    return _line(line.label, ends, color, {"width": 1.5}) | {
        "showSymbol": True,
        "symbol": "rect",
        "symbolSize": [12, 2],
        "tooltip": {"show": False},
        "connectNulls": False,
    }
