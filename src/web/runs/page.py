"""The list of runs, and charts, differences and details of the selected ones."""

import asyncio
from collections.abc import Collection
from functools import cache
from pathlib import Path

from nicegui import background_tasks, events, ui
from starlette.requests import Request

from ...core.errors import require
from .. import files, shell
from ..files import Metrics, RunPath, Stamp
from ..services import Services
from . import address, curves, groups, parallel
from .address import View
from .charts import Chart, ChartGrid
from .curves import Scale
from .details import Details
from .differences import Differences
from .index import Index, Row
from .listing import RunList
from .style import CSS

MAX_RUNS = 100  # in a comparison
MAX_DETAILS = 6  # cards
POLL = 1.0  # seconds between reads of the selected runs
RESCAN = 10.0  # seconds between searches for new runs, whatever the number of visitors
OBJECTIVE = "win_rate"

# Quasar sets the class of the body far more often than the theme changes.
_FOLLOW_THEME = """{ const dark = () => document.body.classList.contains('body--dark'); let before = dark();
  new MutationObserver(() => { if (dark() !== before) { before = dark(); emitEvent('theme'); } })
    .observe(document.body, {attributeFilter: ['class']}); }"""


@cache
def index_of(*folders: Path) -> Index:
    """Return the index, shared by all visitors."""
    return Index(folders)


async def build(services: Services, request: Request) -> None:
    """Show what is known at once; runs that were never read are added to the list as they are."""
    shell.add_style(CSS)
    ui.run_javascript(_FOLLOW_THEME)
    index = index_of(*services.folders)
    if not index.ready:
        background_tasks.create(asyncio.to_thread(index.refresh, RESCAN), name="read all runs")
    page = RunsPage(index, address.read(request.url.query))
    await page.show()
    ui.on("theme", page.draw)
    ui.timer(POLL, page.poll)


class RunsPage:
    def __init__(self, index: Index, view: View) -> None:
        self.index, self.metrics = index, view.metrics
        self.selected: dict[str, RunPath] = {}
        self.logs: dict[str, Metrics] = {}
        self.changes: dict[str, list[str]] = {}
        self.details: dict[str, Details] = {}
        self._own: dict[str, Row] = {}  # rows of selected runs that the index has not read yet
        self._stamps: dict[str, Stamp] = {}
        self.scale, self.group, self.band = Scale(), groups.NO_GROUPS, "interval"
        with shell.show_errors():
            self._read(view)
        for name in view.runs:
            with shell.show_errors():
                require(len(self.selected) < MAX_RUNS, f"at most {MAX_RUNS} runs can be compared: {name} is left out")
                self.selected[name] = files.locate(index.folders, name)
        self._build(view)

    def _read(self, view: View) -> None:
        """Take over the values of an address; those before one that is not valid are kept."""
        choices = " or ".join(curves.AXES)
        require(view.axis in curves.AXES, f"axis={view.axis} is unknown: choose {choices}")
        self.scale = self.scale._replace(axis=view.axis, log_x="x" in view.log, log_y="y" in view.log)
        require(view.band in curves.BANDS, f"band={view.band} is unknown: choose {' or '.join(curves.BANDS)}")
        self.band, self.group = view.band, view.group
        try:
            smooth = float(view.smooth)
        except ValueError:
            smooth = -1.0
        require(0 <= smooth < 1, f"smooth={view.smooth} must be from 0 to 0.99")
        self.scale = self.scale._replace(smooth=smooth)

    def _build(self, view: View) -> None:
        self.list = RunList(self.index, view, self)
        with ui.element("section").classes("r-card").props("aria-label=charts") as self.chart_card:
            self._build_toolbar()
            self.grid = ChartGrid(self._remove_chart)
        with ui.element("section").classes("r-card").props('aria-label="parallel coordinates"'):
            self._build_sweep()
        self.differences = Differences()
        self.detail_grid = ui.element("div").classes("r-details")

    def _build_toolbar(self) -> None:
        with ui.element("div").classes("r-bar"):
            self.adder = ui.select([], label="add a chart", with_input=True, on_change=self._add_chart)
            self.adder.props("outlined dense options-dense").classes("r-metric")
            over = ui.select(curves.AXES, value=self.scale.axis, label="over", on_change=self._on_axis)
            over.props("outlined dense").classes("r-axis")
            self._build_smoothing()
            for axis in ("x", "y"):
                switch = ui.switch(f"log {axis}", value=getattr(self.scale, f"log_{axis}")).classes(f"r-log-{axis}")
                switch.on_value_change(lambda event, axis=axis: self._on_log(axis, bool(event.value)))
            options = groups.choices([], self.group)
            self.grouper = ui.select(options, value=self.group, label="group by", with_input=True)
            self.grouper.on_value_change(self._on_group)
            self.grouper.props("outlined dense options-dense").classes("r-group")
            self.bander = ui.select(curves.BANDS, value=self.band, label="band", on_change=self._on_band)
            self.bander.props("outlined dense").classes("r-band")

    def _build_smoothing(self) -> None:
        """Use the browser's own slider, which keyboards and screen readers know."""
        with ui.element("label").classes("r-smooth"):
            ui.label("smoothing")
            slider = ui.element("input").props(f"type=range min=0 max=0.99 step=0.01 value={self.scale.smooth}")
            slider.on("input", self._on_smooth, js_handler="e => emit(+e.target.value)", throttle=0.2)
            self.smooth_label = ui.label(f"{self.scale.smooth:.2f}")

    def _build_sweep(self) -> None:
        with ui.expansion("Parallel coordinates of the listed runs", icon="stacked_line_chart") as self.sweep:
            self.objective = ui.select([OBJECTIVE], value=OBJECTIVE, label="result", with_input=True)
            self.objective.on_value_change(self.draw_sweep)
            self.objective.props("outlined dense options-dense").classes("r-objective")
            self.sweep_chart = Chart("parallel coordinates")
        self.sweep.classes("w-full r-sweep").on_value_change(self.draw_sweep)

    async def show(self) -> None:
        """Show the selected runs after the selection has changed."""
        rows = await asyncio.to_thread(self.selected_rows)
        self.list.colors = {name: curves.look(place)[0] for place, name in enumerate(self.selected)}
        self.list.update(forced=True)
        for name, run in [(name, run) for name, run in self.selected.items() if name not in self.changes]:
            with shell.show_errors():
                self.changes[name] = await asyncio.to_thread(files.read_changes, run)
        await self.read_changed()
        self.chart_card.set_visibility(bool(self.selected))
        self.grouper.set_options(groups.choices(rows, self.group), value=self.group)
        self.differences.show(rows)
        self._show_details()
        await self.update_details()
        await self.draw()
        self.update_address()

    def _show_details(self) -> None:
        shown = list(self.selected)[:MAX_DETAILS]
        for name in [name for name in self.details if name not in shown]:
            self.details.pop(name).card.delete()
        with self.detail_grid:
            for name in [name for name in shown if name not in self.details]:
                self.details[name] = Details(self.selected[name])

    async def update_details(self) -> None:
        states = {row["run"]: row["state"] for row in self.selected_rows()}
        for name, card in list(self.details.items()):
            await card.update(states.get(name, ""))

    def selected_rows(self) -> list[Row]:
        selected = self.selected  # replaced as a whole, perhaps while a thread reads this
        known = {row["run"]: row for row in self.index.known}
        for name, run in selected.items():
            if name not in known and name not in self._own:
                self._own[name] = self.index.row(run)
        return [known.get(name) or self._own[name] for name in selected]

    def rows_ahead(self) -> list[Row]:
        known = {row["run"] for row in self.index.known}
        return [self._own[name] for name in self.selected if name in self._own and name not in known]

    async def read_changed(self) -> bool:
        """Read the metrics of selected runs that have changed; return whether there are any."""
        stamps = {name: files.stamp(found, "metrics.csv") for name, found in self.selected.items()}
        changed = {name: self.selected[name] for name in stamps if self._stamps.get(name) != stamps[name]}
        for name, found in changed.items():
            self._stamps[name], metrics = stamps[name], Metrics()
            with shell.show_errors():
                metrics = await asyncio.to_thread(files.read_metrics, found)
            self.logs[name] = metrics
        return bool(changed)

    def compared(self) -> dict[str, Metrics]:
        """Return the metrics of the selected runs by label."""
        labels = curves.labels({name: self.changes.get(name, []) for name in self.selected})
        return {labels[name]: self.logs.get(name, Metrics()) for name in self.selected}

    async def poll(self) -> None:
        if self.index.ready:
            await asyncio.to_thread(self.index.refresh, RESCAN)
        self.list.update()
        await self.update_details()
        if await self.read_changed():
            await self.draw()

    async def draw(self) -> None:
        runs = self.compared()
        names = curves.metrics_of(runs)
        self.metrics = self.metrics or curves.default_metrics(runs)
        self.adder.set_options([name for name in names if name not in self.metrics], value=None)
        self.grid.choose(self.metrics)
        members: dict[str, list[str]] = {}
        if self.group != groups.NO_GROUPS:
            labels = dict(zip(self.selected, runs, strict=True))
            rows = await asyncio.to_thread(self.selected_rows)
            members = {
                label: [labels[name] for name in those if name in labels]  # the selection may have changed meanwhile
                for label, those in groups.grouped(rows, self.group).items()
            }
        self.bander.set_enabled(bool(members))
        await self.grid.draw(runs, members, self.scale, self.band)
        self.draw_sweep()

    def on_matches(self) -> None:
        self.draw_sweep()

    def draw_sweep(self) -> None:
        if not self.sweep.value:
            return
        rows, objective = self.list.matches, str(self.objective.value or OBJECTIVE)
        self.objective.set_options([OBJECTIVE, "score", "step", *sorted({n for row in rows for n in row["metrics"]})])
        shown = len(parallel.shown(rows, objective))
        note = f"{shown:,} of {len(rows):,} listed runs have {objective}; selected ones are drawn wide"
        self.sweep_chart.draw(parallel.options(rows, objective, list(self.selected)), note, note)

    def update_address(self) -> None:
        """Update the URL to what is shown."""
        ui.navigate.history.replace(self.view().address())

    def view(self) -> View:
        scale, shown = self.scale, self.list
        log = "x" * scale.log_x + "y" * scale.log_y
        metrics = self.metrics if self.selected else ()
        smooth = f"{scale.smooth:g}"
        return View(
            tuple(self.selected),
            metrics,
            scale.axis,
            smooth,
            log,
            self.group,
            self.band,
            shown.address_filter,
            shown.sort,
            shown.columns,
        )

    async def pick(self, names: Collection[str], on: bool) -> None:
        """Select runs, or not; those already selected keep their places and colors."""
        with shell.show_errors():
            found = {name: files.locate(self.index.folders, name) for name in names} if on else {}
            count = len(self.selected.keys() | found.keys())
            require(count <= MAX_RUNS, f"at most {MAX_RUNS} runs can be compared, not {count:,}: filter the list first")
            kept = {name: run for name, run in self.selected.items() if on or name not in names}
            self.selected = kept | {name: run for name, run in found.items() if name not in kept}
        await self.show()

    async def clear(self) -> None:
        self.selected = {}
        await self.show()

    async def _add_chart(self, event: events.ValueChangeEventArguments) -> None:
        if event.value:
            with shell.show_errors():
                name = shell.checked(event.value, curves.metrics_of(self.compared()))
                self.metrics = tuple(dict.fromkeys((*self.metrics, name)))
                await self._redraw()

    async def _remove_chart(self, name: str) -> None:
        with shell.show_errors():
            require(len(self.metrics) > 1, "the last chart stays: add another one first")
            self.metrics = tuple(one for one in self.metrics if one != name)
            await self._redraw()

    async def _redraw(self) -> None:
        self.update_address()
        await self.draw()

    async def _on_axis(self, event: events.ValueChangeEventArguments) -> None:
        with shell.show_errors():
            self.scale = self.scale._replace(axis=shell.checked(event.value, curves.AXES))
            await self._redraw()

    async def _on_log(self, axis: str, on: bool) -> None:
        self.scale = self.scale._replace(log_x=on) if axis == "x" else self.scale._replace(log_y=on)
        await self._redraw()

    async def _on_smooth(self, event: events.GenericEventArguments) -> None:
        with shell.show_errors():
            self.scale = self.scale._replace(smooth=shell.between(event.args, 0, 0.99))
            self.smooth_label.text = f"{self.scale.smooth:.2f}"
            await self._redraw()

    async def _on_group(self, event: events.ValueChangeEventArguments) -> None:
        with shell.show_errors():
            self.group = shell.checked(event.value or groups.NO_GROUPS, self.grouper.options)
            await self._redraw()

    async def _on_band(self, event: events.ValueChangeEventArguments) -> None:
        with shell.show_errors():
            self.band = shell.checked(event.value, curves.BANDS)
            await self._redraw()
