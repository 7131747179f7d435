"""Independent browser tabs, and games without a page of their own.

The server runs in this process, to be looked into. It cannot be started twice, so all tests that need it are here.
"""

import gc
import re
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from html import unescape
from importlib import import_module
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from src.core.play.search_interface import SearchResult
from src.envs.minesweeper.agents import ExactAgent
from src.envs.minesweeper.solver import exact_moves
from src.envs.minesweeper.solver.engine import CONSISTENT
from src.envs.minesweeper.variant import HIDDEN
from src.envs.quoridor.rules import Position
from src.envs.quoridor.search.alphabeta import CompiledSearch
from src.web.pages import PREPARATION
from src.web.quoridor import searches
from src.web.saved_games import GameStore, SavedGame
from tests.waiting import PATIENCE
from tests.web.browser import Browser
from tests.web.inner import SLOW, TestLab, Thinker, serving_inside
from tests.web.slow_page import page as slow_page
from tests.web.test_tictactoe import stones

GAMES = {
    "/tictactoe?x=you&o=you": "src.web.tictactoe.page.TicTacToePage",
    "/minesweeper": "src.web.minesweeper.page.MinesweeperPage",
    "/quoridor": "src.web.quoridor.page.QuoridorPage",
    "/deployment": "src.web.deployment.page.DeploymentPage",
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


def begin_minesweeper(browser: Browser, query: str, monkeypatch: pytest.MonkeyPatch, cell: int = 40) -> Any:
    """Open a game, reveal a cell, and return the page."""
    pages = made_of("src.web.minesweeper.page.MinesweeperPage", monkeypatch)
    browser.open(f"/minesweeper?{query}")
    browser.click(f"[data-id=cell-{cell}]")
    browser.wait_text(".headline", "Playing")
    page = pages[-1]()
    assert page is not None
    return page


def test_a_hint_stops_neither_the_player_nor_another_clock(inner: Browser, monkeypatch: pytest.MonkeyPatch):
    thinker = TestLab.thinker = Thinker()
    page = begin_minesweeper(inner, "board=9x9x10&agent=rules", monkeypatch)
    inner.until(lambda: page.stopwatch.running, "the clock")
    try:
        inner.click(".ask")
        assert thinker.asked.wait(PATIENCE)
        assert not page.stopwatch.running, "it stands while the page is waiting"
        inner.wait_text(".ask", "Cancel")
        inner.click(".ask")
        inner.wait_text(".ask", "Hint")
        inner.until(lambda: page.stopwatch.running, "the clock, though the agent thinks on")
        inner.click(".ask")
        inner.wait_text(".ask", "Cancel")
        inner.until(lambda: not page.stopwatch.running, "the clock to stand")
        hidden = next(cell for cell in range(81) if page.match.value(cell) < 0)
        inner.right_click(f"[data-id=cell-{hidden}]")
        inner.wait_text(".ms-left", "9")
        inner.wait_text(".ask", "Hint")
        inner.until(lambda: page.stopwatch.running, "the clock: the hint was for another position")
    finally:
        thinker.released.set()
    assert not page.busy.working
    assert page.advice is None


def test_a_hint_of_minesweeper_is_cancelled_with_its_search(inner: Browser, monkeypatch: pytest.MonkeyPatch):
    begun, stopped, given_up = threading.Event(), threading.Event(), threading.Event()

    def endless_moves(flat: Any, *others: Any) -> tuple[int, int, int]:
        begun.set()
        flat = np.where(np.arange(flat.size) == 40, 1, HIDDEN).astype(np.int8)  # nothing is certain
        while not given_up.is_set():
            found = exact_moves(flat, *others)
            if found[0] != CONSISTENT:
                stopped.set()
                break
        return found

    begin_minesweeper(inner, "board=9x9x10&agent=exact", monkeypatch)
    monkeypatch.setattr(ExactAgent, "moves", endless_moves)
    try:
        inner.press("h")
        assert begun.wait(PATIENCE)
        inner.wait_text(".ask", "Cancel")
        inner.press(Keys.ESCAPE)
        inner.wait_text(".ask", "Hint")
        assert stopped.wait(PATIENCE)
    finally:
        given_up.set()


def test_the_clock_does_not_wait_for_the_mistakes_of_the_game_before(inner: Browser, monkeypatch: pytest.MonkeyPatch):
    asked, released = threading.Event(), threading.Event()

    def find_slowly(match: Any) -> list[Any]:
        asked.set()
        released.wait(2 * PATIENCE)  # the test does not wait as long for anything
        return []

    monkeypatch.setattr("src.web.minesweeper.advice.find_mistakes", find_slowly)
    try:
        page = begin_minesweeper(inner, "board=9x9x71&agent=random", monkeypatch, cell=0)
        inner.click(".play")
        inner.wait_text(".status.over .headline", "Lost with an agent")
        assert asked.wait(PATIENCE)
        inner.click(".new-game")
        inner.wait_text(".headline", "Reveal any cell")
        inner.click("[data-id=cell-0]")
        inner.wait_text(".headline", "Playing")
        inner.until(lambda: page.stopwatch.running, "the clock")
    finally:
        released.set()


class EndlessSearches:
    """Searches that would take years: the ones by agents that move, or all others."""

    moves, analysis = "moves", "analysis"

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.which: str | None = None
        self.running = 0
        search = CompiledSearch.search

        def begin(self_: CompiledSearch, state: Position, depth: int, first: int | None, limit: int) -> Any:
            if self.which != (self.moves if threading.current_thread().name.startswith("search") else self.analysis):
                return search(self_, state, depth, first, limit)
            return self._search(partial(search, self_, state, 40, None, limit))

        monkeypatch.setattr(CompiledSearch, "search", begin)

    def _search(self, search: partial[SearchResult | None]) -> SearchResult | None:
        self.running += 1
        try:
            return search()
        finally:
            self.running -= 1


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> EndlessSearches:
    return EndlessSearches(monkeypatch)


def open_quoridor(browser: Browser, second: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Open a game and return its page once it is idle."""
    pages = made_of("src.web.quoridor.page.QuoridorPage", monkeypatch)
    browser.open(f"/quoridor?first=you&second={second}")
    browser.until(lambda: pages and browser.all(".spot.legal"), "the engine")
    page = pages[-1]()
    assert page is not None
    browser.until(lambda: not page.busy.working, "the evaluation")
    return page


def played(browser: Browser) -> int:
    return len(browser.all(".qr-move"))


def test_a_hint_is_cancelled_with_its_search(inner: Browser, monkeypatch: pytest.MonkeyPatch, endless: EndlessSearches):
    first = inner.tab
    inner.new_tab("/nothing")
    page = open_quoridor(inner, "you", monkeypatch)

    def ask() -> None:
        endless.which = endless.analysis
        inner.press("?")
        inner.until(lambda: endless.running == 1, "the search")
        inner.wait_text(".qr-do-lightbulb", "cancel")

    for cancel in (lambda: inner.click(".qr-do-lightbulb"), lambda: inner.press(Keys.ESCAPE), lambda: inner.press("?")):
        ask()
        cancel()
        inner.wait_text(".qr-do-lightbulb", "hint")
        inner.until(lambda: endless.running == 0, "the search to be stopped")
        assert not inner.all(".qr-hint")
    endless.which = None
    inner.press("?")
    inner.find(".qr-hint")
    ask()
    endless.which = None
    inner.click("[data-id='e2'] .hit")
    inner.until(lambda: played(inner) == 1, "the move, which does not wait for the hint")
    inner.until(lambda: endless.running == 0 and not page.busy.working, "the search to be stopped")
    inner.wait_text(".qr-do-lightbulb", "hint")

    endless.which = endless.analysis
    inner.click(".qr-do-review")
    inner.until(lambda: endless.running == 1, "the search of a review")
    inner.wait_text(".qr-do-review", "cancel")
    inner.click(".qr-do-review")
    inner.wait_text(".qr-do-review", "find mistakes")
    inner.until(lambda: endless.running == 0, "the search to be stopped")
    ask()
    inner.driver.close()
    inner.go_to(first)
    inner.until(lambda: endless.running == 0, "the search to be stopped with its tab")


def test_the_move_of_a_level_is_cancelled_and_continued(
    inner: Browser, monkeypatch: pytest.MonkeyPatch, endless: EndlessSearches
):
    page = open_quoridor(inner, "hell", monkeypatch)
    endless.which = endless.moves
    inner.click("[data-id='e2'] .hit")
    inner.wait_text(".qr-thinking", "Search: hell thinks")
    inner.until(lambda: endless.running == 1, "the search")
    inner.click(".qr-do-close")
    inner.wait_text(".qr-thinking", "cancelled; it is the turn of Search: hell")
    inner.until(lambda: endless.running == 0 and not page.busy.working, "the search to be stopped")
    assert played(inner) == 1
    inner.press("p")
    inner.until(lambda: endless.running == 1, "another search")
    endless.which = None
    inner.press("u")
    inner.until(lambda: played(inner) == 0 and endless.running == 0, "the move to be taken back")
    assert not inner.find(".qr-thinking").is_displayed()
    inner.click("[data-id='e2'] .hit")
    inner.until(lambda: played(inner) == 2, "a reply: it is not paused any more")


def test_a_hint_does_not_wait_for_the_master_who_can_be_cancelled(inner: Browser, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(searches, "DEEP_SECONDS", 1e6)
    page = open_quoridor(inner, "deep", monkeypatch)
    inner.click("[data-id='e2'] .hit")
    inner.wait_text(".qr-thinking", "seconds · depth")
    assert "after search) · " in inner.text(".qr-thinking") or "Even · " in inner.text(".qr-thinking")
    inner.press("?")
    inner.find(".qr-hint")
    assert played(inner) == 1, "it is still thinking"
    inner.click(".qr-do-close")
    inner.wait_text(".qr-thinking", "cancelled")
    inner.until(lambda: not page.busy.working, "the search to be stopped")
    inner.click(".qr-resume")
    inner.wait_text(".qr-thinking", "depth")
    inner.click(".qr-do-fast-forward")
    inner.until(lambda: played(inner) == 2, "the best move so far")
    inner.until(lambda: not inner.find(".qr-thinking").is_displayed(), "the end of the search")


def test_a_slow_disk_blocks_no_page_and_keeps_the_order(inner: Browser, monkeypatch: pytest.MonkeyPatch):
    writing, released, save = threading.Event(), threading.Event(), GameStore.save

    def save_slowly(store: GameStore, game: SavedGame, key: str | None = None) -> str:
        writing.set()
        released.wait(2 * PATIENCE)  # the test does not wait as long for anything
        return save(store, game, key)

    monkeypatch.setattr(GameStore, "save", save_slowly)
    pages, first = made_of("src.web.tictactoe.page.TicTacToePage", monkeypatch), inner.tab
    try:
        inner.open("/tictactoe?x=you&o=you")
        inner.until(lambda: pages, "the page")
        page = pages[0]()
        assert page is not None
        before = len(page.services.games.latest(999))
        inner.click("[data-id=cell-4]")
        assert writing.wait(PATIENCE)
        inner.wait_text(".headline", "Your turn: O")
        inner.click("[data-id=cell-0]")
        inner.wait_text(".headline", "Your turn: X")
        inner.new_tab("/tictactoe?x=you&o=you")
        inner.click("[data-id=cell-8]")
        inner.wait_text(".headline", "Your turn: O")
    finally:
        released.set()
    inner.go_to(first)
    inner.until(lambda: "/tictactoe/" in inner.driver.current_url, "the address of the game")
    saved = page.services.games.load("/tictactoe", page.saved_key)
    assert (saved.moves, saved.revision) == ([4, 0], 2), "the second write continues the first"
    assert inner.driver.current_url.endswith(saved.address)
    assert len(page.services.games.latest(999)) == before + 2, "one for each tab"


def test_two_tabs_that_move_at_once_are_told_of_the_fork(inner: Browser, monkeypatch: pytest.MonkeyPatch):
    writing, released, save = threading.Event(), threading.Event(), GameStore.save

    def save_slowly(store: GameStore, game: SavedGame, key: str | None = None) -> str:
        writing.set()
        released.wait(2 * PATIENCE)
        return save(store, game, key)

    inner.open("/tictactoe?x=you&o=you")
    inner.click("[data-id=cell-4]")
    inner.until(lambda: "/tictactoe/" in inner.driver.current_url, "the address of the game")
    address, first = inner.driver.current_url, inner.tab
    second = inner.new_tab(address.removeprefix(inner.address))
    inner.wait_text(".headline", "Your turn: O")
    monkeypatch.setattr(GameStore, "save", save_slowly)
    try:
        inner.click("[data-id=cell-0]")
        assert writing.wait(PATIENCE)
        inner.go_to(first)
        inner.click("[data-id=cell-8]")
        inner.wait_text(".headline", "Your turn: X")
    finally:
        released.set()
    inner.wait_text(".lab-say", "Your move began a game of its own")
    assert stones(inner) == "....X...O"
    inner.until(lambda: inner.driver.current_url != address, "an address of its own")
    inner.click(".lab-say a")
    inner.until(lambda: stones(inner) == "O...X....", "the game of the other tab")
    inner.until(lambda: inner.driver.current_url == address, "the address of that game")
    inner.go_to(second)
    assert stones(inner) == "O...X....", "it has nothing to do with the fork"


def test_one_of_two_tabs_lets_the_agent_move_also_after_the_other_is_closed(inner: Browser):
    thinker, first = TestLab.thinker, inner.tab
    thinker.asked.clear()
    thinker.released.clear()
    try:
        inner.open("/tictactoe?x=you&o=minimax")
        player = inner.new_tab("/tictactoe?x=you&o=minimax")
        inner.click("[data-id=cell-4]")
        assert thinker.asked.wait(PATIENCE)
        inner.until(lambda: "/tictactoe/" in inner.driver.current_url, "the address of the game")
        address = inner.driver.current_url.removeprefix(inner.address)
        thinker.asked.clear()
        inner.go_to(first)
        inner.open(address)
        inner.wait_text(".headline", "to move")
        assert not thinker.asked.is_set(), "it watches"
        inner.go_to(player)
        inner.driver.close()
        inner.go_to(first)
        assert thinker.asked.wait(PATIENCE), "it takes over"
    finally:
        thinker.released.set()
    inner.wait_text(".headline", "Your turn: X")
    inner.until(lambda: len(stones(inner).replace(".", "")) == 2, "one reply")
    assert not inner.text(".lab-say"), "nothing forked"


@pytest.mark.parametrize(
    ("path", "first", "second", "shown"),
    [
        ("/minesweeper?board=9x9x10", "[data-id=cell-40]", ".step", "[aria-label$=': hidden']"),
        ("/quoridor?first=you&second=you", "[data-id=e2] .hit", "[data-id=e8] .hit", ".qr-move"),
        ("/deployment?player_1=human&player_2=human", "[data-part=rest]", "[data-part=undo]", ".token"),
        ("/play/nim?first=you&second=you", ".gp-legal button", ".gp-legal button", ".gp-moves button"),
    ],
)
def test_every_game_is_followed_by_other_tabs(inner: Browser, path: str, first: str, second: str, shown: str):
    count = lambda: len(inner.all(shown))  # noqa: E731
    inner.open(path)
    inner.wait_text(".headline", " ")
    player, before = inner.tab, count()
    inner.click(first)
    inner.until(lambda: re.search(r"/[0-9a-f]{12}$", inner.driver.current_url), "the address of the game")
    inner.until(lambda: count() != before, "the move")
    game, after = inner.driver.current_url.removeprefix(inner.address), count()
    watcher = inner.new_tab(game)
    inner.until(lambda: count() == after, "the game")
    inner.go_to(player)
    inner.click(second)
    inner.until(lambda: count() != after, "the second move")
    after = count()
    inner.go_to(watcher)
    inner.until(lambda: count() == after, "the same move")


def test_a_saved_game_is_not_changed_before_it_is_loaded(inner: Browser, monkeypatch: pytest.MonkeyPatch):
    first = open_quoridor(inner, "you", monkeypatch)
    inner.click("[data-id='e2'] .hit")
    inner.until(lambda: "/quoridor/" in inner.driver.current_url, "the address of the game")
    released = threading.Event()
    monkeypatch.setattr("src.web.quoridor.page.load_engine", lambda game, agents: released.wait(2 * PATIENCE))
    try:
        inner.refresh()
        inner.wait_text(".note", "loading the engine")
        inner.choose(".qr-times", "3 minutes each")
        inner.until(lambda: inner.find(".qr-clocks").is_displayed(), "the choice to be applied")
        assert len(first.services.games.load("/quoridor", first.saved_key).moves) == 1
    finally:
        released.set()
    inner.until(lambda: played(inner) == 1, "the game")


BOX = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
OVERLAPS = """const boxes = [...document.querySelectorAll('.lab-link')].map(one => one.getBoundingClientRect())
    .filter(box => box.width); return boxes.some((box, i) => i && box.left < boxes[i - 1].right - 1)"""


def test_the_header_stays_small_while_engines_are_compiled(inner: Browser, monkeypatch: pytest.MonkeyPatch):
    try:
        for text in ("", "Compiling engines: 112 of 157"):
            monkeypatch.setattr(PREPARATION, "progress", text)
            inner.open("/quoridor")
            inner.find(".quoridor")
            assert len(inner.all(".lab-progress")) == (text != "")
            for size in ((390, 844), (820, 1180), (844, 390)):
                inner.resize(*size)
                header, nav, board = (inner.script(BOX, css) for css in (".lab-header", ".lab-nav", ".quoridor"))
                assert header["height"] <= 50, "one line, without a scroll bar"
                assert nav["width"] > 2 * 44, "room for pages"
                assert board["top"] >= header["bottom"]
                assert not inner.script(OVERLAPS)
            assert board["bottom"] <= 390, "the whole board is visible, on the first visit too"
            inner.script("document.querySelector('.lab-note').classList.remove('hidden')")
            assert inner.script(BOX, ".lab-note")["left"] > board["right"]
    finally:
        inner.resize(1280, 900)
