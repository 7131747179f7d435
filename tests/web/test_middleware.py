"""Requests from other sites are rejected, tested over raw connections, and abandoned ones are no errors."""

import asyncio
import http.client
import socket
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
from starlette.types import Message, Receive, Scope, Send

from src.web.middleware import DisconnectMiddleware
from tests.waiting import wait_until
from tests.web.browser import serving

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
POLLING = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
FOREIGN = [
    "http://evil.example",
    "http://evil.example:{port}",
    "https://127.0.0.1",
    "http://127.0.0.1:1",
    "http://127.0.0.1.evil.example:{port}",
    "http://127.0.0.1:{port}@evil.example",
    "file://",
    "null",
    "http://127.0.0.1:x",
    "",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with serving(tmp_path_factory.mktemp("origin")) as address:
        host, port = address.removeprefix("http://").split(":")
        wait_until(lambda: listens(host, int(port)), "the server, which prints its address just before")
        yield host, int(port)


def listens(host: str, port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex((host, port)) == 0


def status(server: tuple[str, int], path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection(*server, timeout=60)
    connection.request("GET", path, headers=headers)
    try:
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_page_of_another_site_gets_no_websocket_and_no_answer(server: tuple[str, int], origin: str):
    headers = {"Origin": origin.format(port=server[1])}
    assert status(server, SOCKET, UPGRADE | headers) == 403
    assert status(server, POLLING, headers) == 403
    assert status(server, "/runs", headers) == 403


def test_our_own_pages_get_both(server: tuple[str, int]):
    host, port = server
    headers = {"Origin": f"http://{host}:{port}"}
    assert status(server, SOCKET, UPGRADE | headers) == 101
    assert status(server, POLLING, headers) == 200
    assert status(server, "/", headers) == 200
    named = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    assert status(server, SOCKET, UPGRADE | named) == 101
    assert status(server, SOCKET, UPGRADE | {"Host": "evil.example", "Origin": "http://evil.example"}) in (400, 403)

    assert status(server, "/", {}) == 200, "a program that names no origin is let in"
    assert status(server, SOCKET, UPGRADE) == 101


def test_no_other_site_can_frame_a_page(server: tuple[str, int]):
    with urlopen("http://{}:{}/training".format(*server)) as answer:
        assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"


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
