"""Independent browser tabs, and games without a page of their own.

The server runs in this process, to be looked into. It cannot be started twice, so all tests that need it are here.
"""

import gc
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from selenium import webdriver

from tests.web.browser import PATIENCE, Browser
from tests.web.inner import TestLab, serving_inside

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


def living(name: str) -> list[Any]:
    gc.collect()
    return [one for one in gc.get_objects() if f"{type(one).__module__}.{type(one).__qualname__}" == name]


@pytest.mark.parametrize(("path", "name"), GAMES.items())
def test_a_closed_tab_frees_its_game(inner: Browser, path: str, name: str):
    first = inner.tab
    inner.new_tab(path)
    inner.until(lambda: living(name), "a game")
    (game,) = map(weakref.ref, living(name))
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
