"""The interface through which pages get games, agents and runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..core.play.agent import NOTHING, Agent
from ..core.play.game import Game
from .saved_games import GameStore


class Services(Protocol):
    """Builds games and agents by their names in conf/. `changes` override values by dotted key, such as
    {"config.H": 12}; `choices` select options, such as {"env/deployment/scenario@env.game.scenario": "siege"}.

    Unknown names raise `UserError`. Building can take seconds, so pages do it off the event loop.
    """

    folders: Sequence[Path]  # searched for runs
    envs: Sequence[str]  # options of the group env
    agents: Sequence[str]
    games: GameStore | None  # where games are kept; None: nowhere

    def __hash__(self) -> int: ...  # used as a cache key

    def rng(self) -> np.random.Generator:
        """Return a new generator for each game, in a reproducible order if a seed is set."""

    def game(self, env: str, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING) -> Game: ...

    def run_game(self, run: Path, changes: Mapping[str, Any] = NOTHING) -> Game:
        """Return the game a run was trained on, with the observations its agent expects."""

    def run_baseline(self, run: Path) -> Agent | None:
        """Return the opponent in the evaluations of a run; None in a game of one player."""

    def agent(
        self, name: str, game: Game, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING
    ) -> Agent:
        """Return an agent that can play the game; `trained` takes {"run": its directory}."""

    def training_groups(self) -> Mapping[str, Sequence[str]]:
        """Return the config groups that make a training, and their options."""

    def default_settings(self, env: str, algo: str) -> dict[str, Any]:
        """Return the configuration of a training with nothing changed."""

    def fitting_algorithms(self, env: str | None) -> tuple[str, Sequence[str]]:
        """Return the default algorithm, and those that can play an environment; None: the default one."""

    def training_jobs(self, overrides: Sequence[str]) -> list[list[str]]:
        """Return the overrides of each run of a sweep, or of the one run; raise `UserError` for too many."""

    def check_training(self, overrides: Sequence[str]) -> Mapping[str, str]:
        """Compose a training and build its parts; return the chosen options, or raise `UserError`."""
