"""The players a page offers, by their keys in the URL, and their agents."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.errors import UserError
from ..core.play.agent import NOTHING, Agent, Decision
from ..core.play.game import Game
from .lab import FinishedRun, Lab

Option = TypeVar("Option")


class Player(NamedTuple):
    title: str
    agent: str | None  # name in conf/agent; None: a person
    changes: Mapping[str, Any] = NOTHING
    run: Path | None = None  # the run whose observations it expects


YOU = "you"
HUMAN_PLAYER = Player("You", None)
LEVELS = ("easy", "normal", "hard", "hell")  # of alpha-beta search


def general_players() -> dict[str, Player]:
    """Return agents that are not specific to a game; some need a game without chance or a small one."""
    return {
        **{level: Player(f"Search: {level}", "alphabeta", {"difficulty": level}) for level in LEVELS},
        "mcts": Player("Monte Carlo tree search", "mcts"),
        "random": Player("Random moves", "random"),
    }


def trained_players(runs: list[FinishedRun], kind: str = "Run") -> dict[str, Player]:
    return {
        f"run:{run.name}": Player(f"{kind} {run.name}", "trained", {"run": str(run.path)}, run.path) for run in runs
    }


def chosen(options: Mapping[str, Option], key: str, what: str = "player") -> Option:
    """Return the option of a key; raise `UserError` if it is unknown."""
    if key not in options:
        fixed = [name for name in options if not _is_run(name)]
        others = " or a run of the list" if len(fixed) < len(options) else ""
        raise UserError(f"{what} {key[:80]!r} is unknown: choose one of {', '.join(fixed)}{others}")
    return options[key]


def _is_run(key: str) -> bool:
    return ":" in key  # a prefix, then the name of the run


class AgentCache:
    """The agents of one page by player key, built on first use.

    Building and deciding can be slow, so pages do both off the event loop.
    """

    def __init__(
        self,
        lab: Lab,
        game: Game,
        players: Mapping[str, Player],
        run_game: Callable[[Player], Game] | None = None,
    ) -> None:
        """`run_game` returns the game with the observations that the agent of a run expects."""
        self._lab, self._game, self._players = lab, game, players
        self._run_game = run_game or self._as_trained
        self._built: dict[str, tuple[Agent, Game]] = {}

    def agent(self, key: str) -> Agent:
        return self._entry(key)[0]

    def decide(self, key: str, view: Any, rng: np.random.Generator) -> Decision:
        agent, game = self._entry(key)
        return agent.decide(game, view, rng)

    def _entry(self, key: str) -> tuple[Agent, Game]:
        if key not in self._built:
            player = chosen(self._players, key)
            assert player.agent is not None, "a human is not an agent"
            game = self._game if player.run is None else self._run_game(player)
            self._built[key] = self._lab.agent(player.agent, game, player.changes), game
        return self._built[key]

    def _as_trained(self, player: Player) -> Game:
        assert player.run is not None
        return self._lab.run_game(player.run)
