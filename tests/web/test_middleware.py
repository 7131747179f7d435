"""Requests from other sites are rejected, and abandoned ones are no errors."""

import asyncio

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from src.web.app import DisconnectMiddleware, SameOriginMiddleware

HOST = "127.0.0.1:8080"
FOREIGN = [
    "http://evil.example",
    "http://evil.example:8080",
    "https://127.0.0.1",
    "http://127.0.0.1:1",
    "http://127.0.0.1.evil.example:8080",
    "http://127.0.0.1:8080@evil.example",
    "file://",
    "null",
    "http://127.0.0.1:x",
    "",
]


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await PlainTextResponse("a page")(scope, receive, send)


def ask(kind: str, **headers: str) -> Message:
    """Return the first message that a request or a websocket with these headers is answered with."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": f"{kind}.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    encoded = [(name.encode(), text.encode()) for name, text in headers.items()]
    asyncio.run(SameOriginMiddleware(answer)({"type": kind, "headers": encoded, "method": "GET"}, receive, send))
    return sent[0]


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_page_of_another_site_gets_no_websocket_and_no_answer(origin: str):
    assert ask("http", host=HOST, origin=origin)["status"] == 403
    assert ask("websocket", host=HOST, origin=origin)["type"] == "websocket.close"


@pytest.mark.parametrize("headers", [{"origin": f"http://{HOST}"}, {}], ids=["our page", "a program without an origin"])
def test_who_belongs_here_gets_both_but_no_other_site_can_frame_it(headers: dict[str, str]):
    answered = ask("http", host=HOST, **headers)
    assert answered["status"] == 200
    assert (b"content-security-policy", b"frame-ancestors 'none'") in answered["headers"]
    assert ask("websocket", host=HOST, **headers)["type"] == "websocket.accept"


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
