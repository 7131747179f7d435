"""A form that starts a training run, and the training runs of this machine."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from nicegui import ui
from starlette.requests import Request

from ...core.errors import UserError, require
from .. import files, runs, shell
from ..files import Metrics, RunPath, Stamp
from ..runs import curves
from ..runs.charts import Chart
from ..runs.index import shared_index
from ..services import Services
from .form import TrainingForm, train_command
from .jobs import Job, Jobs, progress, quote_value

POLL = 1.0  # seconds between looks at the jobs
MAX_CARDS = 10
LOG_LINES = 30
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
REFUSED = "Training runs are started, watched and stopped only in a browser on the machine of the server, at 127.0.0.1."
STOP = "It is interrupted as by Ctrl-C: its last checkpoint is kept, and it can be continued."
END = "Its process is killed. What it did after its last checkpoint is lost; it can be continued from there."


@cache
def shared_jobs(home: Path) -> Jobs:
    """Return the jobs of all visitors."""
    return Jobs(home)


async def build(services: Services, request: Request) -> None:
    shell.add_style(runs.__name__)
    if not is_local(request):
        ui.label(REFUSED).classes("r-card").props("role=alert")
        return
    foreign = request.headers.get("sec-fetch-site") == "cross-site"  # a link of another site fills in nothing
    query = {} if foreign else parse_qs(request.url.query)
    page = TrainingPage(services, {name: values[0] for name, values in query.items()})
    await page.poll()
    ui.timer(POLL, page.poll)
    await page.form.check()


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine to a name of this machine, which other sites cannot have."""
    try:
        peer = ipaddress.ip_address(request.client.host if request.client else "")
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        return False
    return peer.is_loopback and name in LOCAL_NAMES


class TrainingPage:
    def __init__(self, services: Services, given: Mapping[str, str]) -> None:
        self.services = services
        self.jobs, self.index = shared_jobs(services.folders[0]), shared_index(*services.folders)
        self.cards: dict[str, JobCard] = {}
        self._requested = given.get("resume")  # a link on the Runs page asks to continue it
        self._confirm = Confirmation()
        with ui.element("div").classes("t-page"):
            with ui.element("section").classes("r-card t-form").props('aria-label="new training"'):
                with ui.element("h1").classes("headline"):
                    ui.label("Train")
                self.form = TrainingForm(services, given, self._start)
                with ui.element("h2"):
                    ui.label("Continue")
                self._unfinished = ui.select([], label="an unfinished run", with_input=True)
                self._unfinished.props("outlined dense options-dense").classes("t-unfinished")
                resume = ui.button("Continue it", icon="restart_alt", on_click=self._resume_chosen)
                resume.props("outline no-caps").classes("t-resume")
            with ui.element("section").props('aria-label="training runs"') as self._list:
                self._empty = ui.label("No training was started here yet.").classes("r-card faint")

    async def _start(self, arguments: list[str], chosen: Mapping[str, str]) -> None:
        directory = self.jobs.new_directory(chosen["env"], chosen["algo"])
        await self._launch(arguments, directory, "Start this training?")

    async def _resume_chosen(self) -> None:
        require(bool(self._unfinished.value), "choose an unfinished run to continue")
        await self.resume(str(self._unfinished.value))

    async def resume(self, name: str) -> None:
        run = files.locate(self.services.folders, name)
        directory = run.folder.joinpath(*Path(name).parts[1:])
        await self._launch([f"resume={quote_value(str(directory))}"], directory, f"Continue {name}?")

    async def _launch(self, arguments: list[str], directory: Path, question: str) -> None:
        if await self._confirm.ask(question, train_command(arguments), "Start"):
            await asyncio.to_thread(self.jobs.start, arguments, directory)
            await self.poll()

    async def stop(self, job: Job) -> None:
        if await self._confirm.ask("Stop this training?", STOP, "Stop"):
            await asyncio.to_thread(job.stop)

    async def end(self, job: Job) -> None:
        if await self._confirm.ask("End it now?", END, "End it"):
            await asyncio.to_thread(job.kill)

    async def poll(self) -> None:
        jobs = await asyncio.to_thread(self.jobs.all)
        runs = [(job, run) for job in jobs if (run := files.run_of(self.services.folders, job.directory)) is not None]
        shown = runs[:MAX_CARDS]
        self._empty.set_visibility(not shown)
        for name in [name for name in self.cards if name not in {job.name for job, _ in shown}]:
            self.cards.pop(name).card.delete()
        with self._list:
            for place, (job, run) in enumerate(shown):
                if job.name not in self.cards:
                    self.cards[job.name] = JobCard(job, run, self)
                    self.cards[job.name].card.move(target_index=place)
        for card in list(self.cards.values()):
            await card.update()
        await asyncio.to_thread(self.index.refresh)
        names = [row["run"] for row in self.index.known if row["state"] == "unfinished"]
        if names != self._unfinished.options and not self._unfinished.is_deleted:
            value = self._requested if self._requested in names else self._unfinished.value
            self._requested = None if self._requested in names else self._requested
            self._unfinished.set_options(names, value=value if value in names else None)


class JobCard:
    """A training run: state, progress, curve and the end of its output."""

    def __init__(self, job: Job, run: RunPath, page: TrainingPage) -> None:
        self._job, self._run = job, run
        self._stamp: Stamp | None = None
        self._metrics = Metrics()

        def button(label: str, icon: str, name: str, on_click: Callable[[], Awaitable[None]]) -> ui.button:
            return ui.button(label, icon=icon, on_click=on_click).props("outline no-caps").classes(name)

        with ui.element("article").classes("r-card t-job") as self.card:
            self.card.props["aria-label"] = f"training {job.directory}"
            with ui.element("div").classes("t-head"):
                with ui.element("h2"):
                    ui.label(str(job.directory))
                self._state = ui.label().classes("r-tag t-state").props("role=status")
                self._stop = button("Stop", "stop", "t-stop", lambda: page.stop(job))
                self._end = button("End now", "dangerous", "t-end", lambda: page.end(job))
                self._continue = button("Continue", "restart_alt", "t-continue", lambda: page.resume(run.name))
                self._link = ui.link("in Runs", f"/runs?compare={quote(run.name)}").classes("t-link")
            ui.label(train_command(job.arguments)).classes("faint")
            self._progress = ui.label().classes("t-progress")
            self._bar = ui.element("progress").props("max=1 value=0 aria-label=progress")
            self._chart = Chart("learning curve")
            log = ui.element("pre").classes("r-config t-log")
            with log.props('tabindex=0 role=log aria-label="end of the output"'):
                self._log = ui.label()

    async def update(self) -> None:
        state, can_continue, output, changed = await asyncio.to_thread(self._read)
        if self.card.is_deleted:
            return
        self._state.text = state
        self._stop.set_visibility(state == "running")
        self._end.set_visibility(state == "stopping")
        self._continue.set_visibility(can_continue)
        self._link.set_visibility(state != "failed" or can_continue)
        self._log.text = "\n".join(output.splitlines()[-LOG_LINES:])
        done = progress(output, self._metrics.last("step"))
        self._bar.set_visibility(done is not None)
        if done is None:
            self._progress.text = "starting" if state == "running" else ""
        else:
            self._bar.props(f"value={done[0] / max(done[1], 1):.4f}")
            self._progress.text = f"{done[0]:,} of {done[1]:,} {done[2]}"
        if changed:
            metric = next(iter(curves.default_metrics({"": self._metrics})), None)
            self._chart.card.set_visibility(metric is not None)
            if metric is not None:
                lines = curves.run_curves({metric: self._metrics}, metric, curves.Scale())
                self._chart.draw_curves(metric, lines, curves.Scale(), curves.meaning(metric))

    def _read(self) -> tuple[str, bool, str, bool]:
        """Return the state, whether it can be continued, the end of the output and whether the metrics changed."""
        stamp = files.stamp(self._run, "metrics.csv")
        changed = stamp != self._stamp
        if changed:
            self._stamp = stamp
            try:
                self._metrics = files.read_metrics(self._run)
            except UserError:
                self._metrics = Metrics()
        return self._job.state(), self._job.can_continue(), self._job.output(), changed


class Confirmation:
    """A dialog that asks before something is done."""

    def __init__(self) -> None:
        with ui.dialog() as self._dialog, ui.card().classes("t-confirm"):
            self._question = ui.label().classes("headline")
            self._text = ui.label().classes("r-notes")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=lambda: self._dialog.submit(False)).props("flat no-caps")
                self._yes = ui.button("", on_click=lambda: self._dialog.submit(True)).props("no-caps")
                self._yes.classes("t-yes")
        self._dialog.props["aria-label"] = "confirmation"

    async def ask(self, question: str, text: str, action: str) -> bool:
        self._question.text, self._text.text, self._yes.text = question, text, action
        return bool(await self._dialog)
