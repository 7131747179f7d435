"""Who can sit at a board: choices for people, by keys that go into the address of a page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from src.core.agent import NOTHING, Agent
from src.core.errors import LabError
from src.core.game import Game
from src.web.lab import Lab, RunPlace

Option = TypeVar("Option")


class Player(NamedTuple):
    title: str
    agent: str | None  # by its name in the configuration; None: a person
    changes: Mapping[str, Any] = NOTHING
    run: Path | None = None  # the run whose observations it needs


YOU = "you"
PERSON = Player("You", None)


def trained_players(runs: list[RunPlace], kind: str = "Run") -> dict[str, Player]:
    return {
        f"run:{run.name}": Player(f"{kind} {run.name}", "trained", {"run": str(run.path)}, run.path) for run in runs
    }


def chosen(options: Mapping[str, Option], key: str, what: str = "player") -> Option:
    """The option of a key; whatever else stands in an address raises `LabError`."""
    if key not in options:
        fixed = [name for name in options if not _is_run(name)]
        others = " or a run of the list" if len(fixed) < len(options) else ""
        raise LabError(f"there is no {what} {key[:80]!r} here: choose one of {', '.join(fixed)}{others}")
    return options[key]


def _is_run(key: str) -> bool:
    return ":" in key  # what is made of the run, then its name


class Bench:
    """The agents of one page, each built when it is first asked for."""

    def __init__(self, lab: Lab, game: Game) -> None:
        self._lab, self._game = lab, game
        self._agents: dict[str, Agent] = {}

    def agent(self, key: str, player: Player) -> Agent:
        """Slow the first time, so to be called off the event loop."""
        assert player.agent is not None, "a person is no agent"
        if key not in self._agents:
            self._agents[key] = self._lab.agent(player.agent, self._game, player.changes)
        return self._agents[key]
