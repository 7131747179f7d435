"""Quoridor against a search, another person, or with two agents to watch."""

import asyncio
from typing import Any

from nicegui import ui

from src.web import shell
from src.web.lab import Lab, finished_runs
from src.web.players import chosen


def page(lab: Lab) -> None:
    @ui.page(shell.QUORIDOR.path)
    async def quoridor(first: str = "", second: str = "") -> None:
        game, people = await asyncio.to_thread(_set_up, lab)
        from src.web.quoridor import match, screen, style

        ui.add_css(style.CSS)
        with shell.frame(shell.QUORIDOR):
            seated = list(match.DEFAULT)
            for seat, key in enumerate((first, second)):
                with shell.refusals_told():
                    if key:
                        chosen(people, key)
                        seated[seat] = key
            screen.Screen(lab, game, people, seated)


def _set_up(lab: Lab) -> tuple[Any, dict[str, Any]]:
    """The rules bring a compiler along, which no other page has to wait for."""
    from src.web.quoridor.match import players

    runs = [run for run in finished_runs(lab.folders) if run.env == "quoridor"]
    return lab.game("quoridor"), players(runs)
