"""The run on all ranks except 0: takes part in collective operations and writes nothing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import ranks
from .run import Observer, Run
from .runlog import Tracker


class WorkerRun(Run):
    def __init__(
        self, directory: Path, config: dict[str, Any], tracker: Tracker | None, on_evaluation: Observer | None = None
    ) -> None:
        self.directory, self.seed, self._profile = directory, config["seed"], False  # rank 0 is profiled

    def __enter__(self) -> "WorkerRun":
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        pass

    def finish(self, metrics: Mapping[str, float], result: Mapping[str, Any]) -> None:
        pass

    def diagnose(self, counts: Mapping[str, np.ndarray]) -> None:
        pass

    @property
    def seconds(self) -> float:
        return 0.0  # rank 0 measures time

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        pass

    def restore(self) -> dict[str, Any] | None:
        return ranks.broadcast(None)

    def save(self, learner: dict[str, Any]) -> None:
        pass

    def save_when_due(self, learner: Callable[[], dict[str, Any]]) -> None:
        if ranks.broadcast(False):
            learner()  # gathers the state of all ranks

    def save_best(self, score: float, learner: dict[str, Any], error: float = 0.0, *, keep: bool = False) -> bool:
        return ranks.broadcast(False)

    def best_score(self) -> float | None:
        return ranks.broadcast(None)

    def best(self) -> dict[str, Any]:
        return ranks.broadcast({})
