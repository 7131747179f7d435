"""Independent browser tabs, and games without a page of their own.

The server runs in this process, to be looked into. It cannot be started twice, so all tests that need it are here.
"""

import gc
import weakref
from collections.abc import Iterator
from functools import partial
from html import unescape
from importlib import import_module
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from selenium import webdriver

from tests.web.browser import PATIENCE, Browser
from tests.web.inner import SLOW, TestLab, Thinker, serving_inside
from tests.web.slow_page import page as slow_page

GAMES = {
    "/tictactoe?x=you&o=you": "src.web.tictactoe.page.TicTacToePage",
    "/minesweeper": "src.web.minesweeper.page.MinesweeperPage",
    "/quoridor": "src.web.quoridor.page.QuoridorPage",
    "/deployment": "src.web.deployment.match_page.DeploymentPage",
    "/play/nim": "src.web.generic.page.GenericPage",
}


@pytest.fixture(scope="module")
def inner_address(driver: webdriver.Chrome) -> Iterator[str]:
    with serving_inside() as address:
        yield address


@pytest.fixture
def inner(driver: webdriver.Chrome, inner_address: str) -> Iterator[Browser]:
    """Return the browser, connected to the server in this process."""
    browser = Browser(driver, inner_address)
    yield browser
    browser.close_other_tabs()
    driver.get("about:blank")


def made_of(name: str, monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[Any]]:
    """Return a list of references to all objects of a class that are made from now on.

    Not by gc.get_objects(): its references break tuples that other threads are building.
    """
    module, _, kind = name.rpartition(".")
    page, made = getattr(import_module(module), kind), []
    construct = page.__init__

    def remembered(self: Any, *arguments: Any, **options: Any) -> None:
        construct(self, *arguments, **options)
        made.append(weakref.ref(self))

    monkeypatch.setattr(page, "__init__", remembered)
    return made


@pytest.mark.parametrize(("path", "name"), GAMES.items())
def test_a_closed_tab_frees_its_game(inner: Browser, monkeypatch: pytest.MonkeyPatch, path: str, name: str):
    games, first = made_of(name, monkeypatch), inner.tab
    inner.new_tab(path)
    inner.until(lambda: games, "a game")
    (game,) = games
    assert game() is not None
    inner.driver.close()
    inner.go_to(first)
    inner.until(lambda: gc.collect() >= 0 and game() is None, f"{name} to go")


def test_a_long_search_freezes_no_other_page(inner: Browser):
    thinker = TestLab.thinker
    inner.open("/tictactoe?x=you&o=minimax")
    thinking = inner.tab
    try:
        inner.click("[data-id=cell-4]")
        assert thinker.asked.wait(PATIENCE)
        inner.new_tab("/tictactoe?x=you&o=you")
        inner.click("[data-id=cell-0]")
        inner.wait_text(".headline", "Your turn: O")
        inner.go_to(thinking)
        assert inner.text(".headline") == "O to move", "it thinks on"
    finally:
        thinker.released.set()
    inner.wait_text(".headline", "Your turn: X")


def test_a_page_that_takes_long_shows_its_frame_and_board_at_once(inner: Browser):
    with urlopen(f"{inner.address}/slow") as answer:
        html = answer.read().decode()
    assert "Quoridor" in html, "the navigation"
    assert SLOW.picture in unescape(html).replace('\\"', '"'), "the board"
    inner.driver.get(f"{inner.address}/slow")
    inner.wait_text(".lab-placeholder", "Slow")
    assert not inner.all(".lab-problem")
    slow_page.released.set()
    inner.wait_text("main", "built at last")
    inner.until(lambda: not inner.all(".lab-placeholder"), "the placeholder to go")


def test_a_page_that_breaks_can_be_tried_again(inner: Browser):
    inner.open("/broken")
    inner.wait_text(".lab-problem", "Something went wrong")
    assert "secret" not in inner.text("body")
    assert len(inner.all("nav a")) > 5
    opened = inner.script("return performance.timeOrigin")
    inner.click(".try-again")
    inner.until(lambda: inner.script("return performance.timeOrigin") != opened, "another attempt")
    inner.wait_text(".lab-problem", "Something went wrong")


def test_an_unknown_address_has_the_navigation(inner: Browser):
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"{inner.address}/nothing/here")
    inner.open("/nothing/<b>here")
    inner.wait_text(".lab-problem", "There is no such page")
    inner.click("nav a[href='/tictactoe']")
    inner.wait_text(".headline", "Your turn: X")


def test_a_hint_stops_neither_the_player_nor_the_clock_of_anybody_else_and_is_cancelled(
    inner: Browser, monkeypatch: pytest.MonkeyPatch
):
    thinker = TestLab.thinker = Thinker()
    pages = made_of("src.web.minesweeper.page.MinesweeperPage", monkeypatch)
    inner.open("/minesweeper?board=9x9x10&agent=rules")
    inner.wait_text(".ms-left", "10")
    inner.click("[data-id=cell-40]")
    inner.wait_text(".headline", "Playing")
    page = pages[-1]()
    assert page is not None
    inner.until(lambda: page.timekeeper.running, "the clock")
    inner.click(".ask")
    assert thinker.asked.wait(PATIENCE)
    assert not page.timekeeper.running, "it stands while the page is waiting"
    hidden = next(cell for cell in range(81) if page.match.value(cell) < 0)
    inner.right_click(f"[data-id=cell-{hidden}]")
    inner.wait_text(".ms-left", "9")
    inner.wait_text(".ask", "Cancel")
    inner.click(".ask")
    inner.wait_text(".ask", "Hint")
    thinker.released.set()
    inner.until(lambda: not page.busy.working and page.timekeeper.running, "the agent to end")
    assert page.advice is None


def test_six_tabs_opened_at_once_all_work(inner: Browser):
    paths = ["/tictactoe?x=you&o=you", "/minesweeper", "/quoridor", "/deployment", "/runs", "/play/nim"]
    first = inner.tab
    inner.script("for (const path of arguments[0]) open(path, '_blank')", [inner.address + path for path in paths])
    inner.until(lambda: len(inner.driver.window_handles) == 7, "the tabs")
    titles = set()
    for tab in inner.driver.window_handles:
        if tab != first:
            inner.go_to(tab)
            inner.wait_built()
            assert not inner.all(".lab-problem")
            titles.add(inner.driver.title)
    assert len(titles) == 6


def legal(browser: Browser) -> list[str]:
    return browser.attributes(".gp-legal button", "data-id")


@pytest.mark.parametrize("env", ["connect_four", "tictactoe"])
def test_a_whole_game_in_the_browser(inner: Browser, env: str):
    inner.open(f"/play/{env}?second=random")
    inner.wait_text(".headline", "Your move")
    inner.choose(".choose-second", "Search: easy")
    inner.until(lambda: "second=easy" in inner.driver.current_url, "the address")
    while "move" in inner.text(".headline"):
        moves = len(inner.all(".gp-moves button"))
        inner.click(f".gp-legal [data-id={legal(inner)[0]}]")
        inner.until(partial(answered, inner, moves), "the answer")
    played = len(inner.all(".gp-moves button"))
    inner.press("u")
    inner.until(lambda: len(inner.all(".gp-moves button")) < played, "a move to be taken back")
    inner.click(".new-game")
    inner.until(lambda: not inner.all(".gp-moves button"), "a new game")
    inner.refresh()
    inner.wait_text(".choose-second", "Search: easy")


def answered(browser: Browser, before: int) -> bool:
    return len(browser.all(".gp-moves button")) >= before + 2 or "move" not in browser.text(".headline")
