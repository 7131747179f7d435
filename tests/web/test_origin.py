"""Requests from other sites are rejected, tested over raw connections."""

import http.client
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    folder: Path = tmp_path_factory.mktemp("origin")
    with serving(folder) as address:
        host, port = address.removeprefix("http://").split(":")
        wait_until_listening(host, int(port))
        yield host, int(port)


def wait_until_listening(host: str, port: int) -> None:
    """Wait until the server listens; it prints its address just before."""
    for _ in range(200):
        try:
            socket.create_connection((host, port), timeout=5).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the server does not listen")


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


def test_no_other_site_can_frame_a_page(server: tuple[str, int]):
    connection = http.client.HTTPConnection(*server)
    connection.request("GET", "/training")
    assert connection.getresponse().headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    connection.close()


def test_a_program_that_names_no_origin_is_let_in(server: tuple[str, int]):
    assert status(server, "/", {}) == 200
    assert status(server, SOCKET, UPGRADE) == 101
