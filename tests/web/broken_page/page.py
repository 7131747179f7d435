"""A page that cannot be built."""

from starlette.requests import Request

from src.web.services import Services


async def build(services: Services, request: Request) -> None:
    raise ZeroDivisionError("a secret of the server")
