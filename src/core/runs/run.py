"""One training run on disk: its log and its checkpoints, from which it goes on after being killed at any instant."""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml
from filelock import FileLock, Timeout

from src.core import ranks
from src.core.errors import UserError, require
from src.core.files import require_real_directory, require_replaceable, write_atomic
from src.core.runs import checkpoint
from src.core.runs.config_file import CONFIG, read_config
from src.core.runs.console import about, progress_bar
from src.core.runs.curve import PICTURE, draw_counts, draw_run
from src.core.runs.provenance import DIFF, provenance, uncommitted
from src.core.runs.runlog import RunLog, Tracker
from src.core.seeding import generator

log = logging.getLogger(__name__)

T = TypeVar("T")
WATCH = "python -m src.play (page Runs)"
BEST = "checkpoints/best.safetensors"
WRITTEN = (
    *(CONFIG, "provenance.json", DIFF, "metrics.csv", "eval.json", "diagnostics.json", "diagnostics.png", PICTURE),
    *("qtable.json", BEST, "checkpoints/last.safetensors"),
)


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
        self._going_on = False  # from what was saved, and nothing was recorded since
        self._best_score: float | None = None
        self._win_rate: float | None = None  # of the latest evaluation
        self._began = self._saved = self._logged = time.monotonic()
        self._logged_step = 0

    def __enter__(self) -> "Run":
        try:
            self._lock.acquire(timeout=0.1)  # a page that asks whether somebody trains here holds it for an instant
        except Timeout:
            raise UserError(f"another process is training in {self.directory}: wait for it or stop it") from None
        try:
            require_real_directory(self._path("last").parent)
            for name in WRITTEN:  # now, not after the training
                require_replaceable(self.directory / name)
            self._restored = self._load_last()
            origin = provenance()
            write_atomic(self.directory / CONFIG, yaml.safe_dump(self._config, sort_keys=False))
            write_atomic(self.directory / "provenance.json", json.dumps(origin, indent=2) + "\n")
            self._keep_diff()
            if self._tracker is not None:
                self._tracker.start(self.directory, {**self._config, "provenance": origin})
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if self._tracker is not None:
            self._tracker.finish(failed=error_type is not None)
        self._lock.release()
        if self._going_on and isinstance(error, checkpoint.MISFITS):  # it could not even be put back to where it was
            with checkpoint.read_by("this run", self._path("last")):
                raise error

    def _keep_diff(self) -> None:
        """A commit alone does not say what was run where the tree has changes: keep them beside it."""
        path, patch = self.directory / DIFF, uncommitted()
        if patch is None:
            path.unlink(missing_ok=True)  # of a part of this run that was resumed since
        else:
            write_atomic(path, patch)

    def finish(self, metrics: Mapping[str, float], result: Mapping[str, Any]) -> None:
        """Record what the finished agent achieved: the last row of the log, and eval.json."""
        self._log.write(self._logged_step, {**metrics, "time/seconds": self.seconds}, once=True)
        write_atomic(self.directory / "eval.json", json.dumps(result, indent=2) + "\n")
        drawn = draw_run(self.directory)
        if self._tracker is not None:
            self._tracker.results(self.directory, result)
            if drawn:
                self._tracker.picture("eval/win_rate_curve", self.directory / PICTURE)

    def diagnose(self, figures: Mapping[str, float], counts: Mapping[str, np.ndarray]) -> None:
        """Record what was chosen how often in training, in numbers and as a picture."""
        if not counts:
            return
        self._log.write(self._logged_step, figures, once=True)
        kept = {name: values.tolist() for name, values in counts.items()}
        write_atomic(self.directory / "diagnostics.json", json.dumps(kept) + "\n")
        path = self.directory / "diagnostics.png"
        if draw_counts(path, counts) and self._tracker is not None:
            self._tracker.picture("train/diagnostics", path)

    def generator(self, *names: str | int) -> np.random.Generator:
        return generator(self.seed, *names)

    def progress(
        self, unit: str, total: int, done: int, seconds: float | None = None
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Show how far training is; yields the function that takes how much is done.

        `seconds` is the limit on the time of the whole run, where it has one.
        """
        return progress_bar(
            unit,
            total,
            done,
            seconds=seconds,
            clock=lambda: self.seconds,
            status=self._standing,
            on_estimate=lambda expected: log.info("%s expected; watch with: %s", about(expected), WATCH),
        )

    def _standing(self) -> str:
        """The latest win rate and the best one."""
        if self._best_score is None:
            return ""
        best = f"{self._best_score:.1%}"
        return f"best score {best}" if self._win_rate is None else f"win rate {self._win_rate:.1%}, best {best}"

    @property
    def seconds(self) -> float:
        """Seconds of training, those before a resumption included."""
        return time.monotonic() - self._began

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        now = time.monotonic()
        times = {"time/seconds": self.seconds}
        if step > self._logged_step:
            times["time/steps_per_second"] = (step - self._logged_step) / max(now - self._logged, 1e-9)
        self._logged, self._logged_step = now, step
        self._win_rate = metrics.get("eval/win_rate", self._win_rate)
        self._going_on = False
        self._log.write(step, {**metrics, **times})

    def restore(self) -> dict[str, Any] | None:
        """What was last saved, or None where the run has to begin; log and clock go back to that moment too."""
        if self._restored is None or self._restored["learner"] is None:
            self._log.keep(0)
            self._began = time.monotonic()
            self._save(None)  # from now on a run without a last checkpoint is one that has lost it
            return ranks.broadcast(None)
        self._going_on = True
        self._log.keep(self._restored["rows"])
        self._best_score, self._logged_step = self._restored["best_score"], self._restored["logged_step"]
        self._began = time.monotonic() - self._restored["seconds"]
        _, rates = self._log.column("eval/win_rate")
        self._win_rate = rates[-1] if rates else None
        learner: dict[str, Any] = self._restored["learner"]
        return ranks.broadcast(learner)

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
            raise checkpoint.CheckpointError(
                f"{path} does not belong to the configuration in {self.directory}, or is of an earlier version, "
                "whose runs can be evaluated but not resumed"
            )
        with checkpoint.read_by("a run", path):
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
        self._saved, self._going_on = time.monotonic(), False

    def save_when_due(self, learner: Callable[[], dict[str, Any]], began: float | None = None) -> None:
        """Save once `checkpoint_seconds` have passed, also since `began`, where saving amid some work costs more."""
        since = self._saved if began is None else max(self._saved, began)
        if ranks.broadcast(time.monotonic() - since >= self._checkpoint_seconds):
            self.save(learner())

    def save_best(self, score: float, learner: dict[str, Any]) -> None:
        """Keep the learner if it scored at least the best so far, in [0, 1]; of equal scores the later one is kept."""
        if self._best_score is None or score >= self._best_score:
            self._best_score = score
            checkpoint.save(self._path("best"), {"learner": learner, "score": score})

    def best(self) -> dict[str, Any]:
        return ranks.broadcast(checkpoint.load(self._path("best"))["learner"])

    def load_best(self, load_agent: Callable[[dict[str, Any]], T]) -> T:
        """The agent of the best checkpoint."""
        best = self.best()
        with checkpoint.read_by("this run", self._path("best")):
            return load_agent(best)

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
        raise UserError(
            f"{directory} holds a run of other settings: go on with a sweep by the command it was begun with"
        )
    return (directory / "eval.json").exists()


def _digest(config: dict[str, Any]) -> str:
    """Of what makes a run what it is; where it is tracked does not."""
    essence = {key: value for key, value in config.items() if key not in ("logger", "resume")}
    return hashlib.sha256(json.dumps(essence, sort_keys=True).encode()).hexdigest()
