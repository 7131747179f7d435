"""The list of runs, and charts and differences of the selected ones."""

import asyncio
import sys
from collections.abc import Collection
from contextlib import suppress

from nicegui import background_tasks, events, ui
from starlette.requests import Request

from ...core.errors import UserError, require
from ...core.runs.index import curves, files, query
from ...core.runs.index.curves import Scale
from ...core.runs.index.files import Metrics, RunPath
from ...core.runs.index.rows import Index, Row, shared_index
from .. import shell
from ..event_loop import in_thread
from ..services import Services
from . import charts, run_page
from .charts import Chart, ChartGrid
from .details import Differences
from .table import RunTable
from .view import View, parse_url

MAX_RUNS = 100  # in a comparison
POLL = 1.0  # seconds between reads of the selected runs
OBJECTIVE = "win_rate"


async def build(services: Services, request: Request) -> None:
    """Show what is known at once; runs that were never read are added to the list as they are."""
    ui.run_javascript(shell.asset(__package__, "page.js"))
    if name := request.path_params.get("run"):
        await run_page.build(services, name)
        return
    index = shared_index(*services.folders)
    if not index.ready:
        background_tasks.create(asyncio.to_thread(index.refresh), name="read all runs")
    page = RunsPage(index, parse_url(request.url.query))
    await page.show()
    ui.on("theme", page.draw)
    ui.timer(POLL, page.poll)


class RunsPage:
    def __init__(self, index: Index, view: View) -> None:
        self.index = index
        self.selected: dict[str, RunPath] = {}
        self.logs: dict[str, Metrics] = {}
        self.rows: list[Row] = []  # of the selected runs
        self._reading = asyncio.Lock()  # what a selection reads is not read again by the poll beside it
        self.view = View(metrics=view.metrics)  # except for what `selected` and the table know
        with shell.show_errors():
            self._apply(view)
        for name in view.runs:
            with shell.show_errors():
                require(len(self.selected) < MAX_RUNS, f"at most {MAX_RUNS} runs can be compared: {name} is left out")
                self.selected[name] = files.locate(index.folders, name)
        self.table = RunTable(index, view, self.select, self.draw_sweep, self.update_url)
        with ui.element("section").classes("r-card").props("aria-label=charts") as self.chart_card:
            with ui.element("div").classes("r-bar"):
                self.adder = ui.select([], label="add a chart", with_input=True, on_change=self._add_chart)
                self.adder.props("outlined dense options-dense").classes("r-metric")
                self._build_select("axis", "over", curves.AXES)
                with ui.element("label").classes("r-smooth"):
                    ui.label("smoothing")  # by the browser's slider, known to keyboards and screen readers
                    smooth = float(self.view.smooth)
                    slider = ui.element("input").props(f"type=range min=0 max=0.99 step=0.01 value={smooth}")
                    slider.on("input", self._on_smooth, js_handler="e => emit(+e.target.value)", throttle=0.2)
                    self.smooth_label = ui.label(f"{smooth:.2f}")
                self.log_switches = {}
                for axis in "xy":
                    switch = ui.switch(f"log {axis}", value=axis in self.view.log, on_change=self._on_log)
                    self.log_switches[axis] = switch.classes(f"r-log-{axis}")
                options = query.group_options([], self.view.group)
                self.grouper = self._build_select("group", "group by", options, with_input=True).props("options-dense")
                self.bander = self._build_select("band", "band", curves.BANDS)
            self.grid = ChartGrid(self._remove_chart)
        with ui.element("section").classes("r-card").props('aria-label="parallel coordinates"'):
            with ui.expansion("Parallel coordinates of the listed runs", icon="stacked_line_chart") as self.sweep:
                self.objective = ui.select([OBJECTIVE], value=OBJECTIVE, label="result", with_input=True)
                self.objective.on_value_change(self.draw_sweep)
                self.objective.props("outlined dense options-dense").classes("r-objective")
                self.sweep_chart = Chart("parallel coordinates")
            self.sweep.classes("w-full r-sweep").on_value_change(self.draw_sweep)
        self.differences = Differences()

    def _apply(self, view: View) -> None:
        """Take over the values of a URL; those before an invalid one are kept."""
        require(view.axis in curves.AXES, f"axis={view.axis} is unknown: choose {' or '.join(curves.AXES)}")
        self.view = self.view._replace(axis=view.axis, log="".join(axis for axis in "xy" if axis in view.log))
        require(view.band in curves.BANDS, f"band={view.band} is unknown: choose {' or '.join(curves.BANDS)}")
        self.view = self.view._replace(band=view.band, group=view.group)
        try:
            smooth = float(view.smooth)
        except ValueError:
            smooth = -1.0
        require(0 <= smooth < 1, f"smooth={view.smooth} must be from 0 to 0.99")
        self.view = self.view._replace(smooth=view.smooth)

    def _build_select(self, name: str, label: str, options: dict[str, str], with_input: bool = False) -> ui.select:
        """Return a dropdown that changes a value of the view."""

        async def change(event: events.ValueChangeEventArguments) -> None:
            await self._redraw(**{name: shell.checked(event.value or "", select.options)})

        select = ui.select(options, value=getattr(self.view, name), label=label, with_input=with_input)
        return select.on_value_change(change).props("outlined dense").classes(f"r-{name}")

    async def select(self, names: Collection[str], on: bool) -> None:
        """Select runs, or not; those already selected keep their places and colors."""
        with shell.show_errors():
            found = {name: files.locate(self.index.folders, name) for name in names} if on else {}
            count = len(self.selected.keys() | found.keys())
            require(count <= MAX_RUNS, f"at most {MAX_RUNS} runs can be compared, not {count:,}: filter the list first")
            kept = {name: run for name, run in self.selected.items() if on or name not in names}
            self.selected = kept | {name: run for name, run in found.items() if name not in kept}
        await self.show()

    async def show(self) -> None:
        """Show the selected runs after the selection has changed: first their curves, then what is below them."""
        await self.read()
        self.table.update(self.rows)
        self.chart_card.set_visibility(bool(self.selected))
        self.grouper.set_options(query.group_options(self.rows, self.view.group), value=self.view.group)
        await self.draw()
        self.differences.show(self.rows)
        self.update_url()

    async def read(self) -> bool:
        """Read what has changed of the selected runs; return whether their metrics have."""

        def read() -> tuple[list[Row], dict[str, Metrics]]:
            selected, wanted = dict(self.selected), curves.columns_of(self.view.metrics)
            most = sys.maxsize if float(self.view.smooth) else curves.values_per_run(len(selected))  # smooth all rows
            rows, logs = [self.index.row(run) for run in selected.values()], {}
            for name, run in selected.items():
                logs[name] = files.NO_METRICS
                with suppress(UserError):  # the row says what is wrong
                    logs[name] = files.read_metrics(run, wanted, most)
            return rows, logs

        async with self._reading:
            before = self.logs
            self.rows, self.logs = await in_thread(read)
        return any(before.get(name) is not metrics for name, metrics in self.logs.items())

    async def poll(self) -> None:
        if self.index.ready:
            await asyncio.to_thread(self.index.refresh)
        self.table.update()
        if await self.read():
            await self.draw()

    def compared(self) -> dict[str, Metrics]:
        """Return the metrics of the selected runs by label."""
        labels = curves.short_labels({row["run"]: row["overrides"] for row in self.rows})
        return {labels[name]: self.logs[name] for name in labels}

    async def draw(self) -> None:
        runs = self.compared()
        metrics = self.view.metrics or curves.default_metrics(runs)
        self.view = self.view._replace(metrics=metrics)
        self.adder.set_options([name for name in curves.metric_names(runs) if name not in metrics], value=None)
        self.grid.choose(metrics)
        groups: dict[str, list[str]] = {}
        if self.view.group != query.NO_GROUPS:
            labels = dict(zip((row["run"] for row in self.rows), runs, strict=True))
            members = query.group_runs(self.rows, self.view.group)
            groups = {label: [labels[name] for name in names] for label, names in members.items()}
        self.bander.set_enabled(bool(groups))
        log = self.view.log
        scale = Scale(self.view.axis, float(self.view.smooth), "x" in log, "y" in log)
        await self.grid.draw(runs, groups, scale, self.view.band)
        self.draw_sweep()

    def draw_sweep(self) -> None:
        if not self.sweep.value:
            return
        rows, objective = self.table.matches, str(self.objective.value or OBJECTIVE)
        self.objective.set_options([OBJECTIVE, "score", "step", *sorted({n for row in rows for n in row["metrics"]})])
        options = charts.parallel_options(rows, objective, self.selected)
        count = len(options["series"][0]["data"])
        note = f"{count:,} of {len(rows):,} listed runs have {objective}; selected ones are drawn wide"
        self.sweep_chart.draw(options, note, note)

    def update_url(self) -> None:
        view = self.view._replace(
            runs=tuple(self.selected),
            metrics=self.view.metrics if self.selected else (),
            filter=self.table.filter,
            sort=self.table.sort,
            columns=self.table.columns,
        )
        ui.navigate.history.replace(view.url())

    async def _redraw(self, **values: str | tuple[str, ...]) -> None:
        self.view = self.view._replace(**values)  # type: ignore[arg-type]
        self.update_url()
        await self.read()
        await self.draw()

    async def _add_chart(self, event: events.ValueChangeEventArguments) -> None:
        if event.value:
            name = shell.checked(event.value, curves.metric_names(self.compared()))
            await self._redraw(metrics=tuple(dict.fromkeys((*self.view.metrics, name))))

    async def _remove_chart(self, name: str) -> None:
        require(len(self.view.metrics) > 1, "the last chart stays: add another one first")
        await self._redraw(metrics=tuple(one for one in self.view.metrics if one != name))

    async def _on_log(self) -> None:
        await self._redraw(log="".join(axis for axis, switch in self.log_switches.items() if switch.value))

    async def _on_smooth(self, event: events.GenericEventArguments) -> None:
        smooth = shell.between(event.args, 0, 0.99)
        self.smooth_label.text = f"{smooth:.2f}"
        await self._redraw(smooth=f"{smooth:g}")
