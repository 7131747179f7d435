"""Parts of the pages of runs: tables of settings and scores, progress, pictures, and the editor of notes."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from urllib.parse import urlencode

from nicegui import ui

from ...core.errors import UserError
from ...core.runs.index import files, notes
from ...core.runs.index.files import Progress, RunPath, Score
from ...core.runs.index.notes import Notes
from ...core.runs.index.query import differing_settings
from ...core.runs.index.rows import Row, format_value
from ...core.runs.report import as_percent, as_percents
from . import IMAGE_PATH

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
            show_table("r-differences", ["setting", *(row["run"] for row in rows)], listed)


def show_table(css: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Show a table; the first cell of each row is its head."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(text)}</td>" for text in rest)}</tr>'
        for first, *rest in rows
    )
    ui.html(f'<table class="{css}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>', sanitize=False)


class ProgressLine:
    """How far a training is, its speed and the time left."""

    def __init__(self) -> None:
        self._words = ui.label().classes("r-progress").props("role=status")
        self._bar = ui.element("progress").props("max=1 value=0 aria-label=progress")

    def show(self, progress: Progress | None, state: str) -> None:
        """Show the progress unless the run is finished."""
        self._bar.set_visibility(progress is not None and state != "finished")
        self._words.text = {"training": "starting", "running": "starting"}.get(state, "")
        if progress is not None and state != "finished":
            self._bar.props(f"value={progress.fraction:.4f}")
            active = "evaluating: all steps are done" if progress.fraction >= 1 else progress.words()
            stopped = f"stopped after {progress.done:,} of {progress.total:,} {progress.unit}"
            self._words.text = active if state in ("training", "running", "stopping") else stopped


@contextmanager
def errors_inline() -> Iterator[None]:
    """Show a `UserError` in place of the content."""
    try:
        yield
    except UserError as error:
        ui.label(str(error)).classes("r-fault")


def show_scores(scores: Sequence[Score]) -> None:
    rows = []
    for score in scores:
        counts = f"{score.wins}/{score.draws}/{score.losses}" + f", {score.aborted} aborted" * bool(score.aborted)
        interval = as_percents(score.low, score.high)
        rows.append((score.name, str(score.episodes), counts, as_percent(score.win_rate), interval))
    show_table("r-scores", ("against", "games", "won/drawn/lost", "win rate", "95% interval"), rows)


def show_pictures(run: RunPath) -> None:
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
    """A dialog for the name, notes and tags of a run. It stays open, with the text, if they cannot be saved."""

    def __init__(self, run: RunPath) -> None:
        self._run, self._before = run, Notes()
        with ui.dialog() as self._dialog, ui.card().classes("r-editor"):
            ui.label("Name, notes and tags").classes("r-name")
            self._name = ui.input("name", placeholder="what it trains").props("outlined").classes("w-full r-note-name")
            self._text = ui.textarea("notes").props("outlined autogrow").classes("w-full r-note-text")
            self._tags = ui.input("tags", placeholder="baseline, keep").props("outlined").classes("w-full r-note-tags")
            self._error = ui.label().classes("r-fault").props("role=alert")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=self._dialog.close).props("flat no-caps")
                ui.button("Save", on_click=self._save).props("no-caps").classes("r-save")
        self._dialog.props["aria-label"] = f"name, notes and tags of {run.name}"

    def open(self, found: Notes) -> None:
        self._before = found
        self._text.value, self._tags.value, self._error.text = found.text, ", ".join(found.tags), ""
        self._name.value = found.name
        self._dialog.open()

    async def _save(self) -> None:
        name, text, tags = (str(field.value or "") for field in (self._name, self._text, self._tags))
        after = Notes(text, tuple(tags.split(",")), name)
        try:
            await asyncio.to_thread(notes.write, self._run, self._before, after)
        except UserError as error:
            self._error.text = str(error)
        else:
            self._dialog.close()
