"""A server in the test process, whose state tests can inspect, with small games added."""

import asyncio
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
import uvicorn
from fastapi import FastAPI
from hydra import initialize_config_module
from nicegui import Client, core, ui

from src.core.play.agent import NOTHING, Agent, Decision, RandomAgent
from src.core.play.game import Game
from src.envs.minesweeper.game import Minesweeper
from src.play import ConfigLab
from src.web import shell
from src.web.app import add_error_pages, mount
from src.web.pages import PageEntry, discover, generic_page
from src.web.saved_games import GameStore
from tests.lab import ROOT
from tests.waiting import PATIENCE, wait_until
from tests.web.small_games import SMALL_GAMES

P = ParamSpec("P")

SLOW = PageEntry(
    package="tests.web.slow_page", title="Slow", path="/slow", icon="home", order=90, picture='<svg class="quick"/>'
)
BROKEN = PageEntry(package="tests.web.broken_page", title="Broken", path="/broken", icon="home", order=91)


class Thinker(Agent):
    """Decides only once it is released."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        self.asked.set()
        self.released.wait(2 * PATIENCE)  # a test does not wait as long for anything
        return RandomAgent().decide(game, view, rng)


class TestLab(ConfigLab):
    """The real lab with small games added, and a `Thinker` in place of minimax and the rules of Minesweeper."""

    __test__ = False  # it is not a collection of tests
    thinker = Thinker()

    def __init__(self) -> None:
        super().__init__([ROOT / "experiments"], 0, GameStore(Path(tempfile.mkdtemp())))
        self.envs = [*self.envs, *SMALL_GAMES]

    def game(self, env: str, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING) -> Game:
        return SMALL_GAMES[env]() if env in SMALL_GAMES else super().game(env, changes, choices)

    def agent(
        self, name: str, game: Game, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING
    ) -> Agent:
        is_replaced = name == "minimax" or (name == "rules" and isinstance(game, Minesweeper))
        return self.thinker if is_replaced else super().agent(name, game, changes, choices)


def in_tab(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Let a test build a page and use it as in a browser tab, without a browser."""

    async def inside(*arguments: P.args, **options: P.kwargs) -> None:
        core.loop = asyncio.get_running_loop()
        client = Client(ui.page("/tab"), request=None)
        client.on_exception(shell.show_error)
        with client:
            await test(*arguments, **options)
        client.delete()

    @wraps(test)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        before = core.loop
        try:
            asyncio.run(inside(*arguments, **options))
        finally:
            core.loop = before

    return run


@contextmanager
def serving_inside() -> Iterator[str]:
    """Yield the address of a server that does not wait for browsers whose connection is lost."""
    with initialize_config_module("conf", version_base="1.3"):
        lab = TestLab()
        for page in (*discover(lab.envs), generic_page("tictactoe"), SLOW, BROKEN):
            mount(page, lab)
        add_error_pages()
        app = FastAPI()
        ui.run_with(app, reconnect_timeout=0.1, language="en-US")
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
        thread = threading.Thread(target=server.run, daemon=True)  # one that does not start must not block the exit
        thread.start()
        wait_until(lambda: server.started or not thread.is_alive(), "the server to start", pause=0.01)
        assert server.started, "the server ended before it had started"
        yield "http://{}:{}".format(*server.servers[0].sockets[0].getsockname())
        server.should_exit = True
        thread.join()
