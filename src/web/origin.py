"""Pages of other sites may not speak to the server through the browser of somebody who has it open."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PORTS = {"http": 80, "https": 443}
REFUSAL = "this server answers to its own pages only"
POLICY_VIOLATION = 1008  # of the websocket protocol


class SameOriginMiddleware:
    """Refuse requests and websockets whose Origin is another host or port than they are sent to.

    A browser names the origin with every websocket and with every request that could change something; programs that
    are no browsers need not.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or _is_own(Headers(scope=scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": REFUSAL})
        else:
            await PlainTextResponse(REFUSAL, status_code=403)(scope, receive, send)


def _is_own(headers: Headers) -> bool:
    return all(_is_same(origin, headers.get("host", "")) for origin in headers.getlist("origin"))


def _is_same(origin: str, host: str) -> bool:
    """Whether `http://name:port` is the `name:port` that was asked; where one leaves out the port, so may the other."""
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{host}")
        default = PORTS.get(theirs.scheme)
        addresses = [(part.hostname, part.port or default) for part in (theirs, ours)]
    except ValueError:  # a port that is no number
        return False
    return default is not None and addresses[0][0] is not None and addresses[0] == addresses[1]
