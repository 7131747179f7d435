"""The players a page offers, by their keys in the URL, their agents, and comments on their moves."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.errors import UserError
from ..core.play.agent import NOTHING, Agent, Decision
from ..core.play.game import Game
from ..core.runs.index.playable import FinishedRun
from .services import Services

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
        fixed = [name for name in options if ":" not in name]  # the keys of runs are a prefix and their name
        others = " or a run of the list" if len(fixed) < len(options) else ""
        raise UserError(f"{what} {key[:80]!r} is unknown: choose one of {', '.join(fixed)}{others}")
    return options[key]


def search_comment(info: Mapping[str, Any] | None) -> str:
    """Describe the search that chose a move by its visits and its value; empty for other agents."""
    match info:
        case {"visits": visits, "simulations": simulations, "value": value}:
            return f"{visits} of {simulations} simulations tried this move; its value is {value:+.2f} (a win: +1)."
    return ""


class AgentCache:
    """The agents of one page by player key, built on first use.

    Building and deciding can be slow, so pages do both off the event loop.
    """

    def __init__(
        self,
        services: Services,
        game: Game,
        players: Mapping[str, Player],
        run_game: Callable[[Player], Game] | None = None,
    ) -> None:
        """`run_game` returns the game with the observations that the agent of a run expects; default: as it was."""
        self._services, self._game, self._players, self._run_game = services, game, players, run_game
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
            game = self._game
            if player.run is not None:
                game = self._run_game(player) if self._run_game else self._services.run_game(player.run)
            self._built[key] = self._services.agent(player.agent, game, player.changes), game
        return self._built[key]
