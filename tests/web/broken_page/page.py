"""A page that cannot be built."""

from starlette.requests import Request

from src.web.lab import Lab


async def build(lab: Lab, request: Request) -> None:
    raise ZeroDivisionError("a secret of the server")
