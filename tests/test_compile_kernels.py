"""Kernels compiled ahead of need: nothing that a page does first is compiled a second time."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from src import compile_kernels
from tests.lab import ROOT, Lab, python

LOADED = """
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
from src import compile_kernels
from src.core import kernel_linker
from src.play import ConfigLab

for game in compile_kernels.GAMES:
    for group in compile_kernels._module(game).GROUPS:
        compile_kernels.compile_group(f"{{game}}.{{group.__name__}}")
load, loaded = kernel_linker._Files.load_overload, []

def recorded(files, *arguments):
    loaded.append(files._function.__qualname__)
    return load(files, *arguments)

kernel_linker._Files.load_overload = recorded
hydra.initialize_config_dir({conf!r}, version_base="1.3")
lab = ConfigLab([], 0)
{code}
print(loaded, Compiled.names)
"""

HINT = """
from src.envs.minesweeper.solver import analyze
from src.web.minesweeper.match import MinesweeperMatch

match = MinesweeperMatch("9x9x10", np.random.default_rng(1), no_guess={no_guess})
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
game = match_setup.game_of(lab, chosen.scenario, chosen.order, chosen.activation, chosen.zones)
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


@pytest.mark.slow
def test_after_the_command_the_pages_compile_nothing():
    """A new process compiles nothing, and pages load no kernel beside those of the groups."""
    python("-m", "src.compile_kernels")
    assert python("-m", "src.compile_kernels").stdout == "", "a second time it does nothing"
    pages = (HINT.format(no_guess=False), HINT.format(no_guess=True), BOARD, MOVE)
    program = LOADED.format(conf=str(ROOT / "conf"), code="\n".join(pages))
    assert python("-c", program).stdout.splitlines()[-1] == "[] []"


def test_each_group_is_compiled_once_unless_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compiled: list[str] = []

    def run(command: list[str]) -> SimpleNamespace:
        compiled.append(command[-1])
        return SimpleNamespace(returncode=int(command[-1].startswith("quoridor")))

    monkeypatch.setattr("src.compile_kernels.subprocess.run", run)
    monkeypatch.setattr(compile_kernels, "_marker", lambda game: tmp_path / game)
    monkeypatch.setattr("src.core.kernels.folder", lambda: tmp_path)
    assert not compile_kernels.compile_missing()
    groups = {game: compile_kernels._module(game).GROUPS for game in compile_kernels.GAMES}
    assert sorted(compiled) == sorted(f"{game}.{group.__name__}" for game in groups for group in groups[game])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deployment", "minesweeper"]
    compiled.clear()
    compile_kernels.compile_missing()
    assert {name.split(".")[0] for name in compiled} == {"quoridor"}, "the others are done"


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
    done = Lab(ROOT).refuse("compile_kernels", "chess")
    assert "chess has no kernels to compile: choose of deployment, minesweeper, quoridor" in done.stderr
