"""The pages put together and served."""

import asyncio
import logging
import socket
from importlib import import_module

from nicegui import app, ui
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request

from src.web.lab import Lab
from src.web.origin import SameOriginMiddleware
from src.web.pages import PageEntry, discover
from src.web.shell import frame

log = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
RECONNECT_TIMEOUT = 120.0  # seconds a game waits for a browser that lost its connection
RESPONSE_TIMEOUT = 60.0  # seconds that a first visit may take: rules are imported, hundreds of runs are read


def mount(page: PageEntry, lab: Lab) -> None:
    """Serve a page at its path."""

    @ui.page(page.path, response_timeout=RESPONSE_TIMEOUT)
    async def visit(request: Request) -> None:
        module = await asyncio.to_thread(import_module, f"{page.package}.page")
        with frame(page, discover(lab.envs)):
            await module.build(lab, request)

    if page.routes is not None:
        page.routes(lab)


def serve(lab: Lab, host: str, listener: socket.socket, open_browser: bool) -> None:
    """Serve until it is interrupted. Connections wait at the listener, so the printed address works at once."""
    port = listener.getsockname()[1]
    for page in discover(lab.envs):
        mount(page, lab)
    app.add_middleware(SameOriginMiddleware)
    shown = f"[{host}]" if ":" in host else host
    if host in LOOPBACK:  # a name that a stranger's site points here is not ours
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]"])
    else:
        log.warning(
            "LISTENING ON %s: anyone who can reach this machine can play, read its runs and use its processor. "
            "There is no password. host=127.0.0.1 keeps it to yourself.",
            host,
        )
    app.on_startup(lambda: print(f"playing at http://{shown}:{port} - stop with Ctrl+C", flush=True))
    ui.run(
        host=host,
        port=port,
        fd=listener.fileno(),
        show=open_browser,
        title="board lab",
        favicon="♟️",
        reload=False,
        dark=None,
        reconnect_timeout=RECONNECT_TIMEOUT,
        show_welcome_message=False,
    )
