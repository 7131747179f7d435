"""Learning curves as options of an ECharts chart."""

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ...core.runs.metrics import CURVES, METRICS
from .. import style
from ..files import Metrics

COLORS = (style.SKY, style.VERMILLION, style.GREEN, style.ORANGE, style.PURPLE, style.BLUE, style.GREY)
STROKES = ("solid", "dashed", "dotted")  # used after all colors
MAX_POINTS = 4000  # per curve; longer ones are subsampled evenly
AXES = {"step": "steps", "time/seconds": "seconds of training"}
PREFERRED = (*CURVES, "losses/loss")
HIDDEN = ("step", "")
SHORT = """v => { const [unit, sign] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([u]) => Math.abs(v) >= u) ?? [1, ''];
  return +(v / unit).toPrecision(6) + sign }"""  # 200k for 200000


def metrics_of(runs: Mapping[str, Metrics]) -> list[str]:
    """Return the names of all metrics logged by any of the runs."""
    names = dict.fromkeys(name for metrics in runs.values() for name in metrics.columns if name not in HIDDEN)
    return sorted(names)


def default_metric(runs: Mapping[str, Metrics]) -> str | None:
    names = metrics_of(runs)
    return next((name for name in (*PREFERRED, *names) if name in names), None)


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


def thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    every = -(-len(points) // MAX_POINTS)
    return points if every <= 1 else [*points[::every], points[-1]]


def options(runs: Mapping[str, Metrics], metric: str, axis: str, logarithmic: bool) -> dict[str, Any]:
    """Return the chart options; the keys of `runs` are labels."""
    series = []
    for number, (label, metrics) in enumerate(runs.items()):
        color = COLORS[number % len(COLORS)]
        stroke = STROKES[number // len(COLORS) % len(STROKES)]
        points = thinned(metrics.points(axis, metric))
        series.append(_curve(label, points, color, stroke))
        series.append(_whiskers(label, metrics, metric, axis, color))
    axis_style = {
        "splitLine": {"lineStyle": {"color": style.GREY, "opacity": 0.2}},
        "axisLabel": {"color": style.GREY},  # not covered by textStyle
        "nameTextStyle": {"color": style.GREY},
        "scale": True,
    }
    return {
        "animation": False,
        "textStyle": {"color": style.GREY},
        "grid": {"left": 12, "right": 44, "top": 24, "bottom": 70, "containLabel": True},
        "legend": {"bottom": 0, "type": "scroll", "textStyle": {"color": style.GREY}, "data": list(runs)},
        "tooltip": {"trigger": "axis", ":valueFormatter": "v => v == null ? '-' : Number(v).toPrecision(4)"},
        "toolbox": {
            "right": 8,
            "top": -8,
            "iconStyle": {"borderColor": style.GREY},
            "feature": {"dataZoom": {"yAxisIndex": "none"}, "restore": {}},
        },
        "xAxis": {"type": "value", "name": AXES[axis], "nameLocation": "middle", "nameGap": 28}
        | axis_style
        | {"axisLabel": {"color": style.GREY, "hideOverlap": True, ":formatter": SHORT}},
        "yAxis": {"type": "log" if logarithmic else "value", **axis_style},
        "series": series,
    }


def _curve(label: str, points: list[tuple[float, float]], color: str, stroke: str) -> dict[str, Any]:
    return {
        "name": label,
        "type": "line",
        "data": points,
        "showSymbol": len(points) < 60,
        "symbolSize": 6,
        "sampling": "lttb",
        "color": color,
        "lineStyle": {"width": 2, "type": stroke},
    }


def _whiskers(label: str, metrics: Metrics, metric: str, axis: str, color: str) -> dict[str, Any]:
    """Return the 95% interval at each point, where logged, as a series of vertical lines."""
    low = dict(metrics.points(axis, f"{metric}_low"))
    high = dict(metrics.points(axis, f"{metric}_high"))
    data = [end for x in low if x in high for end in ([x, low[x]], [x, high[x]], [x, None])]
    return {
        "name": label,
        "type": "line",
        "data": data,
        "symbol": "rect",
        "symbolSize": [12, 2],
        "color": color,
        "lineStyle": {"width": 1.5},
        "tooltip": {"show": False},
        "connectNulls": False,
    }
