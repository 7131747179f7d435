"""Charts of runs: learning curves, and parallel coordinates of a sweep, as options of ECharts and in cards.

Keys of options that start with a colon are JavaScript: names from runs, which are untrusted, are only ever values.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from nicegui import ui

from ...core.runs.index import curves
from ...core.runs.index.curves import Curve, Scale
from ...core.runs.index.files import Metrics
from ...core.runs.index.query import differing_settings
from ...core.runs.index.rows import Row, format_value, value
from .. import shell

# The first ones contrast with both a light and a dark page.
COLORS = (shell.BLUE, shell.VERMILLION, shell.GREEN, shell.PURPLE, shell.GRAY, shell.ORANGE, shell.SKY)
STROKES = ("solid", "dashed", "dotted")  # used after all colors
VIRIDIS = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"]  # perceptually uniform, safe for color-blind readers
MANY = 20  # lines of a chart
MAX_AXES, AXIS_ROOM = 6, 100  # settings of parallel coordinates, and pixels for the words of each
MAX_TICKS = 8  # different numbers of a setting that are each a tick of its axis
LOG_RATIO = 50  # of the largest to the smallest number, from which an axis of parallel coordinates is logarithmic
TEXT_COLOR = "getComputedStyle(document.body).getPropertyValue('--ink')"  # of the theme
SHORT_NUMBER = """v => { const [unit, sign] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([u]) => Math.abs(v) >= u) ??
  [1, '']; return +(v / unit).toPrecision(6) + sign }"""  # 200k for 200000
QUADRILATERAL = """(params, api) => ({type: 'polygon', style: {fill: api.visual('color'), opacity: .18}, silent: true,
  shape: {points: [[0, 1], [3, 4], [3, 5], [0, 2]].map(([x, y]) => api.coord([api.value(x), api.value(y)]))}})"""
# The background is the card's, so that the image can be read by itself.
_DOWNLOAD = """() => { const card = document.getElementById('c%d'), link = document.createElement('a');
  const color = getComputedStyle(document.body).getPropertyValue('--card').trim();
  link.href = getElement(%d).chart.getDataURL({pixelRatio: 2, backgroundColor: color});
  link.download = card.dataset.file + '.png'; link.click(); }"""


def line_style(number: int) -> tuple[str, str]:
    """Return the color and the stroke of a curve by its place in the comparison."""
    return COLORS[number % len(COLORS)], STROKES[number // len(COLORS) % len(STROKES)]


def curve_options(lines: Sequence[Curve], scale: Scale) -> dict[str, Any]:
    width = 2 if len(lines) <= MANY else 1  # many thick lines hide each other, and take longer to draw
    return {
        "animation": False,
        "textStyle": {":color": TEXT_COLOR},
        "grid": {"left": 12, "right": 24, "top": 16, "bottom": 62 if len(lines) > 1 else 32, "containLabel": True},
        "legend": {
            "show": len(lines) > 1,
            "bottom": 0,
            "type": "scroll",
            "textStyle": {":color": TEXT_COLOR},
            ":pageTextStyle": f"({{color: {TEXT_COLOR}}})",
            "data": [line.label for line in lines],
        },
        "tooltip": {
            "trigger": "axis",
            "confine": True,
            ":valueFormatter": "v => v == null ? '-' : Number(v).toPrecision(4)",
        },
        "xAxis": _axis(scale.log_x, SHORT_NUMBER)
        | {"name": curves.AXES[scale.axis], "nameLocation": "middle", "nameGap": 26},
        "yAxis": _axis(scale.log_y, "v => +v.toPrecision(4)"),
        "series": [part for number, line in enumerate(lines) for part in _series(line, number, width, scale)],
    }


def _axis(logarithmic: bool, formatter: str) -> dict[str, Any]:
    return {
        "type": "log" if logarithmic else "value",
        "splitLine": {"lineStyle": {"color": shell.GRAY, "opacity": 0.2}},
        "axisLabel": {":color": TEXT_COLOR, "hideOverlap": True, ":formatter": formatter},
        "nameTextStyle": {":color": TEXT_COLOR},  # not covered by textStyle
        "scale": True,
    }


def _series(curve: Curve, number: int, width: float, scale: Scale) -> list[dict[str, Any]]:
    """Return the line of a curve and, where it has them, its raw line, its band and its whiskers."""
    color, stroke = line_style(number)
    hidden = {"tooltip": {"show": False}}

    def line(points: Sequence[Any], look: dict[str, Any]) -> dict[str, Any]:
        few = len(points) < 60
        common = {"name": curve.label, "type": "line", "color": color, "symbolSize": 6, "showSymbol": few}
        return common | {"data": points, "lineStyle": look}

    series = [line(curve.points, {"width": width, "type": stroke})]
    if curve.raw:
        series.append(line(curve.raw, {"width": 1, "opacity": 0.3}) | hidden | {"showSymbol": False, "z": 1})
    if curve.band:  # one quadrilateral between each two steps that have a band
        pairs = zip(curve.band, curve.band[1:], strict=False)
        band = {
            "name": curve.label,
            "type": "custom",
            "data": [[*left, *right] for left, right in pairs if np.isfinite((*left, *right)).all()],
            ":renderItem": QUADRILATERAL,
            "encode": {"x": [0, 3], "y": [1, 2, 4, 5]},
            "color": color,
            "clip": True,
            "silent": True,
            "z": 1,
        }
        series.append(band | hidden)
    if curve.whiskers and not scale.smooth:  # the 95% interval of each measured value, as a vertical line
        ends = [end for x, low, high in curve.whiskers for end in ([x, low], [x, high], [x, None])]
        look = {"showSymbol": True, "symbol": "rect", "symbolSize": [12, 2], "connectNulls": False}
        series.append(line(ends, {"width": 1.5}) | hidden | look)
    return series


def as_script(points: Sequence[Sequence[float | None]]) -> str:
    """Return points as JavaScript of 9 digits. Frozen, they are drawn directly, and not through a proxy for each."""
    texts = (",".join("null" if number is None else f"{number:.9g}" for number in point) for point in points)
    return f"Object.freeze([{','.join(f'[{text}]' for text in texts)}])"


def parallel_options(rows: Sequence[Row], objective: str, selected: Collection[str]) -> dict[str, Any]:
    """Return the chart options of parallel coordinates: a line for each run through its settings, colored by result.

    Runs without a value of the objective are left out. The axes are the settings that differ, first those with few
    values; of settings that only change together there is one. The lines of selected runs are wide.
    """
    runs = [row for row in rows if isinstance(value(row, objective), int | float)]
    settings: dict[tuple[int, ...], tuple[str, list[Any]]] = {}  # by which runs have the same value
    for name, found in differing_settings(runs).items():
        keys = list(map(repr, found))
        if not name.endswith("_target_"):
            settings.setdefault(tuple(map(keys.index, keys)), (name, found))
    chosen = sorted(settings.values(), key=lambda one: len(set(map(repr, one[1]))))[-MAX_AXES:]
    results = [value(row, objective) for row in runs]
    ends = [name.rpartition(".")[2] for name, _ in chosen]
    axes, columns, color = [], [], {":color": TEXT_COLOR}
    for place, (name, values) in enumerate([*chosen, (objective, results)]):
        short = name if ends.count(name.rpartition(".")[2]) > 1 else name.rpartition(".")[2]
        numeric = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
        if numeric and (len(set(values)) > MAX_TICKS or name == objective):
            wide = bool(values) and min(values) > 0 and max(values) >= LOG_RATIO * min(values)
            kind: dict[str, Any] = {"type": "log" if wide else "value", "scale": True}
            label: dict[str, Any] = {":formatter": SHORT_NUMBER}
        else:
            ordered = sorted(set(values)) if numeric else sorted({format_value(one) or "none" for one in values})
            values = [format_value(one) or "none" for one in values]
            kind = {"type": "category", "data": [format_value(one) for one in ordered]}
            label = {"width": AXIS_ROOM, "overflow": "truncate", "interval": 0 if len(ordered) <= 12 else "auto"}
        look = {"fontSize": 13, "fontWeight": "bold", "width": AXIS_ROOM, "overflow": "truncate"}
        texts = {"nameTextStyle": color | look, "axisLabel": color | label, "axisLine": {"lineStyle": color}}
        axes.append({"dim": place, "name": short, "nameGap": 18} | texts | kind)
        columns.append(values)
    opacity = max(0.2, min(0.8, 30 / max(len(runs), 1)))  # many lines stay readable where they cross
    data = [
        {
            "value": [column[place] for column in columns],
            "name": row["title"],
            "lineStyle": {"width": 4, "opacity": 1} if row["run"] in selected else {},
        }
        for place, row in enumerate(runs)
    ]
    return {
        "animation": False,
        "parallel": {"left": 70, "right": 170, "top": 56, "bottom": 32},
        "parallelAxis": axes,
        "tooltip": {"confine": True},
        "visualMap": {
            "min": min(results, default=0),
            "max": max(results, default=1),
            "dimension": len(chosen),
            "inRange": {"color": VIRIDIS},
            "right": 0,
            "top": "middle",
            "precision": 3,
            "textStyle": {":color": TEXT_COLOR},
        },
        "series": [{"type": "parallel", "data": data, "lineStyle": {"width": 2, "opacity": opacity}, "smooth": False}],
    }


class Chart:
    def __init__(self, name: str, on_remove: Callable[[], Any] | None = None) -> None:
        file = re.sub(r"[^\w.-]", "_", name)  # without characters that a file system or an attribute would refuse
        with ui.element("section").classes("r-chart-card").props(f'data-file="{file}"') as self.card:
            self.card.props["aria-label"] = f"chart of {name}"
            with ui.element("div").classes("r-chart-head"):
                with ui.element("h2"):
                    ui.label(name)
                download = ui.button(icon="download").props("flat round").classes("r-download")
                download.props["aria-label"] = f"download {name} as an image"
                if on_remove is not None:
                    remove = ui.button(icon="close", on_click=on_remove).props("flat round").classes("r-remove")
                    remove.props["aria-label"] = f"remove the chart of {name}"
            self._note = ui.label().classes("faint r-meaning")
            self.plot = ui.echart({"series": []}).classes("r-chart")
            self.plot.props["role"], self.plot.props["aria-label"] = "img", f"{name} of the selected runs"
        download.on("click", js_handler=_DOWNLOAD % (self.card.id, self.plot.id))

    def draw(self, options: dict[str, Any], note: str, description: str) -> None:
        self._note.text = note
        self.plot.props["aria-label"] = description
        self.plot.options.clear()
        self.plot.options.update(options)
        self.plot.update()

    def draw_curves(self, metric: str, lines: Sequence[Curve], scale: Scale, note: str) -> None:
        """Draw curves; the description has their last values in words, for those who cannot see the chart."""
        ends = [f"{line.label} {line.points[-1][1]:.4g}" for line in lines if line.points]
        shown = "; ".join(ends[:10]) + (f"; and {len(ends) - 10} more" if len(ends) > 10 else "")
        values = f"last values: {shown}" if ends else "no values yet"
        options = curve_options(lines, scale)
        for series in options["series"]:
            series[":data"] = as_script(series.pop("data"))
        self.draw(options, note, f"Chart of {metric}, {values}")


class ChartGrid:
    """One chart for each metric."""

    def __init__(self, on_remove: Callable[[str], Any] | None = None) -> None:
        self._on_remove = on_remove
        self._charts: dict[str, Chart] = {}
        self._drawing = 0  # number of the latest drawing, which ends those before it
        self._grid = ui.element("div").classes("r-grid")

    def choose(self, metrics: Sequence[str]) -> None:
        """Have a chart for each metric; existing ones are not built again."""
        if tuple(self._charts) == tuple(metrics):
            return
        for name in [name for name in self._charts if name not in metrics]:
            self._charts.pop(name).card.delete()
        with self._grid:
            for place, name in enumerate(metrics):
                if name not in self._charts:
                    self._charts[name] = Chart(name, self._on_remove and partial(self._on_remove, name))
                    self._charts[name].card.move(target_index=place)
        self._charts = {name: self._charts[name] for name in metrics}

    async def draw(
        self, runs: Mapping[str, Metrics], groups: Mapping[str, Sequence[str]], scale: Scale, band: str
    ) -> None:
        """Draw all charts; `runs` are by label, and so are the members of `groups`, which may be empty."""
        self._drawing = drawing = self._drawing + 1

        def compute(metric: str) -> list[Curve]:
            if not groups:
                return curves.run_curves(runs, metric, scale)
            most = curves.points_per_curve(len(groups))
            return [
                curves.mean_curve(label, [runs[name] for name in names], metric, scale, band, most)
                for label, names in groups.items()
            ]

        for metric, chart in list(self._charts.items()):
            lines = await asyncio.to_thread(compute, metric)
            if drawing != self._drawing:
                return
            if not chart.plot.is_deleted:
                chart.draw_curves(metric, lines, scale, note(metric, runs, lines, scale))


def note(metric: str, runs: Mapping[str, Metrics], lines: Sequence[Curve], scale: Scale) -> str:
    """Return what the metric means, and what is missing."""
    if not any(line.points for line in lines):
        logged = any(metric in metrics.names for metrics in runs.values())
        return "no values above 0 for the logarithmic axis" if logged else "not logged by these runs yet"
    points = [metrics.points(scale.axis, metric) for metrics in runs.values()]
    left_out = sum(len(one) - len(scale.drawable(one)) for one in points)
    missing = f"{left_out:,} points not above 0 are left out; " if left_out else ""
    return missing + curves.meaning(metric)
