"""A training on the page: state, progress, curve and the end of its output."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from nicegui import ui

from ...core.errors import UserError
from .. import files, shell
from ..files import Metrics, RunPath, Stamp
from ..runs import curves
from ..runs.charts import Chart, described
from . import form, jobs
from .jobs import Job

LINES = 30  # of the output


class JobCard:
    def __init__(
        self,
        job: Job,
        run: RunPath,
        on_stop: Callable[[str], Awaitable[None]],
        on_end: Callable[[str], Awaitable[None]],
        on_resume: Callable[[str], Awaitable[None]],
    ) -> None:
        self.job, self._run = job, run
        self._stamp: Stamp | None = None
        self._metrics = Metrics()
        with ui.element("article").classes("r-card t-job") as self.card:
            self.card.props["aria-label"] = f"training {job.directory}"
            with ui.element("div").classes("t-head"):
                with ui.element("h2"):
                    ui.label(str(job.directory))
                self._state = ui.label().classes("t-state").props("role=status")
                self._stop = _button("Stop", "stop", "t-stop", lambda: on_stop(job.name))
                self._end = _button("End now", "dangerous", "t-end", lambda: on_end(job.name))
                self._continue = _button("Continue", "restart_alt", "t-continue", lambda: on_resume(run.name))
                self._link = ui.link("in Runs", f"/runs?compare={quote(run.name)}").classes("t-link")
            ui.label(form.shown(list(job.arguments))).classes("faint")
            self._progress = ui.label().classes("t-progress")
            self._bar = ui.element("progress").props("max=1 value=0 aria-label=progress")
            self._chart = Chart("learning curve")
            with ui.element("pre").classes("t-log").props('tabindex=0 role=log aria-label="end of the output"'):
                self._log = ui.label()

    async def update(self) -> None:
        state, output, can_continue, changed = await asyncio.to_thread(self._look)
        if self.card.is_deleted:
            return
        self._state.text = state
        self._stop.set_visibility(state == "running")
        self._end.set_visibility(state == "stopping")
        self._continue.set_visibility(can_continue)
        self._link.set_visibility(state != "failed" or can_continue)
        self._log.text = "\n".join(output.splitlines()[-LINES:])
        self._show_progress(state, output)
        if changed:
            self._draw()

    def _look(self) -> tuple[str, str, bool, bool]:
        """Return the state, the end of the output, whether it can be continued and whether its metrics changed."""
        output = jobs.tail(self.job)
        state = jobs.state_of(self.job, output)
        return state, output, jobs.can_continue(self.job, state), self._read()

    def _read(self) -> bool:
        """Read the metrics if they have changed."""
        stamp = files.stamp(self._run, "metrics.csv")
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self._metrics = files.read_metrics(self._run)
        except UserError:
            self._metrics = Metrics()
        return True

    def _show_progress(self, state: str, output: str) -> None:
        found = jobs.progress(output, self._metrics.last("step"))
        self._bar.set_visibility(found is not None)
        if found is None:
            self._progress.text = "starting" if state == "running" else ""
            return
        done, total, unit = found
        self._bar.props(f"value={done / max(total, 1):.4f}")
        self._progress.text = f"{done:,} of {total:,} {unit}"

    def _draw(self) -> None:
        metric = next(iter(curves.default_metrics({"": self._metrics})), None)
        self._chart.card.set_visibility(metric is not None)
        if metric is not None:
            lines = curves.curves_of({metric: self._metrics}, metric, curves.Scale())
            self._chart.draw(curves.options(lines, curves.Scale()), curves.meaning(metric), described(metric, lines))


def _button(label: str, icon: str, name: str, on_click: Callable[[], Awaitable[None]]) -> ui.button:
    return ui.button(label, icon=icon, on_click=shell.handler(on_click)).props("outline no-caps").classes(name)
