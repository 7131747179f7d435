"""The start page: games to continue, the latest runs, a board that plays itself, and a card for each game."""

import asyncio
import time
from importlib import import_module
from urllib.parse import quote

from nicegui import ui
from starlette.requests import Request

from .. import files, quoridor, shell
from ..event_loop import in_thread
from ..files import RunPath
from ..pages import discover
from ..saved_games import SavedGame
from ..services import Services

MAX_GAMES, MAX_RUNS = 3, 4  # listed
PACE = 1.2  # seconds between moves of the board that plays itself
TAGLINE = "Play against trained agents and solvers, and see how they evaluate each position."


async def build(services: Services, request: Request) -> None:
    shell.add_style(quoridor.__name__)  # for its board
    pages = discover(services.envs)
    titles = {page.path: page.title for page in pages}

    def read() -> tuple[list[SavedGame], list[RunPath]]:
        saved = services.games.latest(20) if services.games else []
        runs = sorted(files.find(services.folders), key=lambda run: -files.stamp(run, "metrics.csv").modified)
        return [game for game in saved if not game.result and game.path in titles][:MAX_GAMES], runs[:MAX_RUNS]

    games, runs = await in_thread(read)
    with ui.element("div").classes("st-top"):
        with ui.element("div").classes("st-words"):
            ui.label("board lab").classes("st-name").props("role=heading aria-level=1")
            ui.label(TAGLINE).classes("tagline")
            _show_links("Continue", [(_describe(game, titles[game.path]), game.address) for game in games])
            _show_links("Latest runs", [(run.name, f"/runs?compare={quote(run.name, safe='')}") for run in runs])
        with ui.element("div").classes("board st-board"):
            board = ui.html(sanitize=False)
    with ui.element("div").classes("cards"):
        for page in pages:
            if page.picture:
                with ui.link(target=page.path).classes("game-card"):
                    ui.html(page.picture, sanitize=False).classes("picture")
                    ui.label(page.title).classes("headline")
                    ui.label(page.summary).classes("faint")

    async def play_demo() -> None:
        module = await asyncio.to_thread(import_module, f"{__package__}.demo_game")  # its rules are slow to import
        ui.timer(PACE, module.DemoGame(services, board).move)

    ui.timer(0, play_demo, once=True)


def _show_links(title: str, links: list[tuple[str, str]]) -> None:
    """Show links below a title, if there are any."""
    if links:
        ui.label(title).classes("st-section").props("role=heading aria-level=2")
        for text, address in links:
            ui.link(text, address).classes("st-row")


def _describe(game: SavedGame, title: str) -> str:
    moves = "one move" if len(game.moves) == 1 else f"{len(game.moves)} moves"
    return f"{title}: {moves}, {ago(time.time() - game.updated)}"


def ago(seconds: float) -> str:
    """Return how long ago something was, in the largest unit that fits."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = int(seconds // size)
        if count:
            return f"{count} {unit}{'s' * (count > 1)} ago"
    return "just now"
