"""A form that starts a training, and the trainings of this machine."""

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from nicegui import events, ui
from starlette.requests import Request

from ...core.errors import UserError, require
from .. import files, shell
from ..runs.page import RESCAN, index_of
from ..runs.style import CSS as RUNS_CSS
from ..services import Services
from . import PAGE, form, jobs
from .card import JobCard
from .form import USUAL, Choices
from .jobs import Jobs
from .style import CSS

POLL = 1.0  # seconds between looks at the trainings
CHECK_AFTER = 0.3  # seconds without a change before the form is checked
SHOWN = 10  # trainings
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
REFUSED = "Trainings are started, watched and stopped only from a browser on the machine of the server, at 127.0.0.1."


@cache
def jobs_in(home: Path) -> Jobs:
    """Return the trainings, shared by all visitors."""
    return Jobs(home)


async def build(services: Services, request: Request) -> None:
    shell.add_style(RUNS_CSS + CSS)
    if not is_local(request):
        ui.label(REFUSED).classes("r-card").props("role=alert")
        return
    foreign = request.headers.get("sec-fetch-site") == "cross-site"  # a link of another site fills in nothing
    page = TrainingPage(services, {} if foreign else parse_qs(request.url.query))
    await page.poll()
    ui.timer(POLL, page.poll)
    await page.check()


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine to a name of this machine, which other sites cannot have."""
    try:
        peer = ipaddress.ip_address(request.client.host if request.client else "")
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        return False
    return peer.is_loopback and name in LOCAL_NAMES


def _options(names: Sequence[str], usual: str | None = None) -> dict[str, str]:
    """Return the titles of the options of a group, of which the configuration chooses `usual`."""
    return {USUAL: f"as configured: {usual}" if usual else "as configured"} | {name: name for name in names}


class TrainingPage:
    def __init__(self, services: Services, query: dict[str, list[str]]) -> None:
        self.services, self.groups = services, services.training_groups()
        self.jobs, self.index = jobs_in(services.folders[0]), index_of(*services.folders)
        self.cards: dict[str, JobCard] = {}
        self._checks = 0  # number of the latest check, which ends those before it
        given = {name: values[0] for name, values in query.items()}
        chosen = {group: given.get(group, USUAL) for group in self.groups}
        self.choices = Choices({g: name if name in self.groups[g] else USUAL for g, name in chosen.items()})
        self.choices = self.choices._replace(overrides=given.get("overrides", ""))
        self._requested = given.get("resume")  # a link on the Runs page asks to continue it
        self._confirm = Confirmation()
        with ui.element("div").classes("t-page"):
            with ui.element("section").classes("r-card t-form").props('aria-label="new training"'):
                self._build_form()
                self._build_resume()
            with ui.element("section").props("aria-label=trainings") as self._list:
                self._empty = ui.label("No training was started here yet.").classes("r-card faint")

    def _build_form(self) -> None:
        with ui.element("h1").classes("headline"):
            ui.label("Train")
        self._fields: dict[str, ui.select | ui.textarea] = {}
        for group, names in self.groups.items():
            field = ui.select(_options(names), value=self.choices.groups[group], label=group, with_input=True)
            field.on_value_change(lambda event, group=group: self._on_group(group, event))
            self._fields[group] = field.props("outlined dense options-dense hide-bottom-space").classes(f"t-{group}")
        text = ui.textarea("overrides", value=self.choices.overrides, placeholder="seed=1 algo.lr=0.001")
        text.on_value_change(self._on_overrides).props("outlined dense autogrow hide-bottom-space debounce=200")
        self._fields["overrides"] = text.classes("t-overrides")
        self._checked = ui.label().classes("t-checked faint").props("role=status")
        with ui.element("div").classes("t-command"):
            with ui.element("code"):
                self._command = ui.label()
            copy = ui.button(icon="content_copy", on_click=self._copy).props("flat round").classes("t-copy")
            copy.props["aria-label"] = "copy the command"
        self._start = ui.button("Start training", icon="play_arrow", on_click=shell.handler(self._on_start))
        self._start.props("no-caps").classes("t-start")

    def _build_resume(self) -> None:
        with ui.element("h2"):
            ui.label("Continue")
        self._unfinished = ui.select([], label="an unfinished run", with_input=True)
        self._unfinished.props("outlined dense options-dense").classes("t-unfinished")
        resume = ui.button("Continue it", icon="restart_alt", on_click=shell.handler(self._on_resume))
        resume.props("outline no-caps").classes("t-resume")

    async def check(self) -> Mapping[str, str] | None:
        """Compose the configuration of the form and show what is wrong with it, at the field concerned.

        Return the chosen options, or None if it is not valid or was changed meanwhile.
        """
        self._checks = number = self._checks + 1
        for field in self._fields.values():
            field.props(remove="error")
        try:
            arguments = self.choices.arguments()
            self._command.text = form.shown(arguments)
            self._checked.text = "checking"
            chosen = await asyncio.to_thread(self.services.check_training, arguments)
        except UserError as error:
            if number == self._checks and not self._checked.is_deleted:
                self._show_fault(str(error))
            return None
        if number != self._checks or self._checked.is_deleted:
            return None
        usual = {group: name for group, name in chosen.items() if self.choices.groups.get(group) == USUAL}
        self._name_usual({group: name for group, name in usual.items() if name != "None"})
        self._checked.text = "valid"
        self._checked.classes(remove="r-fault")
        self._start.enable()
        return chosen

    def _name_usual(self, usual: Mapping[str, str]) -> None:
        """Say in each group what the configuration chooses."""
        for group, names in self.groups.items():
            field, options = self._fields[group], _options(names, usual.get(group))
            assert isinstance(field, ui.select)
            if field.options != options:
                field.set_options(options, value=field.value)

    def _show_fault(self, message: str) -> None:
        self._checked.text = message
        self._checked.classes(add="r-fault")
        named = message.partition("=")[0]
        chosen = self.choices.groups.get(named, USUAL) != USUAL
        self._fields[named if chosen else "overrides"].props(add="error")
        self._start.disable()

    async def _on_group(self, group: str, event: events.ValueChangeEventArguments) -> None:
        with shell.show_errors():
            name = shell.checked(event.value or USUAL, (USUAL, *self.groups[group]))
            self.choices = self.choices._replace(groups={**self.choices.groups, group: name})
            await self._changed()

    async def _on_overrides(self, event: events.ValueChangeEventArguments) -> None:
        self.choices = self.choices._replace(overrides=str(event.value or ""))
        await self._changed()

    async def _changed(self) -> None:
        chosen = {group: name for group, name in self.choices.groups.items() if name != USUAL}
        chosen |= {"overrides": self.choices.overrides} if self.choices.overrides else {}
        shell.set_address(f"{PAGE.path}?{urlencode(chosen)}" if chosen else PAGE.path)
        self._checks = number = self._checks + 1
        await asyncio.sleep(CHECK_AFTER)
        if number == self._checks:
            await self.check()

    def _copy(self) -> None:
        ui.clipboard.write(self._command.text)
        ui.notify("copied", position="top")

    async def _on_start(self) -> None:
        chosen = await self.check()
        if chosen is None:
            raise UserError("this training cannot be started: see the message in the form")
        arguments = self.choices.arguments()
        directory = self.jobs.new_directory(chosen["env"], chosen["algo"])
        await self._launch(arguments, directory, "Start this training?")

    async def _on_resume(self) -> None:
        require(bool(self._unfinished.value), "choose an unfinished run to continue")
        await self.resume(str(self._unfinished.value))

    async def resume(self, name: str) -> None:
        run = files.locate(self.services.folders, name)
        directory = run.folder.joinpath(*Path(name).parts[1:])
        await self._launch([f"resume={jobs.quoted(str(directory))}"], directory, f"Continue {name}?")

    async def _launch(self, arguments: list[str], directory: Path, question: str) -> None:
        if await self._confirm.ask(question, form.shown(arguments), "Start"):
            await asyncio.to_thread(self.jobs.start, arguments, directory)
            await self.poll()

    async def stop(self, name: str) -> None:
        what = "It is interrupted as by Ctrl-C: its last checkpoint is kept, and it can be continued."
        if await self._confirm.ask("Stop this training?", what, "Stop"):
            await asyncio.to_thread(self.jobs.stop, name)

    async def end(self, name: str) -> None:
        what = "Its process is killed. What it did after its last checkpoint is lost; it can be continued from there."
        if await self._confirm.ask("It does not stop by itself?", what, "End now"):
            await asyncio.to_thread(self.jobs.end, name)

    async def poll(self) -> None:
        every = await asyncio.to_thread(self.jobs.all)
        runs = [(job, run) for job in every if (run := files.run_of(self.services.folders, job.directory)) is not None]
        found = runs[:SHOWN]
        self._empty.set_visibility(not found)
        for name in [name for name in self.cards if name not in {job.name for job, _ in found}]:
            self.cards.pop(name).card.delete()
        with self._list:
            for place, (job, run) in enumerate(found):
                if job.name not in self.cards:
                    self.cards[job.name] = JobCard(job, run, self.stop, self.end, self.resume)
                    self.cards[job.name].card.move(target_index=place)
        for card in list(self.cards.values()):
            await card.update()
        await self._list_unfinished()

    async def _list_unfinished(self) -> None:
        await asyncio.to_thread(self.index.refresh, RESCAN)
        names = [row["run"] for row in self.index.known if row["state"] == "unfinished"]
        if names != self._unfinished.options and not self._unfinished.is_deleted:
            value = self._requested if self._requested in names else self._unfinished.value
            self._requested = None if self._requested in names else self._requested
            self._unfinished.set_options(names, value=value if value in names else None)


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
