"""Many pages at once: what is counted are errors and the order of events, not seconds."""

import asyncio
import threading
from pathlib import Path

import pytest
from nicegui import Client, ui

from experiments.bench.page_load import Tab, plant_flags
from src.web.app import WORKERS
from src.web.event_loop import Busy, wait_turn
from src.web.pages import discover
from tests.waiting import PATIENCE
from tests.web.browser import serving


def test_events_are_handled_between_two_pieces_of_work():
    order: list[str] = []

    async def piece(number: int) -> None:
        await wait_turn()
        order.append(f"piece {number}")
        asyncio.get_running_loop().call_soon(order.append, "event")

    async def all_at_once() -> None:
        await asyncio.gather(*map(piece, range(3)))

    for _ in range(2):  # each in a new event loop
        order.clear()
        asyncio.run(all_at_once())
        assert order[:5] == ["piece 0", "event", "piece 1", "event", "piece 2"]


@pytest.mark.slow
def test_all_pages_open_at_once_when_the_server_starts(tmp_path: Path):
    async def restore_tabs(address: str) -> None:
        tabs = await asyncio.gather(*(Tab(address).open(page.path) for page in discover([])))
        assert [tab.status for tab in tabs if not tab.having("lab-problem")] == [200] * len(tabs)
        for tab in tabs:
            await tab.close()

    with serving(tmp_path, fresh=True) as address:  # a fork would have imported some of it
        asyncio.run(restore_tabs(address))


@pytest.mark.slow
def test_every_page_answers_while_all_workers_search(tmp_path: Path):
    async def visit(address: str) -> None:
        searching = [await Tab(address).open("/quoridor?first=mcts&second=mcts") for _ in range(WORKERS)]
        pages = [page.path for page in discover([])] * 2
        tabs = await asyncio.gather(*(Tab(address).open(path) for path in pages))
        assert [tab.status for tab in (*searching, *tabs)] == [200] * (len(searching) + len(tabs))
        assert not [tab for tab in tabs if tab.having("lab-problem")]
        player = await Tab(address).open("/minesweeper?board=16x30x99")
        assert len(await plant_flags(player)) > 0
        for tab in (*searching, *tabs, player):
            await tab.close()

    with serving(tmp_path) as address:
        asyncio.run(visit(address))


def test_a_search_that_is_not_needed_any_more_does_not_begin():
    done: list[str] = []

    async def wait_for_a_thread() -> None:
        release = threading.Event()
        with Client(ui.page("")):
            busy = Busy()
        full = [asyncio.ensure_future(busy.search(lambda: True, release.wait, PATIENCE)) for _ in range(4)]
        needed = asyncio.ensure_future(busy.search(lambda: True, done.append, "needed"))
        dropped = asyncio.ensure_future(busy.search(lambda: False, done.append, "dropped"))
        await asyncio.sleep(0)
        assert busy.working
        release.set()
        await asyncio.gather(*full, needed)
        with pytest.raises(asyncio.CancelledError):
            await dropped
        assert not busy.working

    asyncio.run(wait_for_a_thread())
    assert done == ["needed"]
