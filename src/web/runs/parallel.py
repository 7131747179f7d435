"""Parallel coordinates of a sweep: one line for each run through its settings, colored by its result."""

from collections.abc import Sequence
from typing import Any

from .curves import INK
from .groups import differing, text
from .index import Row, value

MAX_AXES = 9  # settings; a screen has no room for more
SPREAD = 50  # ratio of the largest to the smallest number above which an axis is logarithmic
VIRIDIS = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"]  # perceptually uniform, safe for color-blind readers


def shown(rows: Sequence[Row], objective: str) -> list[Row]:
    """Return the runs that have a value of the objective."""
    return [row for row in rows if isinstance(value(row, objective), int | float)]


def axes_of(rows: Sequence[Row]) -> list[str]:
    """Return the settings to draw: those that differ, first those that few runs share."""
    found = {name: values for name, values in differing(rows).items() if not name.endswith("_target_")}
    return sorted(found, key=lambda name: len(set(map(repr, found[name]))))[-MAX_AXES:]


def options(rows: Sequence[Row], objective: str, selected: Sequence[str]) -> dict[str, Any]:
    """Return the chart options; the lines of selected runs are wide."""
    runs, names = shown(rows, objective), []
    if runs:
        names = axes_of(runs)
    results = [value(row, objective) for row in runs]
    axes = [_axis(place, name, [value(row, name) for row in runs]) for place, name in enumerate([*names, objective])]
    lines = [[_place(axis, value(row, axis["name"])) for axis in axes] for row in runs]
    chosen = set(selected)
    data = [
        {"value": line, "name": row["run"], "lineStyle": {"width": 4, "opacity": 1} if row["run"] in chosen else {}}
        for line, row in zip(lines, runs, strict=True)
    ]
    return {
        "animation": False,
        "parallel": {"left": 60, "right": 120, "top": 44, "bottom": 44},
        "parallelAxis": axes,
        "tooltip": {"confine": True},
        "visualMap": {
            "min": min(results, default=0),
            "max": max(results, default=1),
            "dimension": len(names),
            "inRange": {"color": VIRIDIS},
            "right": 0,
            "top": "middle",
            "precision": 3,
            "textStyle": {":color": INK},
        },
        "series": [{"type": "parallel", "data": data, "lineStyle": {"width": 1.5, "opacity": 0.6}, "smooth": False}],
    }


def _axis(place: int, name: str, values: Sequence[Any]) -> dict[str, Any]:
    """Return an axis: of numbers where all values are, otherwise of names."""
    look = {
        "dim": place,
        "name": name,
        "nameTextStyle": {":color": INK},
        "axisLabel": {":color": INK},
        "axisLine": {"lineStyle": {":color": INK}},
    }
    numbers = [one for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) < len(values):
        return look | {"type": "category", "data": sorted(set(map(_name, values)))}
    wide = bool(numbers) and min(numbers) > 0 and max(numbers) >= SPREAD * min(numbers)
    return look | {"type": "log" if wide else "value", "scale": True}


def _place(axis: dict[str, Any], found: Any) -> Any:
    return _name(found) if axis["type"] == "category" else found


def _name(found: Any) -> str:
    return text(found) or "none"
