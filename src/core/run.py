"""One training run on disk: its log and its checkpoints, from which it goes on after being killed at any instant."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from filelock import FileLock, Timeout

from src.core import checkpoint, ranks
from src.core.config_file import CONFIG, read_config
from src.core.console import progress_bar
from src.core.curve import draw_counts, draw_curve
from src.core.errors import LabError, require
from src.core.files import write_atomic
from src.core.provenance import provenance
from src.core.runlog import RunLog, Tracker
from src.core.seeding import generator

BEST = "checkpoints/best.safetensors"


class Run:
    """Entered, it holds the directory for itself; left, it has told the tracker that it is over."""

    def __init__(self, directory: Path, config: dict[str, Any], tracker: Tracker | None) -> None:
        """`config` is the composed configuration in plain values; it is kept as config.yaml."""
        self.directory, self.seed = directory, config["seed"]
        self._config, self._tracker = config, tracker
        self._checkpoint_seconds = config["checkpoint_seconds"]
        self._lock = FileLock(directory / ".lock")
        self._log = RunLog(directory, tracker)
        self._restored: dict[str, Any] | None = None
        self._best_score: float | None = None
        self._began = self._saved = self._logged = time.monotonic()
        self._logged_step = 0

    def __enter__(self) -> "Run":
        try:
            self._lock.acquire(timeout=0.1)  # a page that asks whether somebody trains here holds it for an instant
        except Timeout:
            raise LabError(f"another process is training in {self.directory}: wait for it or stop it") from None
        try:
            self._restored = self._load_last()
            origin = provenance()
            write_atomic(self.directory / CONFIG, yaml.safe_dump(self._config, sort_keys=False))
            write_atomic(self.directory / "provenance.json", json.dumps(origin, indent=2) + "\n")
            if self._tracker is not None:
                self._tracker.start(self.directory, {**self._config, "provenance": origin})
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if self._tracker is not None:
            self._tracker.finish(failed=error_type is not None)
        self._lock.release()

    def finish(self, metrics: Mapping[str, float], result: Mapping[str, Any]) -> None:
        """Record what the finished agent achieved."""
        self.log(self._logged_step, metrics)
        self._draw(metrics)
        write_atomic(self.directory / "eval.json", json.dumps(result, indent=2) + "\n")
        if self._tracker is not None:
            self._tracker.results(self.directory, result)

    def diagnose(self, figures: Mapping[str, float], counts: Mapping[str, np.ndarray]) -> None:
        """Record what was chosen how often in training, in numbers and as a picture."""
        if not counts:
            return
        self.log(self._logged_step, figures)
        kept = {name: values.tolist() for name, values in counts.items()}
        write_atomic(self.directory / "diagnostics.json", json.dumps(kept) + "\n")
        path = self.directory / "diagnostics.png"
        if draw_counts(path, counts) and self._tracker is not None:
            self._tracker.picture("train/diagnostics", path)

    def _draw(self, metrics: Mapping[str, float]) -> None:
        path = self.directory / "win_rate.png"
        rates = {name.split("/")[1]: rate for name, rate in metrics.items() if fnmatchcase(name, "eval/*/win_rate")}
        if draw_curve(path, *self._log.column("eval/score"), rates) and self._tracker is not None:
            self._tracker.picture("eval/win_rate_curve", path)

    def generator(self, *names: str | int) -> np.random.Generator:
        return generator(self.seed, *names)

    def progress(self, unit: str, total: int, done: int) -> AbstractContextManager[Callable[[int], None]]:
        return progress_bar(unit, total, done)

    @property
    def seconds(self) -> float:
        """Seconds of training, those before a resumption included."""
        return time.monotonic() - self._began

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        now = time.monotonic()
        speed = (step - self._logged_step) / max(now - self._logged, 1e-9)
        self._logged, self._logged_step = now, step
        times = {"time/seconds": self.seconds, "time/steps_per_second": speed}
        self._log.write(step, {**metrics, **times})

    def restore(self) -> dict[str, Any] | None:
        """What was last saved, or None where the run has to begin; log and clock go back to that moment too."""
        if self._restored is None or self._restored["learner"] is None:
            self._log.keep(0)
            self._began = time.monotonic()
            self._save(None)  # from now on a run without a last checkpoint is one that has lost it
            return ranks.from_first(None)
        self._log.keep(self._restored["rows"])
        self._best_score, self._logged_step = self._restored["best_score"], self._restored["logged_step"]
        self._began = time.monotonic() - self._restored["seconds"]
        return ranks.from_first(self._restored["learner"])

    def _load_last(self) -> dict[str, Any] | None:
        """The last checkpoint, once everything that the run goes on from is known to be there and whole."""
        path = self._path("last")
        if not path.exists():
            left = [name for name in ("eval.json", BEST) if (self.directory / name).exists()]
            left += ["metrics.csv"] if self._log.rows else []
            require(
                not left,
                f"{self.directory} has results ({', '.join(left)}) but no {path.name} to go on from: restore "
                f"{path} from a copy, or train anew in another directory; nothing was changed",
            )
            return None
        saved = checkpoint.load(path)
        if saved.get("configuration") != _digest(self._config):
            raise checkpoint.CheckpointError(f"{path} does not belong to the configuration in {self.directory}")
        self._log.require_rows(saved["rows"])
        if saved["best_score"] is not None:
            checkpoint.load(self._path("best"))
        return saved

    def save(self, learner: dict[str, Any]) -> None:
        self._save(learner)

    def _save(self, learner: dict[str, Any] | None) -> None:
        checkpoint.save(
            self._path("last"),
            {
                "learner": learner,
                "configuration": _digest(self._config),
                "rows": self._log.rows,
                "best_score": self._best_score,
                "logged_step": self._logged_step,
                "seconds": self.seconds,
            },
        )
        self._saved = time.monotonic()

    def save_when_due(self, learner: Callable[[], dict[str, Any]]) -> None:
        if ranks.from_first(time.monotonic() - self._saved >= self._checkpoint_seconds):
            self.save(learner())

    def save_best(self, score: float, learner: dict[str, Any]) -> None:
        """Keep the learner where it scored higher than ever before; a score lies in [0, 1]."""
        if self._best_score is None or score > self._best_score:
            self._best_score = score
            checkpoint.save(self._path("best"), {"learner": learner, "score": score})

    def best(self) -> dict[str, Any]:
        return ranks.from_first(checkpoint.load(self._path("best"))["learner"])

    def _path(self, name: str) -> Path:
        return checkpoint_path(self.directory, name)


def has_learner(directory: Path) -> bool:
    """Whether a run goes on there from what it has learned."""
    path = checkpoint_path(directory, "last")
    return path.exists() and checkpoint.load(path).get("learner") is not None


def checkpoint_path(directory: Path, name: str) -> Path:
    return directory / "checkpoints" / f"{name}.safetensors"


def is_finished(directory: Path, config: dict[str, Any]) -> bool:
    """Whether a run of this configuration came to its end there; a directory that holds another run is refused."""
    if not (directory / CONFIG).exists():
        return False
    if _digest(read_config(directory)) != _digest(config):
        raise LabError(
            f"{directory} holds a run of other settings: go on with a sweep by the command it was begun with"
        )
    return (directory / "eval.json").exists()


def _digest(config: dict[str, Any]) -> str:
    """Of what makes a run what it is; where it is tracked does not."""
    essence = {key: value for key, value in config.items() if key not in ("logger", "resume")}
    return hashlib.sha256(json.dumps(essence, sort_keys=True).encode()).hexdigest()
