"""A page that is built only once it is released."""

import asyncio
import threading

from nicegui import ui
from starlette.requests import Request

from src.web.services import Services
from tests.waiting import PATIENCE

released = threading.Event()


async def build(services: Services, request: Request) -> None:
    await asyncio.to_thread(released.wait, PATIENCE)
    ui.label("built at last")
