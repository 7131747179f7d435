"""What tabs of one server have to do with each other: nothing. It runs in this process, to be looked into."""

import gc
import weakref
from typing import Any

import pytest

from tests.web.browser import PATIENCE, Browser
from tests.web.inner import TestLab

GAMES = {
    "/tictactoe?x=you&o=you": "src.web.tictactoe.page.TicTacToePage",
    "/minesweeper": "src.web.minesweeper.page.MinesweeperPage",
    "/quoridor": "src.web.quoridor.page.QuoridorPage",
    "/deployment": "src.web.deployment.match_page.DeploymentPage",
    "/play/nim": "src.web.generic.page.GenericPage",
}


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
        thinker.enough.set()
    inner.wait_text(".headline", "Your turn: X")
