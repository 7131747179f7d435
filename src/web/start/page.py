"""A card for each game, and one for the runs."""

from nicegui import ui
from starlette.requests import Request

from ..lab import Lab
from ..pages import PageEntry, discover


async def build(lab: Lab, request: Request) -> None:
    ui.label("Play against trained agents and solvers, and see how they evaluate each position.").classes("tagline")
    with ui.element("div").classes("cards"):
        for page in discover(lab.envs):
            if page.picture:
                _card(page)


def _card(page: PageEntry) -> None:
    with ui.link(target=page.path).classes("game-card"):
        ui.html(page.picture, sanitize=False).classes("picture")
        ui.label(page.title).classes("headline")
        ui.label(page.summary).classes("faint")
