"""A server in the test process, whose state tests can inspect, with small games added."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI
from hydra import initialize_config_module
from nicegui import ui

from src.core.play.agent import NOTHING, Agent, Decision, RandomAgent
from src.core.play.game import Game
from src.play import ConfigLab
from src.web.app import mount
from src.web.pages import discover, generic_page
from tests.lab import ROOT
from tests.web.browser import PATIENCE
from tests.web.small_games import SMALL_GAMES


class Thinker(Agent):
    """Decides only once it is released."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        self.asked.set()
        self.released.wait(PATIENCE)
        return RandomAgent().decide(game, view, rng)


class TestLab(ConfigLab):
    """The real lab with small games added, and a `Thinker` in place of minimax."""

    __test__ = False  # it is not a collection of tests
    thinker = Thinker()

    def __init__(self) -> None:
        super().__init__([ROOT / "experiments"], seed=0)
        self.envs = [*self.envs, *SMALL_GAMES]

    def game(self, env: str, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING) -> Game:
        return SMALL_GAMES[env]() if env in SMALL_GAMES else super().game(env, changes, choices)

    def agent(
        self, name: str, game: Game, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING
    ) -> Agent:
        return self.thinker if name == "minimax" else super().agent(name, game, changes, choices)


@contextmanager
def serving_inside() -> Iterator[str]:
    """Yield the address of a server that does not wait for browsers whose connection is lost."""
    with initialize_config_module("conf", version_base="1.3"):
        lab = TestLab()
        for page in (*discover(lab.envs), generic_page("tictactoe")):
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
