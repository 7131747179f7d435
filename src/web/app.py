"""The pages put together and served."""

import logging

from nicegui import app, ui
from starlette.middleware.trustedhost import TrustedHostMiddleware

from src.web import deployment, minesweeper, quoridor, runs, start, tictactoe
from src.web.lab import Lab
from src.web.origin import SameOriginMiddleware

log = logging.getLogger(__name__)

PAGES = (start, tictactoe, minesweeper, quoridor, deployment, runs)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PATIENCE = 120.0  # seconds a game waits for a browser that lost its connection


def serve(lab: Lab, host: str, port: int, open_browser: bool) -> None:
    """Serve until it is interrupted."""
    for page in PAGES:
        page.page(lab)
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
        show=open_browser,
        title="board lab",
        favicon="♟️",
        reload=False,
        dark=None,
        reconnect_timeout=PATIENCE,
        show_welcome_message=False,
    )
