"""The keys of each command and their types; a key that is not here is refused, wherever it was written."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Command:
    """What every command is composed of."""

    env: Any = None
    reward: Any = None
    composition: dict[str, Any] = field(default_factory=dict)


@dataclass
class Evaluation:
    episodes: int = 0
    opening_plies: int = 0


@dataclass
class Logger:
    tracker: Any = None


@dataclass
class Train(Command):
    algo: Any = None
    curriculum: Any = None
    device: Any = None
    net_defaults: dict[str, Any] = field(default_factory=dict)
    logger: Logger = field(default_factory=Logger)
    seed: int = 0
    resume: str | None = None
    checkpoint_seconds: float = 0.0
    evaluation: Evaluation = field(default_factory=Evaluation)
    optimized_metric: str = ""


@dataclass
class Evaluate(Command):
    agent: Any = None
    opponent: Any = None
    episodes: int = 0
    seed: int = 0
    opening_plies: int = 0
    boards: str | None = None
    json: str | None = None


@dataclass
class Engine(Command):
    agent: Any = None
    seed: int = 0


@dataclass
class PlayLocal(Command):
    agent: Any = None
    seed: int | None = None
    heatmap: str | None = None


@dataclass
class Play:
    host: str = ""
    port: int = 0
    open_browser: bool = True
    seed: int | None = None
    runs: list[str] = field(default_factory=list)
