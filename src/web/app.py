"""Mount the pages and serve them, only to requests of their own origin."""

import asyncio
import logging
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import IO
from urllib.parse import urlsplit

from fastapi.exception_handlers import http_exception_handler
from nicegui import Client, app, ui
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..core.errors import UserError
from .event_loop import SEARCHES, in_thread, wait_turn
from .pages import PREPARATION, PageEntry, discover
from .services import Services
from .shell import Link, add_style, frame, problem

log = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
RECONNECT_TIMEOUT = 120.0  # seconds before the page of a disconnected browser is deleted; its game is on disk
CONNECT_TIMEOUT = 60.0  # seconds for a browser to connect after it got the page
RESPONSE_TIMEOUT = 60.0  # seconds for the frame of a page on a busy machine
WORKERS = 32  # threads, so that a page does not wait until the searches of others are done

PORTS = {"http": 80, "https": 443}
REFUSAL = "cross-origin requests are not allowed"
POLICY_VIOLATION = 1008  # websocket close code


def mount(page: PageEntry, services: Services) -> None:
    """Register a page at its path, and its games below it."""

    async def visit(request: Request) -> None:
        await wait_turn()
        with frame(page.title, page):
            with ui.element("div").classes("lab-placeholder").props("aria-busy=true") as placeholder:
                if page.picture:
                    ui.html(page.picture, sanitize=False).classes("board")
                ui.label(f"{page.title} …").classes("faint").props("role=status")
            await ui.context.client.connected(CONNECT_TIMEOUT)  # sends what was built so far
            await _build(page, services, request)
            placeholder.delete()

    if page.routes is not None:  # before the addresses of runs, which take every path below
        page.routes(services)
    below = [f"{page.path}/{{key}}"] * page.games + [f"{page.path}/{{run:path}}"] * page.runs
    for path in (page.path, *below):
        ui.page(path, response_timeout=RESPONSE_TIMEOUT)(visit)


async def _build(page: PageEntry, services: Services, request: Request) -> None:
    """Build the content of a page, and show it once it is complete, or why it cannot be shown."""
    elsewhere = [Link("Start a new game", page.path)] if page.games else []
    with ui.element("div").classes("w-full") as content:
        content.set_visibility(False)
        try:
            module = await in_thread(import_module, f"{page.package}.page")
            add_style(page.package)
            await module.build(services, request)
        except UserError as error:
            content.clear()
            problem("This page cannot be shown", str(error), *elsewhere)
        except Exception:
            log.exception("%s cannot be built", request.url.path)
            content.clear()
            problem("Something went wrong", "The page could not be built; the log of the server says why.", *elsewhere)
        content.set_visibility(True)


def add_error_pages() -> None:
    """Replace the error pages of the framework by ones with the navigation, and log no error that a page shows."""
    logging.getLogger("nicegui").addFilter(
        lambda record: record.exc_info is None or not isinstance(record.exc_info[1], UserError)
    )

    async def not_found(request: Request, error: Exception) -> Response:
        endpoint = request.scope.get("endpoint")
        if endpoint is not None and endpoint is not app and isinstance(error, HTTPException):  # an image, not a page
            return await http_exception_handler(request, error)
        with Client(ui.page(""), request=request) as client, frame("Not found"):
            problem("There is no such page", f"{request.url.path[:80]} does not exist.")
        return client.build_response(request, 404)

    def broken() -> None:
        with frame("Error"):
            problem("Something went wrong", "The page could not be built; the log of the server says why.")

    app.add_exception_handler(404, not_found)
    app.on_page_exception(broken)


class SameOriginMiddleware:
    """Reject requests and websockets whose Origin differs from their Host, and frames of the pages in other sites.

    Browsers send the origin with every websocket and every request that can change state; other clients need not.
    In a frame of another site a visitor's clicks could be stolen.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_unframed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Content-Security-Policy"] = "frame-ancestors 'none'"
            await send(message)

        headers = Headers(scope=scope) if scope["type"] in ("http", "websocket") else Headers()
        if all(_matches(origin, headers.get("host", "")) for origin in headers.getlist("origin")):
            await self._app(scope, receive, send_unframed)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": REFUSAL})
        else:
            await PlainTextResponse(REFUSAL, status_code=403)(scope, receive, send)


class DisconnectMiddleware:
    """Drop the errors of requests that nobody waits for: the framework reports them as errors of the server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = False

        async def watched() -> Message:
            nonlocal gone
            message = await receive()
            gone = gone or message["type"] == "http.disconnect"
            return message

        try:
            await self._app(scope, watched, send)
        except RuntimeError:
            if not gone:
                raise


def _matches(origin: str, host: str) -> bool:
    """Whether the origin `http://name:port` matches the host `name:port`; a missing port is the scheme's own."""
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{host}")
        default = PORTS.get(theirs.scheme)
        addresses = [(part.hostname, part.port or default) for part in (theirs, ours)]
    except ValueError:  # the port is not a number
        return False
    return default is not None and addresses[0][0] is not None and addresses[0] == addresses[1]


def serve(
    services: Services, host: str, listener: socket.socket, open_browser: bool, compiler: IO[str] | None = None
) -> None:
    """Serve until interrupted. The socket already listens, so the printed address works at once.

    `compiler` is the output of a process that compiles kernels.
    """
    port = listener.getsockname()[1]
    for page in discover(services.envs):
        mount(page, services)
    add_error_pages()
    app.add_middleware(DisconnectMiddleware)
    app.add_middleware(SameOriginMiddleware)
    shown = f"[{host}]" if ":" in host else host
    if host in LOOPBACK:  # against DNS rebinding
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]"])
    else:
        log.warning(
            "LISTENING ON %s: anyone who can reach this machine can play, read its runs, write notes on them and use "
            "its processor. There is no password. Use host=127.0.0.1 to allow this machine only.",
            host,
        )

    def started() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(WORKERS))
        print(f"playing at http://{shown}:{port} - stop with Ctrl+C", flush=True)
        arguments = services, discover(services.envs), compiler
        threading.Thread(target=PREPARATION.run, args=arguments, daemon=True).start()

    app.on_startup(started)
    app.on_shutdown(lambda: SEARCHES.shutdown(wait=False, cancel_futures=True))
    ui.run(
        host=host,
        port=port,
        fd=listener.fileno(),
        show=open_browser,
        title="board lab",
        favicon="♟️",
        reload=False,
        dark=None,
        language="en-US",
        reconnect_timeout=RECONNECT_TIMEOUT,
        show_welcome_message=False,
    )
