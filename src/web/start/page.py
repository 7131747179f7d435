"""The start page: games to continue, the latest runs, a board that plays itself, and a card for each game."""

import asyncio
import time
from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from urllib.parse import quote

from nicegui import ui
from starlette.requests import Request

from .. import files, shell
from ..event_loop import in_thread
from ..files import RunPath
from ..pages import PageEntry, discover
from ..quoridor.style import CSS as BOARD_CSS
from ..saved_games import SavedGame
from ..services import Services
from .style import CSS

CONTINUE, LATEST = 3, 4  # games and runs listed
PACE = 1.2  # seconds between moves of the board that plays itself
TAGLINE = "Play against trained agents and solvers, and see how they evaluate each position."


async def build(services: Services, request: Request) -> None:
    shell.add_style(BOARD_CSS + CSS)
    pages = discover(services.envs)
    titles = {page.path: page.title for page in pages}
    games, runs = await in_thread(lambda: (_unfinished(services, titles), _latest_runs(services)))
    with ui.element("div").classes("st-top"):
        with ui.element("div").classes("st-words"):
            ui.label("board lab").classes("st-name").props("role=heading aria-level=1")
            ui.label(TAGLINE).classes("tagline")
            _list("Continue", [(_described(game, titles[game.path]), game.address) for game in games])
            _list("Latest runs", [(run.name, f"/runs?compare={quote(run.name, safe='')}") for run in runs])
        with ui.element("div").classes("board st-board"):
            board = ui.html(sanitize=False)
    with ui.element("div").classes("cards"):
        for page in pages:
            if page.picture:
                _card(page)
    ui.timer(0, lambda: _exhibit(services, board), once=True)


async def _exhibit(services: Services, board: ui.html) -> None:
    """Let a board play itself; its rules are slow to import."""
    module = await asyncio.to_thread(import_module, f"{__package__}.exhibition")
    ui.timer(PACE, module.Exhibition(services, board).move)


def _list(title: str, rows: list[tuple[str, str]]) -> None:
    """Show links below a title, if there are any."""
    if rows:
        ui.label(title).classes("st-section").props("role=heading aria-level=2")
        for text, address in rows:
            ui.link(text, address).classes("st-row")


def _unfinished(services: Services, titles: Mapping[str, str]) -> list[SavedGame]:
    games = services.games.latest(20) if services.games else []
    return [game for game in games if not game.result and game.path in titles][:CONTINUE]


def _latest_runs(services: Services) -> list[RunPath]:
    runs = sorted(files.find(services.folders), key=lambda run: -files.stamp(run, "metrics.csv").modified)
    return runs[:LATEST]


def _described(game: SavedGame, title: str) -> str:
    moves = "one move" if len(game.moves) == 1 else f"{len(game.moves)} moves"
    return f"{title}: {moves}, {ago(time.time() - game.updated)}"


def ago(seconds: float) -> str:
    """Return how long ago something was, in the largest unit that fits."""
    for unit, size in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        count = int(seconds // size.total_seconds())
        if count:
            return f"{count} {unit}{'s' * (count > 1)} ago"
    return "just now"


def _card(page: PageEntry) -> None:
    with ui.link(target=page.path).classes("game-card"):
        ui.html(page.picture, sanitize=False).classes("picture")
        ui.label(page.title).classes("headline")
        ui.label(page.summary).classes("faint")
