"""The page of a run: what it learned, games of its checkpoints, how it differs from the defaults, and its command."""

import shlex
from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from typing import Any
from urllib.parse import quote, urlencode

from nicegui import ui

from ...core.errors import UserError
from ...core.package import command
from ...core.runs.index import curves, files, notes
from ...core.runs.index.curves import Scale
from ...core.runs.index.files import RunPath
from ...core.runs.index.rows import FILES, Row, format_value, settings_of, shared_index
from ...core.runs.trackers import ADDRESS
from .. import shell
from ..event_loop import in_thread
from ..pages import discover
from ..services import Services
from . import PAGE
from .charts import ChartGrid
from .details import NotesEditor, ProgressLine, errors_inline, show_pictures, show_scores, show_table
from .watch import CHECKPOINTS, Watch

POLL = 1.0  # seconds
CHARTS = 1
MISSING = {"training": "training; it is evaluated at the end", "model": "not part of a model of the zoo"}
SEATS = {"tictactoe": "o", "minesweeper": "agent", "deployment": "player_2"}  # of an agent in the address of a game
SEAT = "second"  # in other games


def play_address(services: Services, row: Row) -> str | None:
    """Return the address of a game against the agent of a run, or None if there is no page for its game."""
    env = row["env"]
    for page in discover(services.envs):
        game = page.path.rpartition("/")[2]
        if page.games and (env == game or (env.startswith(f"{game}_") and page.package.endswith(f".{game}"))):
            choices = {SEATS.get(game, SEAT): f"run:{row['run']}"}
            if game == "deployment":
                scenarios = import_module("..deployment.match_setup", __package__).SCENARIO_BY_ENV
                if env not in scenarios:
                    return None
                choices["scenario"] = scenarios[env]
            return f"{page.path}?{urlencode(choices)}"
    return None


def again_address(services: Services, overrides: Sequence[str]) -> str:
    """Return the address of the form with the settings of a run."""
    groups = services.training_groups()
    pairs = [word.partition("=")[::2] for word in overrides]
    chosen = {key: value for key, value in pairs if key in groups and value in groups[key]}
    rest = [word for word, (key, _) in zip(overrides, pairs, strict=True) if key not in chosen]
    return f"/training?{urlencode(chosen | {'overrides': shlex.join(rest)})}"


async def build(services: Services, name: str) -> None:
    run = files.locate(services.folders, name)
    page = RunPage(services, run, await in_thread(shared_index(*services.folders).row, run))
    await page.poll()
    ui.timer(POLL, page.poll)
    ui.on("theme", page.draw)


class RunPage:
    def __init__(self, services: Services, run: RunPath, row: Row) -> None:
        self.services, self.run, self.row = services, run, row
        self.index = shared_index(*services.folders)
        self._version: object = None  # of what is shown besides the curves
        self._watched: list[str] = []  # checkpoints
        self._metrics = files.Metrics()
        self._editor = NotesEditor(run)
        with ui.element("section").classes("r-card r-run-head").props('aria-label="run"'):
            with ui.element("div").classes("r-bar"):
                with ui.element("h1").classes("headline grow"):
                    self._title = ui.label().classes("r-title")
                self._state = ui.label().classes("r-tag r-state").props("role=status")
                edit = ui.button(icon="edit", on_click=self._edit).props('flat round aria-label="name, notes and tags"')
                edit.classes("r-edit")
            self._progress = ProgressLine()
            self._notes = ui.element("div")
            with ui.element("div").classes("r-bar r-links"):
                self._play = ui.link("Play against it", "#").classes("r-action r-play")
                again = ui.link("Train again with changes", again_address(services, row["overrides"]))
                again.classes("r-action r-again")
                ui.link("Compare", f"{PAGE.path}?compare={quote(run.name)}").classes("r-action r-compare")
                self._train = ui.link("", "#").classes("r-action r-continue")
        with ui.element("div").classes("r-run"):
            with ui.element("section").classes("r-card r-watch-card").props('aria-label="games"') as self._watch_card:
                self._heading = _heading("Watch it learn")
                self._watch_place = ui.element("div")
            with ui.element("section").classes("r-card").props('aria-label="curves"') as self._charts_card:
                _heading("What it learned")
                self._grid = ChartGrid()
            self._facts = ui.element("div").classes("r-facts")

    def _edit(self) -> None:
        self._editor.open(notes.read(self.run))

    async def poll(self) -> None:
        """Show what has changed."""

        def read() -> tuple[object, Row, files.Progress | None, files.Metrics]:
            row = self.index.row(self.run)
            watched = [name for name in (*FILES, ADDRESS) if name != "metrics.csv"]  # which the charts show
            watched += [f"checkpoints/{name}.safetensors" for name in CHECKPOINTS] + files.pictures(self.run)
            version = row["state"], row["error"], [(name, files.stamp(self.run, name)) for name in watched]
            try:
                metrics = files.read_metrics(self.run, curves.columns_of(()))
            except UserError:
                metrics = files.NO_METRICS
            return version, row, files.read_progress(self.run), metrics

        version, self.row, progress, metrics = await in_thread(read)
        if self._title.is_deleted:
            return
        self._progress.show(progress, self.row["state"])
        if metrics is not self._metrics:
            self._metrics = metrics
            await self.draw()
        if version != self._version:
            self._version = version
            await self._show()

    async def draw(self) -> None:
        runs = {self.row["title"]: self._metrics}
        names = curves.default_metrics(runs)[:CHARTS]
        self._charts_card.set_visibility(bool(names))
        self._grid.choose(names)
        await self._grid.draw(runs, {}, Scale(), "none")

    async def _show(self) -> None:
        row, run = self.row, self.run
        self._title.text, self._state.text = row["title"], row["state"]
        ui.page_title(f"{row['title']} · board lab")
        self._notes.clear()
        with self._notes:
            if row["error"]:
                ui.label(row["error"]).classes("r-fault")
            with ui.element("div").classes("r-tags"):
                for tag in row["tags"]:
                    ui.label(tag).classes("r-tag")
            if row["notes"]:
                ui.label(row["notes"]).classes("r-notes")
        sizes = {name: files.stamp(run, f"checkpoints/{name}.safetensors") for name in CHECKPOINTS}
        saved = {name: size for name, size in sizes.items() if size.size >= 0}
        play = play_address(self.services, row) if "best" in saved else None
        self._play.set_visibility(play is not None)
        self._play.props["href"] = play or ""
        self._train.set_visibility(row["state"] in ("training", "unfinished"))
        self._train.text = "Stop it on the page Train" if row["state"] == "training" else "Continue it"
        self._train.props["href"] = f"/training?{urlencode({'resume': run.name})}"
        later = "last" if row["state"] == "training" and "last" in saved else "best"
        watched = [name for name in ("first", later) if name in saved]
        self._watch_card.set_visibility(bool(watched))
        self._heading.text = "Watch it learn" if len(watched) > 1 else "Watch it play"
        if watched != self._watched:
            self._watched = watched
            self._watch_place.clear()
            with self._watch_place:
                if watched:
                    Watch(self.services, self.run, watched)
        self._facts.clear()
        with self._facts:
            await self._show_facts(saved)

    async def _show_facts(self, saved: dict[str, files.Stamp]) -> None:
        row, run = self.row, self.run
        with _card("Final evaluation"):
            if row["scores"]:
                show_scores(row["scores"])
            else:
                missing = MISSING.get(row["state"], "stopped before its evaluation")
                ui.label(missing).classes("faint r-missing")
            with errors_inline():
                online = files.wandb_address(run)
                if online is not None:
                    ui.link("on wandb", online, new_tab=True)
        with _card("Command"):
            shell.command_line(command("train", *row["overrides"]))
            ui.label(run.name).classes("faint r-path")
        with _card("Differences from the defaults"), errors_inline():
            defaults = await in_thread(self.services.default_settings, row["env"], row["algo"])
            show_table("r-differences", ("setting", "default", "this run"), differences(row, defaults))
        with _card("Checkpoints"):
            show_table("r-scores", ("checkpoint", "size", "saved"), [checkpoint_row(*one) for one in saved.items()])
        if files.pictures(run):
            with _card("Pictures"):
                show_pictures(run)
        with _card("Configuration"), ui.expansion("config.yaml", icon="tune").classes("w-full"), errors_inline():
            text = files.content(run, "config.yaml", files.MAX_TEXT) or b""
            with ui.element("pre").classes("r-config").props('tabindex=0 role=region aria-label="config.yaml"'):
                ui.label(text.decode(errors="replace"))


def _heading(words: str) -> ui.label:
    with ui.element("h2"):
        return ui.label(words)


def _card(title: str) -> ui.element:
    with ui.element("section").classes("r-card").props(f'aria-label="{title}"') as card:
        _heading(title)
    return card


def checkpoint_row(name: str, stamp: files.Stamp) -> tuple[str, str, str]:
    size = f"{stamp.size / 1e6:,.1f} MB" if stamp.size >= 1e5 else f"{stamp.size / 1e3:,.1f} kB"
    return CHECKPOINTS[name].lower(), size, datetime.fromtimestamp(stamp.modified / 1e9).strftime("%-d %b %H:%M:%S")


def differences(row: Row, defaults: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the settings of a run that are not the defaults of its environment and algorithm."""
    own, usual = row["settings"], settings_of(defaults)
    names = [name for name in own | usual if own.get(name) != usual.get(name)]
    return [(name, format_value(usual.get(name)) or "-", format_value(own.get(name)) or "-") for name in names]
