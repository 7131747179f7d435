"""Kernels compiled ahead of need: nothing that a page does first is compiled a second time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from src import compile_kernels
from tests.lab import ROOT

COUNTED = """
from numba.core import event

class Compiled(event.Listener):
    names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
import hydra
import numpy as np
from src.play import ConfigLab

hydra.initialize_config_dir({conf!r}, version_base="1.3")
lab = ConfigLab([], 0)
{code}
print(Compiled.names)
"""

HINT = """
from src.envs.minesweeper.solver import analyze
from src.web.minesweeper.match import MinesweeperMatch

match = MinesweeperMatch(9, 9, 10, np.random.default_rng(1), no_guess={no_guess})
match.click(40)
agent = lab.agent("exact", match.game)
while not match.is_over:
    action = agent.decide(match.game, match.view, np.random.default_rng(0)).action
    analyze(match.view.visible, match.view.mines)
    match.click(action)
"""

BOARD = """
from src.web.deployment import match_setup
from src.web.deployment.match import warm_up

chosen = match_setup.MatchSetup()
game = match_setup.game_of(lab, chosen.scenario, chosen.order, chosen.zones)
warm_up(game)
match_setup.match_of(lab, game, chosen).candidates(None)
"""

MOVE = """
game = lab.game("quoridor")
state = game.initial(np.random.default_rng(0))
game.shortest_path(state, 0)
game.legal_actions(state)
agent = lab.agent("alphabeta", game)
state = game.play(state, agent.decide(game, state, np.random.default_rng(0)).action)
agent.analyze(game, state, 3)
"""


def run(folder: Path, *arguments: str) -> str:
    """Run Python with a cache of its own; return what it prints."""
    command = [sys.executable, *arguments]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with what the command has compiled."""
    folder = tmp_path_factory.mktemp("cache")
    lines = run(folder, "-m", "src.compile_kernels").splitlines()
    assert len(lines) == sum(len(compile_kernels._module(game).GROUPS) for game in compile_kernels.GAMES)
    return folder


@pytest.mark.slow
def test_after_the_command_the_pages_compile_nothing(cache: Path):
    pages = (HINT.format(no_guess=False), HINT.format(no_guess=True), BOARD, MOVE)
    program = COUNTED.format(conf=str(ROOT / "conf"), code="\n".join(pages))
    assert run(cache, "-c", program).splitlines()[-1] == "[]"


@pytest.mark.slow
def test_a_second_time_it_does_nothing(cache: Path):
    before = sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*"))
    assert run(cache, "-m", "src.compile_kernels") == ""
    assert sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*")) == before


@pytest.mark.parametrize("leads", [True, False])
def test_in_the_background_it_has_a_process_group_of_its_own(monkeypatch: pytest.MonkeyPatch, leads: bool):
    """It stops its group when its parent ends, which must not be the group of the parent."""
    done: list[str] = []
    monkeypatch.setattr("sys.argv", ["compile_kernels", "--background"])
    monkeypatch.setattr(os, "nice", lambda more: done.append("nice"))
    monkeypatch.setattr(os, "getpgrp", lambda: os.getpid() + (not leads))
    monkeypatch.setattr(os, "setsid", lambda: done.append("setsid"))  # fails in the leader of a group
    monkeypatch.setattr(compile_kernels, "_end_with", lambda parent: None)
    monkeypatch.setattr(compile_kernels, "compile_missing", lambda games: True)
    with pytest.raises(SystemExit, match="False"):
        compile_kernels.run()
    assert done == (["nice"] if leads else ["nice", "setsid"])


def test_an_unknown_game_is_refused():
    done = subprocess.run(
        [sys.executable, "-m", "src.compile_kernels", "chess"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "chess has no kernels to compile: choose of deployment, minesweeper, quoridor" in done.stderr
