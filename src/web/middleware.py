"""Middleware: reject cross-origin requests, and drop the errors of abandoned ones."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PORTS = {"http": 80, "https": 443}
REFUSAL = "cross-origin requests are not allowed"
POLICY_VIOLATION = 1008  # websocket close code


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
