"""The configuration keys of each command and their types; unknown keys are rejected."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from ..core.ranges import Bounds, Count, NonNegative, Plies, Positive, Seed


@dataclass
class Command:
    """Keys of all commands but `play`."""

    env: Any
    reward: Any
    composition: dict[str, str | list[str] | None]


@dataclass
class Evaluation:
    episodes: Count
    opening_plies: Plies


@dataclass
class Logger:
    project: str
    entity: str | None
    name: str | None
    group: str | None
    job_type: str | None
    notes: str | None
    tags: list[str]
    videos: Annotated[int, Bounds(ge=0, le=1000)]
    trackers: dict[str, Any]


@dataclass
class Train(Command):
    algo: Any
    curriculum: Any
    device: Any
    net_defaults: dict[str, Any]
    logger: Logger
    seed: Seed
    resume: str | None
    checkpoint_seconds: NonNegative
    profile: bool
    evaluation: Evaluation
    optimized_metric: str


@dataclass
class Evaluate(Command):
    agent: Any
    opponent: Any
    episodes: Count
    seed: Seed
    opening_plies: Plies
    boards: str | None
    json: str | None


@dataclass
class Record(Command):
    agent: Any
    opponent: Any
    games: Annotated[int, Bounds(ge=1, le=100)]
    seed: Seed
    opening_plies: Plies
    output: str
    fps: Annotated[float, Bounds(gt=0, le=50)]
    last_frame_seconds: Annotated[float, Bounds(gt=0, le=60)]
    width: Annotated[int, Bounds(ge=16, le=2000)] | None


@dataclass
class Tournament(Command):
    agents: list[str]
    games: Count
    opening_plies: Plies
    seed: Seed
    anchor: str | None
    json: str | None
    markdown: str | None


@dataclass
class Generate(Command):
    algo: Any
    device: Any
    minutes: Positive | None
    seed: Seed
    output: str


@dataclass
class Sprt(Command):
    agents: list[str]
    elo0: float
    elo1: float
    alpha: float
    beta: float
    games: Count
    stop_early: bool
    minutes: Positive | None
    opening_plies: Plies
    fewest_opening_plies: Plies | None
    workers: Count
    seed: Seed
    json: str | None


@dataclass
class Engine(Command):
    agent: Any
    seed: Seed


@dataclass
class PlayLocal(Command):
    agent: Any
    seed: Seed | None
    heatmap: str | None


@dataclass
class Compare:
    runs: list[str]
    group: str | list[str] | None
    metric: str | None
    curve: str | None
    output: str | None


@dataclass
class Export:
    run: str
    checkpoint: Literal["best", "last"]
    onnx: str | None


@dataclass
class Zoo:
    action: Literal["list", "pull", "push"]
    model: str | None
    name: str | None
    address: str | None


@dataclass
class Play:
    host: str
    port: Annotated[int, Bounds(ge=0, lt=65_536)]
    open_browser: bool
    seed: Seed | None
    runs: list[str]
    games: str | None
