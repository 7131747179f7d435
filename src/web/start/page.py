"""The start page: a card for each game, one with a board that plays itself, games to continue and the latest runs."""

import asyncio
import time
from importlib import import_module

from nicegui import ui
from starlette.requests import Request

from ...core.runs.index import files
from ...core.runs.index.rows import Row, shared_index
from .. import quoridor, shell
from ..event_loop import in_thread
from ..pages import GENERIC, discover
from ..runs import address
from ..runs.table import format_cell
from ..saved_games import SavedGame
from ..services import Services

MAX_GAMES, MAX_RUNS = 3, 4  # listed
PACE = 1.2  # seconds between moves of the board that plays itself
TAGLINE = "Play against trained agents and solvers, and see how they evaluate each position."


async def build(services: Services, request: Request) -> None:
    shell.add_style(quoridor.__name__)  # for its board
    pages = discover(services.envs)
    titles = {page.path: page.title for page in pages}

    def read() -> tuple[list[SavedGame], list[Row]]:
        saved = services.games.latest(20) if services.games else []
        runs = sorted(files.find(services.folders), key=lambda run: -files.stamp(run, "metrics.csv").modified)
        rows = [shared_index(*services.folders).row(run) for run in runs[:MAX_RUNS]]
        return [game for game in saved if not game.result and game.path in titles][:MAX_GAMES], rows

    games, runs = await in_thread(read)
    with ui.element("div").classes("st-top"):
        ui.label("board lab").classes("st-name").props("role=heading aria-level=1")
        ui.label(TAGLINE).classes("faint")
    board = None
    with ui.element("div").classes("cards"):
        for page in pages:
            if page.picture and page.games and page.package != GENERIC:
                with ui.link(target=page.path).classes("game-card"):
                    picture = ui.html(page.picture, sanitize=False).classes("picture")
                    board = picture if page.package == quoridor.__name__ else board
                    ui.label(page.title).classes("headline")
                    ui.label(page.summary).classes("faint")
    with ui.element("div").classes("st-line"):
        ui.label("More games").classes("st-section").props("role=heading aria-level=2")
        for page in pages:
            if page.package == GENERIC:
                ui.link(page.title, page.path).classes("st-row")
    if games:
        with ui.element("div").classes("st-line"):
            ui.label("Continue").classes("st-section").props("role=heading aria-level=2")
            for game in games:
                moves = "one move" if len(game.moves) == 1 else f"{len(game.moves)} moves"
                words = f"{titles[game.path]}: {moves}, {ago(time.time() - game.updated)}"
                ui.link(words, game.address).classes("st-row")
    if runs:
        with ui.element("div").classes("st-line"):
            ui.label("Latest runs").classes("st-section").props("role=heading aria-level=2")
            for title, path in (("All runs", "/runs"), ("Train one", "/training")):
                ui.link(title, path).classes("st-row")
        with ui.element("div").classes("st-runs"):
            for row in runs:
                with ui.link(target=address(row["run"])).classes("st-row st-run"):
                    ui.label(row["title"]).classes("grow")
                    ui.label(row["state"]).classes("faint")
                    ui.label(format_cell(row, "win_rate").partition(" ")[0]).classes("st-rate")

    async def play_demo() -> None:
        module = await asyncio.to_thread(import_module, f"{__package__}.demo_game")  # its rules are slow to import
        if board is not None:
            ui.timer(PACE, module.DemoGame(services, board).move)

    ui.timer(0, play_demo, once=True)


def ago(seconds: float) -> str:
    """Return how long ago something was, in the largest unit that fits."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = int(seconds // size)
        if count:
            return f"{count} {unit}{'s' * (count > 1)} ago"
    return "just now"
