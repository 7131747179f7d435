"""The selected runs below the charts: the settings in which they differ, and a card for each run."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlencode

from nicegui import ui

from ...core.errors import UserError
from ...core.runs.trackers import ADDRESS
from .. import files
from ..files import RunPath
from . import IMAGE_PATH, notes
from .index import FILES, Row, format_value
from .notes import Notes
from .query import differing_settings

MAX_DIFFERENCES = 100  # settings listed


class Differences:
    """A table with a row for each setting that differs and a column for each run; hidden below two runs."""

    def __init__(self) -> None:
        with ui.element("section").classes("r-card").props('aria-label="differences of configuration"') as self._card:
            with ui.element("h2").classes("r-head"):
                ui.label("Differences of configuration")
            self._note = ui.label().classes("faint")
            self._place = ui.element("div").classes("r-scroll").props('tabindex=0 role=region aria-label="differences"')

    def show(self, rows: Sequence[Row]) -> None:
        self._card.set_visibility(len(rows) > 1)
        found = differing_settings(rows) if len(rows) > 1 else {}
        first = f"; the first {MAX_DIFFERENCES} are shown" if len(found) > MAX_DIFFERENCES else ""
        same = f"the {len(rows)} selected runs have the same settings"
        self._note.text = f"{len(found)} settings differ{first}" if found else same
        self._place.clear()
        self._place.set_visibility(bool(found))
        listed = [[name, *(format_value(one) or "-" for one in found[name])] for name in list(found)[:MAX_DIFFERENCES]]
        with self._place:
            _show_table("r-differences", ["setting", *(row["run"] for row in rows)], listed, row_heads=True)


def _show_table(css: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, row_heads: bool = False) -> None:
    """Show a table; with `row_heads`, the first cell of each row is its head."""
    with ui.element("table").classes(css):
        with ui.element("thead"), ui.element("tr"):
            for text in heads:
                with ui.element("th").props("scope=col"):
                    ui.label(text)
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for place, text in enumerate(row):
                        is_head = row_heads and place == 0
                        with ui.element("th").props("scope=row") if is_head else ui.element("td"):
                            ui.label(text)


class Details:
    """The card of a run, kept up to date. An open editor of its notes is outside of what is rebuilt."""

    def __init__(self, run: RunPath) -> None:
        self.run = run
        self._version: object = None  # of what is shown
        self._open = False  # its configuration
        with ui.element("section").classes("r-card r-detail") as self.card:
            self.card.props["aria-label"] = f"details of {run.name}"
            self._content = ui.element("div")
        self._editor = NotesEditor(run)

    async def update(self, state: str) -> None:
        """Build the card again if a file or the state of the run has changed."""

        def version() -> object:
            watched = [name for name in (*FILES, ADDRESS) if name != "metrics.csv"]  # which the charts show
            return state, [(name, files.stamp(self.run, name)) for name in (*watched, *files.pictures(self.run))]

        now = await asyncio.to_thread(version)
        if now == self._version or self._content.is_deleted:
            return
        self._version = now
        self._content.clear()
        with self._content:
            self._show(state)

    def _show(self, state: str) -> None:
        with ui.element("h2").classes("r-name"):
            ui.label(self.run.name)
        with _errors_inline():
            _show_scores(self.run, state)
        with _errors_inline():
            address = files.wandb_address(self.run)
            if address is not None:
                ui.link("on wandb", address, new_tab=True)
        with _errors_inline():
            found = notes.read(self.run)
            with ui.element("div").classes("r-tags"):
                for tag in found.tags:
                    ui.label(tag).classes("r-tag")
                edit = ui.button("notes and tags", icon="edit", on_click=lambda: self._editor.open(found))
                edit.props("flat no-caps").classes("r-edit")
            if found.text:
                ui.label(found.text).classes("r-notes")
        _show_pictures(self.run)
        config = ui.expansion("config.yaml", icon="tune", value=self._open, on_value_change=self._on_open)
        with config.classes("w-full"), _errors_inline():
            text = files.content(self.run, "config.yaml", files.MAX_TEXT) or b""
            with ui.element("pre").classes("r-config").props("tabindex=0 role=region") as place:
                ui.label(text.decode(errors="replace"))
            place.props["aria-label"] = f"config.yaml of {self.run.name}"

    def _on_open(self) -> None:
        self._open = not self._open


@contextmanager
def _errors_inline() -> Iterator[None]:
    """Show a `UserError` in place of the content."""
    try:
        yield
    except UserError as error:
        ui.label(str(error)).classes("r-fault")


def _show_scores(run: RunPath, state: str) -> None:
    scores = files.read_scores(run)
    if not scores:
        missing = "training; it is evaluated at the end" if state == "training" else "stopped before its evaluation"
        ui.label(missing).classes("faint r-missing")
        if state == "unfinished":
            ui.link("continue it", f"/training?{urlencode({'resume': run.name})}").classes("r-continue")
        return
    rows = []
    for score in scores:
        counts = f"{score.wins}/{score.draws}/{score.losses}" + f", {score.aborted} aborted" * bool(score.aborted)
        interval = f"{100 * score.low:.1f}-{100 * score.high:.1f}%"
        rows.append((score.name, str(score.episodes), counts, f"{100 * score.win_rate:.1f}%", interval))
    _show_table("r-scores", ("against", "games", "won/drawn/lost", "win rate", "95% interval"), rows)


def _show_pictures(run: RunPath) -> None:
    """Show pictures that link to their full size; their space is reserved while they load."""
    with ui.element("div").classes("r-pictures"):
        for name in files.pictures(run):
            version = files.stamp(run, name).modified  # another address for another picture
            address = f"{IMAGE_PATH}?{urlencode({'run': run.name, 'file': name, 'v': version})}"
            with ui.element("figure") as figure:
                with ui.link(target=address, new_tab=True):
                    image = ui.element("img")
                    image.props["src"], image.props["alt"] = address, name
                ui.label(name).classes("faint")
            size = files.picture_size(run, name)
            if size is not None:
                figure.style(f"--width: {size[0]}px; --ratio: {size[0]} / {size[1]}")


class NotesEditor:
    """A dialog for the notes and tags of a run. It stays open, with the text, if they cannot be saved."""

    def __init__(self, run: RunPath) -> None:
        self._run, self._before = run, Notes()
        with ui.dialog() as self._dialog, ui.card().classes("r-editor"):
            ui.label(f"Notes and tags of {run.name}").classes("r-name")
            self._text = ui.textarea("notes").props("outlined autogrow").classes("w-full r-note-text")
            self._tags = ui.input("tags", placeholder="baseline, keep").props("outlined").classes("w-full r-note-tags")
            self._error = ui.label().classes("r-fault").props("role=alert")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=self._dialog.close).props("flat no-caps")
                ui.button("Save", on_click=self._save).props("no-caps").classes("r-save")
        self._dialog.props["aria-label"] = f"notes and tags of {run.name}"

    def open(self, found: Notes) -> None:
        self._before = found
        self._text.value, self._tags.value, self._error.text = found.text, ", ".join(found.tags), ""
        self._dialog.open()

    async def _save(self) -> None:
        after = Notes(str(self._text.value or ""), tuple(str(self._tags.value or "").split(",")))
        try:
            await asyncio.to_thread(notes.write, self._run, self._before, after)
        except UserError as error:
            self._error.text = str(error)
        else:
            self._dialog.close()
