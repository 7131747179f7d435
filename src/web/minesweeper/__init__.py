"""Minesweeper: play, see the odds, ask or watch an agent, and have any position analysed."""

import asyncio
from collections.abc import Awaitable, Callable

from nicegui import ui

from src.web import shell
from src.web.lab import Lab


def page(lab: Lab) -> None:
    @ui.page(shell.MINESWEEPER.path)
    async def minesweeper(board: str = "", guess: str = "", odds: str = "", agent: str = "") -> None:
        build = await asyncio.to_thread(_load)
        with shell.frame(shell.MINESWEEPER):
            await build(lab, {"board": board, "guess": guess, "odds": odds, "agent": agent})


def _load() -> Callable[[Lab, dict[str, str]], Awaitable[None]]:
    """The page itself, which brings a compiler along that no other page has to wait for."""
    from src.web.minesweeper.screen import build

    return build
