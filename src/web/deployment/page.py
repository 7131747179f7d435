"""A frame at once, and the game in it as soon as it is built."""

from functools import cache
from typing import TYPE_CHECKING

from nicegui import ui
from starlette.requests import Request

from src.web import shell
from src.web.deployment import keys
from src.web.deployment.style import CSS
from src.web.lab import Lab

if TYPE_CHECKING:
    from src.web.deployment.screen import Hall


@cache
def _hall(lab: Lab) -> "Hall":
    """It brings a compiler along, which no other page has to wait for."""
    from src.web.deployment.screen import Hall

    return Hall(lab)


async def build(lab: Lab, request: Request) -> None:
    ui.add_css(CSS)
    ui.add_body_html(keys.SCRIPT)
    room = ui.element("div").classes("w-full")
    with room:
        busy = _awaited()

    async def move_in() -> None:
        await (await busy.do(_hall, lab)).move_in(room, busy, dict(request.query_params))

    ui.timer(0, move_in, once=True)


def _awaited() -> shell.Busy:
    """The room that the board will take, so that nothing jumps when it comes."""
    with ui.element("div").classes("dp w-full"):
        with ui.element("div").classes("dp-left"):
            ui.element("div").classes("dp-status-room")
            ui.label("Setting up the board").classes("dp-headline")
            with ui.element("div").classes("board dp-board grid place-items-center"):
                busy = shell.Busy()
        ui.element("div").classes("dp-right")
    return busy
