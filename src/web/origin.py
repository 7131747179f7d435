"""Reject cross-origin requests, so that other sites cannot use the server through a visitor's browser."""

from functools import partial
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
        if scope["type"] not in ("http", "websocket") or _is_same_origin(Headers(scope=scope)):
            await self._app(scope, receive, partial(_send_unframed, send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": REFUSAL})
        else:
            await PlainTextResponse(REFUSAL, status_code=403)(scope, receive, send)


async def _send_unframed(send: Send, message: Message) -> None:
    if message["type"] == "http.response.start":
        MutableHeaders(scope=message)["Content-Security-Policy"] = "frame-ancestors 'none'"
    await send(message)


def _is_same_origin(headers: Headers) -> bool:
    return all(_matches(origin, headers.get("host", "")) for origin in headers.getlist("origin"))


def _matches(origin: str, host: str) -> bool:
    """Whether the origin `http://name:port` matches the host `name:port`; ports default to those of the scheme."""
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{host}")
        default = PORTS.get(theirs.scheme)
        addresses = [(part.hostname, part.port or default) for part in (theirs, ours)]
    except ValueError:  # the port is not a number
        return False
    return default is not None and addresses[0][0] is not None and addresses[0] == addresses[1]
