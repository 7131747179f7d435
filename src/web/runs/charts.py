"""Charts of the selected runs in a grid, one for each metric."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from ..files import Metrics
from . import curves
from .curves import Curve, Scale

# The background is that of the card, so that the image can be read by itself.
_DOWNLOAD = """() => { const card = document.getElementById('c%d'), link = document.createElement('a');
  const color = getComputedStyle(document.body).getPropertyValue('--card').trim();
  link.href = getElement(%d).chart.getDataURL({pixelRatio: 2, backgroundColor: color});
  link.download = card.dataset.file + '.png'; link.click(); }"""


class Chart:
    """A chart with its name, buttons and a note below the name."""

    def __init__(self, name: str, on_remove: Callable[[], Any] | None = None) -> None:
        with ui.element("section").classes("r-chart-card").props(f'data-file="{_file(name)}"') as self.card:
            self.card.props["aria-label"] = f"chart of {name}"
            with ui.element("div").classes("r-chart-head"):
                with ui.element("h2"):
                    ui.label(name)
                self._buttons(name, on_remove)
            self.note = ui.label().classes("faint r-meaning")
            self.plot = ui.echart({"series": []}).classes("r-chart")
            self.plot.props["role"], self.plot.props["aria-label"] = "img", f"{name} of the selected runs"
        self.download.on("click", js_handler=_DOWNLOAD % (self.card.id, self.plot.id))

    def _buttons(self, name: str, on_remove: Callable[[], Any] | None) -> None:
        self.download = ui.button(icon="download").props("flat round").classes("r-download")
        self.download.props["aria-label"] = f"download {name} as an image"
        if on_remove is not None:
            remove = ui.button(icon="close", on_click=on_remove).props("flat round").classes("r-remove")
            remove.props["aria-label"] = f"remove the chart of {name}"

    def draw(self, options: dict[str, Any], note: str, description: str) -> None:
        self.note.text = note
        self.plot.props["aria-label"] = description
        self.plot.options.clear()
        self.plot.options.update(options)
        self.plot.update()


class ChartGrid:
    def __init__(self, on_remove: Callable[[str], Any]) -> None:
        self._on_remove = on_remove
        self._charts: dict[str, Chart] = {}
        self._drawing = 0  # number of the latest drawing, which ends those before it
        self._grid = ui.element("div").classes("r-grid")

    def choose(self, metrics: Sequence[str]) -> None:
        """Have a chart for each metric; the ones that stay are not built again."""
        if tuple(self._charts) == tuple(metrics):
            return
        for name in [name for name in self._charts if name not in metrics]:
            self._charts.pop(name).card.delete()
        with self._grid:
            for place, name in enumerate(metrics):
                if name not in self._charts:
                    self._charts[name] = Chart(name, partial(self._on_remove, name))
                    self._charts[name].card.move(target_index=place)
        self._charts = {name: self._charts[name] for name in metrics}

    async def draw(
        self, runs: Mapping[str, Metrics], groups: Mapping[str, Sequence[str]], scale: Scale, band: str
    ) -> None:
        """Draw all charts; `runs` are by label, and so are the members of `groups`, which may be empty."""
        self._drawing = drawing = self._drawing + 1
        for name, chart in list(self._charts.items()):
            lines = await asyncio.to_thread(lines_of, runs, groups, name, scale, band)
            if drawing != self._drawing:
                return
            if not chart.plot.is_deleted:
                chart.draw(curves.options(lines, scale), note_on(name, runs, lines, scale), described(name, lines))


def lines_of(
    runs: Mapping[str, Metrics], groups: Mapping[str, Sequence[str]], metric: str, scale: Scale, band: str
) -> list[Curve]:
    if not groups:
        return curves.curves_of(runs, metric, scale)
    most = curves.points_per_curve(len(groups))
    members = {label: [runs[name] for name in names] for label, names in groups.items()}
    return [curves.averaged(label, those, metric, scale, band, most) for label, those in members.items()]


def note_on(metric: str, runs: Mapping[str, Metrics], lines: Sequence[Curve], scale: Scale) -> str:
    """Return what the metric means, and what is missing."""
    if not any(line.points for line in lines):
        logged = any(metric in metrics.columns for metrics in runs.values())
        return "no values above 0 for the logarithmic axis" if logged else "not logged by these runs yet"
    out = curves.left_out(runs, metric, scale)
    missing = f"{out:,} points not above 0 are left out; " if out else ""
    return missing + curves.meaning(metric)


def described(metric: str, lines: Sequence[Curve]) -> str:
    """Return the last values in words, for those who cannot see the chart."""
    ends = [f"{line.label} {line.points[-1][1]:.4g}" for line in lines if line.points]
    shown = "; ".join(ends[:10]) + (f"; and {len(ends) - 10} more" if len(ends) > 10 else "")
    return f"Chart of {metric}, last values: {shown}" if ends else f"Chart of {metric}, no values yet"


def _file(name: str) -> str:
    """Return a file name without characters that a file system or an attribute would refuse."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
