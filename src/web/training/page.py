"""A form that starts a training run, and the training runs of this machine."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from nicegui import ui
from starlette.requests import Request

from ...core.errors import require
from ...core.package import command
from ...core.runs.index import files
from ...core.runs.index.files import Progress, RunPath
from ...core.runs.index.rows import Row, shared_index
from ...core.runs.training_jobs import SWEEP, Job, Jobs, quote_value
from .. import runs, shell
from ..runs import address
from ..runs.details import ProgressLine
from ..services import Services
from .form import TrainingForm

NOTHING_YET = "No training was started here yet. Choose one of the presets, and see here how it learns."
POLL = 1.0  # seconds between looks at the jobs
MAX_CARDS = 10
LOG_LINES = 30
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
REFUSED = "Training runs are started, watched and stopped only in a browser on the machine of the server, at 127.0.0.1."
STOP = "It is interrupted as by Ctrl-C: its last checkpoint is kept, and it can be continued."
END = "Its process is killed. What it did after its last checkpoint is lost; it can be continued from there."

shared_jobs = cache(Jobs)  # of all visitors, by the folder of runs


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
                self._empty = ui.label(NOTHING_YET).classes("r-card faint t-empty")

    async def _start(self, arguments: list[str], chosen: Mapping[str, str]) -> None:
        is_sweep = arguments[:1] == [SWEEP]
        directory = self.jobs.new_sweep() if is_sweep else self.jobs.new_directory(chosen["env"], chosen["algo"])
        await self._launch(arguments, directory, "Start this training?")

    async def _resume_chosen(self) -> None:
        require(bool(self._unfinished.value), "choose an unfinished run to continue")
        await self.resume(str(self._unfinished.value))

    async def resume_job(self, job: Job, run: RunPath) -> None:
        if job.is_sweep:  # the same command goes on
            await self._launch(list(job.arguments), job.directory, "Continue this sweep?")
        else:
            await self.resume(run.name)

    async def resume(self, name: str) -> None:
        run = files.locate(self.services.folders, name)
        directory = run.folder.joinpath(*Path(name).parts[1:])
        await self._launch([f"resume={quote_value(str(directory))}"], directory, f"Continue {name}?")

    async def _launch(self, arguments: list[str], directory: Path, question: str) -> None:
        if await self._confirm.ask(question, command("train", *arguments), "Start"):
            await asyncio.to_thread(self.jobs.start, arguments, directory)
            await self.poll()

    async def stop(self, job: Job) -> None:
        if await self._confirm.ask("Stop this training?", STOP, "Stop"):
            await asyncio.to_thread(job.stop)

    async def end(self, job: Job) -> None:
        if await self._confirm.ask("End it now?", END, "End it"):
            await asyncio.to_thread(job.kill)

    async def poll(self) -> None:
        jobs = (await asyncio.to_thread(self.jobs.latest))[:MAX_CARDS]
        shown = {job.folder.name: job for job in jobs if files.run_of(self.services.folders, job.directory)}
        self._empty.set_visibility(not shown)
        for name in [name for name in self.cards if name not in shown]:
            self.cards.pop(name).card.delete()
        with self._list:
            for place, (name, job) in enumerate(shown.items()):
                if name not in self.cards:
                    self.cards[name] = JobCard(job, self)
                    self.cards[name].card.move(target_index=place)
        for card in list(self.cards.values()):
            await card.update()
        await asyncio.to_thread(self.index.refresh)
        names = [row["run"] for row in self.index.known if row["state"] == "unfinished"]
        if names != self._unfinished.options and not self._unfinished.is_deleted:
            value = self._requested if self._requested in names else self._unfinished.value
            self._requested = None if self._requested in names else self._requested
            self._unfinished.set_options(names, value=value if value in names else None)


class JobCard:
    """A training run or a sweep: state, progress, speed and time left; the end of its output if it has failed."""

    def __init__(self, job: Job, page: TrainingPage) -> None:
        self._job, self._page = job, page
        self._run = files.run_of(page.services.folders, job.directory)  # later the latest one of a sweep

        def button(label: str, icon: str, name: str, on_click: Callable[[], Awaitable[None]]) -> ui.button:
            return ui.button(label, icon=icon, on_click=on_click).props("outline no-caps").classes(name)

        with ui.element("article").classes("r-card t-job") as self.card:
            self.card.props["aria-label"] = f"training {job.directory}"
            with ui.element("div").classes("t-head"):
                with ui.element("h2"):
                    self._title = ui.link("", "#").classes("t-link")
                self._state = ui.label().classes("r-tag t-state").props("role=status")
                self._stop = button("Stop", "stop", "t-stop", lambda: page.stop(job))
                self._end = button("End now", "dangerous", "t-end", lambda: page.end(job))
                self._continue = button("Continue", "restart_alt", "t-continue", self._resume)
            self._progress = ProgressLine()
            ui.label(command("train", *job.arguments)).classes("faint t-words")
            with ui.element("pre").classes("r-config t-log") as self._output:
                self._output.props('tabindex=0 role=log aria-label="end of the output"')
                self._log = ui.label()

    async def _resume(self) -> None:
        assert self._run is not None
        await self._page.resume_job(self._job, self._run)

    async def update(self) -> None:
        state, can_continue, output, count, row, progress = await asyncio.to_thread(self._read)
        if self.card.is_deleted:
            return
        self._state.text = state
        self._stop.set_visibility(state == "running")
        self._end.set_visibility(state == "stopping")
        self._continue.set_visibility(can_continue)
        self._title.text = (f"Run {count} of a sweep: " if count else "") + (row["title"] if row else "New run")
        self._title.props["href"] = address(row["run"]) if row else ""
        self._title.update()
        self._output.set_visibility(state == "failed")
        self._log.text = "\n".join(output.splitlines()[-LOG_LINES:])
        self._progress.show(progress, state)

    def _read(self) -> tuple[str, bool, str, int, Row | None, Progress | None]:
        """Return the state, whether it can be continued, the output of a failure, and the latest run."""
        job, folders, state = self._job, self._page.services.folders, self._job.state()
        runs = job.runs()
        output, count = job.output() if state == "failed" else "", len(runs) if job.is_sweep else 0
        run = files.run_of(folders, runs[-1]) if runs else None
        if run is None:
            return state, False, output, count, None, None
        self._run = run
        return state, job.can_continue(), output, count, self._page.index.row(run), files.read_progress(run)


class Confirmation:
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
