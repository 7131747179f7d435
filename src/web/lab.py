"""What the pages are handed from outside: games, agents and where to look for runs."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import yaml

from src.core.agent import NOTHING, Agent
from src.core.game import Game

# The compiled one is ten times as fast, and there can be hundreds of runs.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Lab(Protocol):
    """Names are those of the configuration. `changes` are values below the chosen one, by dotted key, such as
    {"config.H": 12}; `choices` are further groups, such as {"env/deployment/scenario@env.game.scenario": "siege"}.

    Anything unknown raises `LabError`. Building can take seconds, so pages do it off the event loop.
    """

    folders: Sequence[Path]  # where runs are looked for

    def rng(self) -> np.random.Generator:
        """A new generator for each game; the same ones in the same order where a seed was set."""

    def game(self, env: str, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING) -> Game: ...

    def run_game(self, run: Path, changes: Mapping[str, Any] = NOTHING) -> Game:
        """The game a run was trained on; its agent understands the observations of this one."""

    def agent(
        self, name: str, game: Game, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING
    ) -> Agent:
        """An agent that can play the game; `trained` takes {"run": its directory}."""


class RunPlace(NamedTuple):
    path: Path
    name: str  # for people: the path below the folder it was found in
    env: str
    algo: str


def finished_runs(folders: Sequence[Path]) -> Iterator[RunPlace]:
    """Runs that have a checkpoint to play; what is not readable as a run is passed over."""
    for folder in folders:
        for root, below, files in os.walk(folder):
            if "config.yaml" in files:
                below.clear()  # a run holds no other
                run = _read_run(folder, Path(root))
                if run is not None:
                    yield run


def _read_run(folder: Path, path: Path) -> RunPlace | None:
    if not (path / "checkpoints" / "best.safetensors").is_file():
        return None
    try:
        composition = yaml.load((path / "config.yaml").read_text(), _LOADER)["composition"]
        return RunPlace(path, str(path.relative_to(folder)), str(composition["env"]), str(composition["algo"]))
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        return None
