"""What the pages need from outside: games, agents and where to look for runs."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from src.core.errors import UserError
from src.core.play.agent import NOTHING, Agent
from src.core.play.game import Game
from src.web import files
from src.web.files import RunPath, Stamp

BEST = "checkpoints/best.safetensors"


class Lab(Protocol):
    """Names are those of the configuration. `changes` are values below the chosen one, by dotted key, such as
    {"config.H": 12}; `choices` are further groups, such as {"env/deployment/scenario@env.game.scenario": "siege"}.

    Anything unknown raises `UserError`. Building can take seconds, so pages do it off the event loop.
    """

    folders: Sequence[Path]  # where runs are looked for
    envs: Sequence[str]  # the environments there are
    agents: Sequence[str]

    def __hash__(self) -> int: ...  # what is built for a lab is cached by it

    def rng(self) -> np.random.Generator:
        """A new generator for each game; the same ones in the same order where a seed was set."""

    def game(self, env: str, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING) -> Game: ...

    def run_game(self, run: Path, changes: Mapping[str, Any] = NOTHING) -> Game:
        """The game a run was trained on; its agent understands the observations of this one."""

    def agent(
        self, name: str, game: Game, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING
    ) -> Agent:
        """An agent that can play the game; `trained` takes {"run": its directory}."""


class FinishedRun(NamedTuple):
    path: Path
    name: str  # its folder and the way from there, as on the page of runs
    env: str
    algo: str


def finished_runs(folders: Sequence[Path]) -> list[FinishedRun]:
    """Runs that have a checkpoint to play, the newest first; what is not readable as a run is passed over."""
    playable = [run for run in files.find(folders) if (run.path / BEST).is_file()]
    newest_first = sorted(playable, key=lambda run: (-files.stamp(run, BEST).modified, run.name))
    read = (_read_run(run, files.stamp(run, "config.yaml")) for run in newest_first)
    return [run for run in read if run is not None]


def runs_of(folders: Sequence[Path], game: str) -> list[FinishedRun]:
    """Return the runs that play a game: of the environment of that name, or of a variant such as <game>_8x8."""
    return [run for run in finished_runs(folders) if run.env == game or run.env.startswith(f"{game}_")]


@lru_cache(maxsize=4096)
def _read_run(run: RunPath, _config: Stamp) -> FinishedRun | None:
    """Kept until the configuration has another stamp: there can be hundreds of runs."""
    try:
        composition = files.read_config(run)["composition"]
        return FinishedRun(run.path, run.name, str(composition["env"]), str(composition["algo"]))
    except (UserError, OSError, KeyError, TypeError):
        return None
