"""The table of runs, and the curves and details of the selected ones."""

import asyncio
from functools import cache
from pathlib import Path
from typing import Any

from nicegui import events, ui
from starlette.requests import Request

from ...core.errors import require
from .. import files, shell
from ..files import Metrics, RunPath, Stamp
from ..lab import Lab
from . import address, curves, details
from .address import Comparison
from .index import Index
from .style import CSS

MAX_RUNS = 20  # in a comparison
POLL = 1.0  # seconds between reads of the selected runs
RESCAN = 10  # polls between searches for new runs

PERCENT = "(v, row) => v == null ? '' : (100 * v).toFixed(1) + '%'"
INTERVAL = f"{PERCENT} + (row.low == null ? '' : ` (${{(100*row.low).toFixed(1)}}-${{(100*row.high).toFixed(1)}})`)"
COLUMNS: tuple[tuple[str, str, str | None], ...] = (
    ("run", "run", None),
    ("state", "state", None),
    ("win_rate", "win rate (95%)", INTERVAL),
    ("score", "last score", PERCENT),
    ("step", "steps", "v => v == null ? '' : v.toLocaleString('en')"),
    ("env", "env", None),
    ("algo", "algo", None),
    ("experiment", "experiment", None),
    ("reward", "reward", None),
    ("curriculum", "curriculum", None),
    ("seed", "seed", None),
    ("changes", "changed values", None),
    ("updated", "updated", "v => new Date(1000 * v).toLocaleString('sv').slice(0, 16)"),
)
NUMBERS = {"seed", "step", "score", "win_rate", "updated"}


@cache
def index_of(*folders: Path) -> Index:
    """Return the index, shared by all visitors."""
    return Index(folders)


async def build(lab: Lab, request: Request) -> None:
    """Read everything before showing it, so that the layout does not shift."""
    ui.add_css(CSS)
    index = index_of(*lab.folders)
    page = RunsPage(index, address.read(request.url.query), await asyncio.to_thread(index.rows))
    await page.show()
    ui.timer(POLL, page.poll)


class RunsPage:
    def __init__(self, index: Index, requested: Comparison, rows: list[dict[str, Any]]) -> None:
        self.index, self.axis, self.metric = index, "step", requested.metric
        self.selected: dict[str, RunPath] = {}
        self.metrics: dict[str, Metrics] = {}
        self.changes: dict[str, list[str]] = {}
        self.stamps: dict[str, Stamp] = {}
        self.polls = 0
        with shell.show_errors():
            require(
                requested.axis in curves.AXES, f"axis={requested.axis} is unknown: choose {' or '.join(curves.AXES)}"
            )
            self.axis = requested.axis
        for name in requested.runs:
            with shell.show_errors():
                require(len(self.selected) < MAX_RUNS, f"at most {MAX_RUNS} runs can be compared: {name} is left out")
                self.selected[name] = files.locate(index.folders, name)
        self.first = frozenset(self.selected)  # listed first in the table
        self._build(rows)

    def _build(self, rows: list[dict[str, Any]]) -> None:
        with ui.element("div").classes("r-card"):
            with ui.row(wrap=False).classes("w-full items-center"):
                ui.label("Runs").classes("headline grow")
                self.busy = shell.Busy()
                self.filter = ui.input(placeholder="filter").props("dense outlined clearable").classes("r-filter")
                self.filter.props('aria-label="filter"')
            self.table = ui.table(
                columns=[_column(*column) for column in COLUMNS],
                rows=self._ordered(rows),
                row_key="run",
                selection="multiple",
                pagination=8,
                on_select=self._on_select,
            )
            self.table.classes("w-full r-table").props("dense flat").bind_filter_from(self.filter, "value")
            self.table.on("rowClick", self._on_row, js_handler="(event, row) => emit(row.run)")
        with ui.element("div").classes("r-card") as self.chart_card:
            with ui.row().classes("w-full items-center gap-3"):
                self.metric_box = ui.select([], label="metric", with_input=True, on_change=self._on_metric)
                self.metric_box.props("dense outlined options-dense").classes("r-metric grow")
                self.axes = ui.select(curves.AXES, value=self.axis, label="over", on_change=self._on_axis)
                self.axes.props("dense outlined").classes("r-axis")
                self.logarithmic = ui.switch("log", on_change=self.draw)
            self.meaning = ui.label().classes("faint r-meaning")
            self.chart = ui.echart({"series": []}).classes("r-chart")
        self.details = ui.element("div").classes("r-details")

    async def rescan(self) -> None:
        self.table.update_rows(self._ordered(await self.busy.do(self.index.rows)), clear_selection=False)

    def _ordered(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(rows, key=lambda row: row["run"] not in self.first)

    async def show(self) -> None:
        """Show the selected runs after the selection has changed."""
        self.table.selected = [row for row in self.table.rows if row["run"] in self.selected]
        for name in [name for name in self.selected if name not in self.changes]:
            with shell.show_errors():
                self.changes[name] = await asyncio.to_thread(files.read_changes, self.selected[name])
        await self.read_changed()
        self.chart_card.set_visibility(bool(self.selected))
        self.details.clear()
        with self.details:
            for run_path in self.selected.values():
                with ui.element("div").classes("r-card r-detail"):
                    details.show(run_path)
        self.draw()
        self.update_address()

    async def read_changed(self) -> bool:
        """Read the metrics of selected runs that have changed; return whether there are any."""
        stamps = {name: files.stamp(found, "metrics.csv") for name, found in self.selected.items()}
        changed = {name: self.selected[name] for name in stamps if self.stamps.get(name) != stamps[name]}
        for name, found in changed.items():
            self.stamps[name], metrics = stamps[name], Metrics()
            with shell.show_errors():
                metrics = await asyncio.to_thread(files.read_metrics, found)
            self.metrics[name] = metrics
        return bool(changed)

    def compared(self) -> dict[str, Metrics]:
        """Return the metrics of the selected runs by label."""
        labels = curves.labels({name: self.changes.get(name, []) for name in self.selected})
        return {labels[name]: self.metrics.get(name, Metrics()) for name in self.selected}

    async def poll(self) -> None:
        self.polls += 1
        if self.polls % RESCAN == 0:
            await self.rescan()
        if await self.read_changed():
            self.draw()

    def draw(self) -> None:
        runs = self.compared()
        names = curves.metrics_of(runs)
        if self.metric is None:
            self.metric = curves.default_metric(runs)
        shown = names if self.metric is None or self.metric in names else [self.metric, *names]
        self.metric_box.set_options(shown, value=self.metric)
        self.meaning.text = self._note(names)
        self.chart.options.clear()
        if self.metric is not None:
            self.chart.options.update(curves.options(runs, self.metric, self.axis, bool(self.logarithmic.value)))
        self.chart.update()

    def _note(self, names: list[str]) -> str:
        if self.metric is None:
            return "nothing is logged yet; this page updates every second"
        if self.metric not in names:
            return f"none of these runs has logged {self.metric}"
        return curves.meaning(self.metric)

    def update_address(self) -> None:
        """Update the URL to what is shown."""
        ui.navigate.history.replace(Comparison(tuple(self.selected), self.metric, self.axis).address())

    async def select(self, names: list[str]) -> None:
        """Select the runs to compare; those already selected keep their places and colors."""
        require(len(names) <= MAX_RUNS, f"at most {MAX_RUNS} runs can be compared: deselect one first")
        found = {name: files.locate(self.index.folders, name) for name in names}
        kept = [name for name in self.selected if name in found]
        self.selected = {name: found[name] for name in dict.fromkeys((*kept, *names))}

    async def _on_select(self) -> None:
        await self._change([str(row.get("run")) for row in self.table.selected])

    async def _on_row(self, event: events.GenericEventArguments) -> None:
        name = event.args
        if isinstance(name, str):
            others = [other for other in self.selected if other != name]
            await self._change(others if name in self.selected else [*others, name])

    async def _change(self, names: list[str]) -> None:
        with shell.show_errors():
            await self.select(names)
        await self.show()

    def _on_metric(self, event: events.ValueChangeEventArguments) -> None:
        if event.value and event.value != self.metric:
            with shell.show_errors():
                self.metric = shell.checked(event.value, curves.metrics_of(self.compared()))
                self.update_address()
                self.draw()

    def _on_axis(self, event: events.ValueChangeEventArguments) -> None:
        with shell.show_errors():
            self.axis = shell.checked(event.value, curves.AXES)
            self.update_address()
            self.draw()


def _column(name: str, label: str, form: str | None) -> dict[str, Any]:
    column = {"name": name, "field": name, "label": label, "sortable": True}
    column["align"] = "right" if name in NUMBERS else "left"
    return column | ({":format": form} if form else {}) | ({"classes": "r-changes"} if name == "changes" else {})
