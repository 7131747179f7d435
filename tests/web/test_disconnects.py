"""Errors of requests whose browser has gone away."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from src.web.disconnects import DisconnectMiddleware


async def unanswered(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    raise RuntimeError("No response returned.")


def visit(first_message: str) -> None:
    async def receive() -> Message:
        return {"type": first_message}

    async def send(message: Message) -> None:
        raise AssertionError("nothing is sent")

    asyncio.run(DisconnectMiddleware(unanswered)({"type": "http"}, receive, send))


def test_an_error_counts_only_if_somebody_waits_for_the_answer():
    visit("http.disconnect")
    with pytest.raises(RuntimeError):
        visit("http.request")
