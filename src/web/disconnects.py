"""Requests whose browser has gone away, such as a visit that is left before it is answered."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
