"""The details of one run, kept up to date: results, notes, pictures and configuration."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlencode

from nicegui import ui

from ...core.errors import UserError
from ...core.runs.trackers import ADDRESS
from .. import files
from ..files import RunPath, Stamp
from . import notes
from .images import PICTURE
from .index import FILES
from .notes import Notes


class Version(NamedTuple):
    """Identifies what is shown."""

    stamps: tuple[Stamp, ...]
    pictures: tuple[tuple[str, Stamp], ...]
    state: str


def version_of(run: RunPath, state: str) -> Version:
    watched = (name for name in (*FILES, ADDRESS) if name != "metrics.csv")  # which the charts show
    pictures = tuple((name, files.stamp(run, name)) for name in files.pictures(run))
    return Version(tuple(files.stamp(run, name) for name in watched), pictures, state)


class Details:
    """The card of a run. An open editor of its notes is outside of what is rebuilt."""

    def __init__(self, run: RunPath) -> None:
        self.run, self._version, self._open = run, None, False
        with ui.element("section").classes("r-card r-detail") as self.card:
            self.card.props["aria-label"] = f"details of {run.name}"
            self._content = ui.element("div")
        self._editor = NotesEditor(run)

    _version: Version | None

    async def update(self, state: str) -> None:
        """Build the card again if a file or the state of the run has changed."""
        version = await asyncio.to_thread(version_of, self.run, state)
        if version == self._version or self._content.is_deleted:
            return
        self._version = version
        self._content.clear()
        with self._content:
            self._show(state)

    def _show(self, state: str) -> None:
        with ui.element("h2").classes("r-name"):
            ui.label(self.run.name)
        with _show_errors_inline():
            _scores(self.run, state)
        with _show_errors_inline():
            address = files.wandb_address(self.run)
            if address is not None:
                ui.link("on wandb", address, new_tab=True)
        with _show_errors_inline():
            self._notes()
        _pictures(self.run)
        opened = ui.expansion("config.yaml", icon="tune", value=self._open, on_value_change=self._on_open)
        with opened.classes("w-full"), _show_errors_inline():
            text = files.content(self.run, "config.yaml", files.MAX_TEXT) or b""
            with ui.element("pre").classes("r-config").props("tabindex=0 role=region") as place:
                ui.label(text.decode(errors="replace"))
            place.props["aria-label"] = f"config.yaml of {self.run.name}"

    def _on_open(self) -> None:
        self._open = not self._open

    def _notes(self) -> None:
        found = notes.read(self.run)
        with ui.element("div").classes("r-tags"):
            for tag in found.tags:
                ui.label(tag).classes("r-tag")
            edit = ui.button("notes and tags", icon="edit", on_click=lambda: self._editor.open(found))
            edit.props("flat no-caps").classes("r-edit")
        if found.text:
            ui.label(found.text).classes("r-notes")


class NotesEditor:
    """A dialog for the notes and tags of a run. It stays open, with the text, if they cannot be saved."""

    def __init__(self, run: RunPath) -> None:
        self._run, self._before = run, Notes()
        with ui.dialog() as self._dialog, ui.card().classes("r-editor"):
            ui.label(f"Notes and tags of {run.name}").classes("r-name")
            self._text = ui.textarea("notes").props("outlined autogrow").classes("w-full r-note-text")
            self._tags = ui.input("tags", placeholder="baseline, keep").props("outlined").classes("w-full r-note-tags")
            self._fault = ui.label().classes("r-fault").props("role=alert")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=self._dialog.close).props("flat no-caps")
                ui.button("Save", on_click=self._save).props("no-caps").classes("r-save")
        self._dialog.props["aria-label"] = f"notes and tags of {run.name}"

    def open(self, found: Notes) -> None:
        self._before = found
        self._text.value, self._tags.value, self._fault.text = found.text, ", ".join(found.tags), ""
        self._dialog.open()

    async def _save(self) -> None:
        after = Notes(str(self._text.value or ""), tuple(str(self._tags.value or "").split(",")))
        try:
            await asyncio.to_thread(notes.write, self._run, self._before, after)
        except UserError as error:
            self._fault.text = str(error)
        else:
            self._dialog.close()


def _pictures(run: RunPath) -> None:
    """Show pictures that link to their full size; their space is reserved while they load."""
    with ui.element("div").classes("r-pictures"):
        for name in files.pictures(run):
            version = files.stamp(run, name).modified  # another address for another picture
            address = f"{PICTURE}?{urlencode({'run': run.name, 'file': name, 'v': version})}"
            with ui.element("figure") as figure:
                with ui.link(target=address, new_tab=True):
                    image = ui.element("img")
                    image.props["src"], image.props["alt"] = address, name
                ui.label(name).classes("faint")
            size = files.picture_size(run, name)
            if size is not None:
                figure.style(f"--width: {size[0]}px; --ratio: {size[0]} / {size[1]}")


def _scores(run: RunPath, state: str) -> None:
    scores = files.read_scores(run)
    if not scores:
        missing = "training; it is evaluated at the end" if state == "training" else "stopped before its evaluation"
        ui.label(missing).classes("faint r-missing")
        if state == "unfinished":
            ui.link("continue it", f"/training?{urlencode({'resume': run.name})}").classes("r-continue")
        return
    heads = ("against", "games", "won/drawn/lost", "win rate", "95% interval")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    with ui.element("table").classes("r-scores"):
        ui.html(f"<tr>{head}</tr>", sanitize=False, tag="thead")
        with ui.element("tbody"):
            for score in scores:
                with ui.element("tr"):
                    counts = f"{score.wins}/{score.draws}/{score.losses}"
                    counts += f", {score.aborted} aborted" if score.aborted else ""
                    interval = f"{100 * score.low:.1f}-{100 * score.high:.1f}%"
                    for cell in (score.name, str(score.episodes), counts, f"{100 * score.win_rate:.1f}%", interval):
                        with ui.element("td"):
                            ui.label(cell)


@contextmanager
def _show_errors_inline() -> Iterator[None]:
    """Show a `UserError` in place of the content."""
    try:
        yield
    except UserError as error:
        ui.label(str(error)).classes("r-fault")
