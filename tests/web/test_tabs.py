"""What tabs of one server have to do with each other: nothing. It runs in this process, to be looked into."""

import gc
import threading
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import uvicorn
from fastapi import FastAPI
from hydra import initialize_config_module
from nicegui import ui
from selenium import webdriver

from src.core.agent import NOTHING, Agent, Decision, RandomAgent
from src.core.game import Game
from src.play import Laboratory
from src.web.app import mount
from src.web.pages import discover
from tests.lab import ROOT
from tests.web.browser import PATIENCE, Browser

GAMES = {
    "/tictactoe?x=you&o=you": "src.web.tictactoe.page.View",
    "/minesweeper": "src.web.minesweeper.page.Screen",
    "/quoridor": "src.web.quoridor.page.Screen",
    "/deployment": "src.web.deployment.table.Table",
}


class Thinker(Agent):
    """Thinks until it is told to stop."""

    def __init__(self) -> None:
        self.asked, self.enough = threading.Event(), threading.Event()

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        self.asked.set()
        self.enough.wait(PATIENCE)
        return RandomAgent().decide(game, view, rng)


class ThinkersLab(Laboratory):
    """The real one, where a thinker sits in for minimax."""

    thinker = Thinker()

    def agent(
        self, name: str, game: Game, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING
    ) -> Agent:
        return self.thinker if name == "minimax" else super().agent(name, game, changes, choices)


@pytest.fixture(scope="module")
def inner_address(driver: webdriver.Chrome) -> Iterator[str]:
    """Of a server that does not wait for a browser whose connection is lost."""
    with initialize_config_module("conf", version_base="1.3"):
        lab = ThinkersLab([ROOT / "experiments"], seed=0)
        for page in discover(lab.envs):
            mount(page, lab)
        app = FastAPI()
        ui.run_with(app, reconnect_timeout=0.1)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
        yield "http://{}:{}".format(*server.servers[0].sockets[0].getsockname())
        server.should_exit = True
        thread.join()


@pytest.fixture
def inner(driver: webdriver.Chrome, inner_address: str) -> Iterator[Browser]:
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
    thinker = ThinkersLab.thinker
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
