"""A run as the ranks beside the first see it: they are told what was saved, take part in saving, and write nothing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from src.core import ranks
from src.core.runs.run import Run
from src.core.runs.runlog import Tracker


class Follower(Run):
    def __init__(self, directory: Path, config: dict[str, Any], tracker: Tracker | None) -> None:
        self.directory, self.seed = directory, config["seed"]

    def __enter__(self) -> "Follower":
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        pass

    def finish(self, metrics: Mapping[str, float], result: Mapping[str, Any]) -> None:
        pass

    def diagnose(self, figures: Mapping[str, float], counts: Mapping[str, np.ndarray]) -> None:
        pass

    @property
    def seconds(self) -> float:
        return 0.0  # it is the first that looks at the clock

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        pass

    def restore(self) -> dict[str, Any] | None:
        return ranks.from_first(None)

    def save(self, learner: dict[str, Any]) -> None:
        pass

    def save_when_due(self, learner: Callable[[], dict[str, Any]], began: float | None = None) -> None:
        if ranks.from_first(False):
            learner()  # which collects what each rank has to tell

    def save_best(self, score: float, learner: dict[str, Any]) -> None:
        pass

    def best(self) -> dict[str, Any]:
        return ranks.from_first({})
