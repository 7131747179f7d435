"""Mount the pages and serve them."""

import asyncio
import logging
import socket
from importlib import import_module

from nicegui import app, ui
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request

from .lab import Lab
from .origin import SameOriginMiddleware
from .pages import PageEntry, discover
from .shell import frame

log = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
RECONNECT_TIMEOUT = 120.0  # seconds before the game of a disconnected browser is deleted
RESPONSE_TIMEOUT = 60.0  # seconds for a first visit, which imports rules and reads all runs


def mount(page: PageEntry, lab: Lab) -> None:
    """Register a page at its path."""

    @ui.page(page.path, response_timeout=RESPONSE_TIMEOUT)
    async def visit(request: Request) -> None:
        module = await asyncio.to_thread(import_module, f"{page.package}.page")
        with frame(page, discover(lab.envs)):
            await module.build(lab, request)

    if page.routes is not None:
        page.routes(lab)


def serve(lab: Lab, host: str, listener: socket.socket, open_browser: bool) -> None:
    """Serve until interrupted. The socket already listens, so the printed address works at once."""
    port = listener.getsockname()[1]
    for page in discover(lab.envs):
        mount(page, lab)
    app.add_middleware(SameOriginMiddleware)
    shown = f"[{host}]" if ":" in host else host
    if host in LOOPBACK:  # against DNS rebinding
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]"])
    else:
        log.warning(
            "LISTENING ON %s: anyone who can reach this machine can play, read its runs and use its processor. "
            "There is no password. Use host=127.0.0.1 to allow this machine only.",
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
