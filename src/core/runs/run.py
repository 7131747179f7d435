"""A training run on disk: its log and checkpoints, from which it can be resumed after being killed at any time.

`Environment` and `Algorithm` are the interfaces of what a run trains.
"""

import hashlib
import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import yaml
from filelock import FileLock, Timeout

from .. import ranks
from ..errors import UserError, require
from ..files import require_closed, require_replaceable, write_atomic
from ..package import command
from ..play.agent import Agent
from ..play.curriculum import Curriculum
from ..play.game import Game, Trait
from ..seeding import generator
from . import checkpoint
from .config_file import CONFIG, read_config
from .console import Advance, Meter, approximate_duration, progress_bar
from .curve import PICTURE, draw_counts, draw_run
from .profiling import TRACE, profiled
from .provenance import DIFF, provenance, uncommitted
from .runlog import LoggedMetrics, RunLog
from .trackers import Tracker

log = logging.getLogger(__name__)

T = TypeVar("T")
Observer = Callable[[int, float], None]  # called after each evaluation with its step and score; may raise `Pruned`
LOCK = ".lock"  # held by the process that trains in the directory
FIRST, BEST = "checkpoints/first.safetensors", "checkpoints/best.safetensors"
PROGRESS = "progress.json"  # how far the training is, for pages that show it
NETWORK = "network.safetensors"  # of algo=nnue: the best weights in the integers of the search
PRUNED = "pruned.txt"  # in the directory of a run that a search has stopped early: the step and the score
OUTPUT_FILES = (
    *(LOCK, "train.log", CONFIG, "provenance.json", DIFF, "metrics.csv", "eval.json", "diagnostics.json"),
    *("diagnostics.png", PICTURE, "qtable.json", NETWORK, FIRST, BEST, "checkpoints/last.safetensors", PRUNED, TRACE),
    PROGRESS,
)
VIDEOS = "videos"  # GIFs of evaluation games, by step
VIDEO_WIDTH, VIDEO_FRAMES = 320, 60  # pixels and positions, at most
FRAME_SECONDS, LAST_FRAME_SECONDS = 0.3, 2.0
BINS = np.linspace(0.0, 1.0, 21)  # of histograms of probabilities


class Pruned(Exception):  # noqa: N818 (not an error)
    """Raised by an observer of evaluations to stop a run that is not worth finishing."""


class Run:
    """A context manager that locks the run directory and starts and finishes the tracker."""

    def __init__(
        self, directory: Path, config: dict[str, Any], tracker: Tracker | None, on_evaluation: Observer | None = None
    ) -> None:
        """`config` is the composed configuration in plain values; it is saved as config.yaml."""
        require_closed(directory)
        for name in OUTPUT_FILES:  # refuse it before the training, not after it
            require_replaceable(directory / name)
        self.directory, self.seed = directory, config["seed"]
        self._config, self._tracker, self._on_evaluation = config, tracker, on_evaluation
        self._checkpoint_seconds, self._profile = config["checkpoint_seconds"], config.get("profile", False)
        self._videos = (config.get("logger") or {}).get("videos", 0)
        self._lock = FileLock(directory / LOCK)
        self._log = RunLog(directory, tracker)
        self._restored: dict[str, Any] | None = None
        self._resuming = False  # restored from a checkpoint, and nothing logged or saved since
        self._best_score: float | None = None
        self._win_rate: float | None = None  # of the latest evaluation
        self._began = self._saved = self._logged = time.monotonic()
        self._logged_step = 0

    def __enter__(self) -> "Run":
        try:
            self._lock.acquire(timeout=0.1)  # `is_training` holds it briefly
        except Timeout:
            raise UserError(f"another process is training in {self.directory}: wait for it or stop it") from None
        try:
            self._restored = self._load_last()
            origin = provenance()
            write_atomic(self.directory / CONFIG, yaml.safe_dump(self._config, sort_keys=False))
            write_atomic(self.directory / "provenance.json", json.dumps(origin, indent=2) + "\n")
            (self.directory / PRUNED).unlink(missing_ok=True)  # it is trained again
            patch = uncommitted()  # with changes the commit alone does not identify the code
            if patch is None:
                (self.directory / DIFF).unlink(missing_ok=True)  # from before the run was resumed
            else:
                write_atomic(self.directory / DIFF, patch)
            if self._tracker is not None:
                self._tracker.start(self.directory, {**self._config, "provenance": origin})
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if isinstance(error, Pruned):
            self._draw_curve()
            if self._tracker is not None:
                self._tracker.mark_pruned(self._logged_step)
            write_atomic(self.directory / PRUNED, f"{error}\n")
        if self._tracker is not None:
            self._tracker.finish(failed=error_type is not None and not isinstance(error, Pruned))
        self._lock.release()
        if self._resuming and isinstance(error, checkpoint.LOAD_ERRORS):  # the checkpoint could not be restored
            with checkpoint.as_checkpoint_errors("this run", self._path("last")):
                raise error

    def _draw_curve(self) -> None:
        """Draw the learning curve so far, also for the tracker."""
        if draw_run(self.directory) and self._tracker is not None:
            self._tracker.picture("eval/win_rate_curve", self.directory / PICTURE)

    def finish(self, metrics: Mapping[str, float], result: Mapping[str, Any]) -> None:
        """Record the final evaluation: the last row of the log, and eval.json."""
        self._log.write(self._logged_step, {**metrics, "time/seconds": self.seconds}, once=True)
        write_atomic(self.directory / "eval.json", json.dumps(result, indent=2) + "\n")
        if self._tracker is not None:
            self._tracker.results(self.directory, result)
        self._draw_curve()

    def diagnose(self, counts: Mapping[str, np.ndarray]) -> None:
        """Record how often each action was chosen in training, as numbers and as an image."""
        if not counts:
            return
        lists = {name: values.tolist() for name, values in counts.items()}
        write_atomic(self.directory / "diagnostics.json", json.dumps(lists) + "\n")
        path = self.directory / "diagnostics.png"
        if draw_counts(path, counts) and self._tracker is not None:
            self._tracker.picture("train/diagnostics", path)

    def histogram(self, name: str, probabilities: np.ndarray) -> None:
        """Record a histogram of probabilities with the latest row, for trackers only."""
        if self._tracker is not None and probabilities.size:
            counts, edges = np.histogram(probabilities, BINS)
            self._tracker.histogram(name, counts, edges)

    @contextmanager
    def recorded_game(self, game: Game, step: int, progress: float) -> Iterator[Callable[[Any], None] | None]:
        """Yield the function that records a position of an evaluation game for a GIF; None if no GIF is due.

        GIFs are spread over the `progress` of the run, from 0 to 1, and take none of its time. There are none of games
        that draw no pictures, and without Pillow.
        """
        names = (path.stem for path in (self.directory / VIDEOS).glob("*.gif"))
        earlier = [name for name in names if name.isdecimal() and int(name) < step]
        due = self._videos > len(earlier) and len(earlier) <= progress * (self._videos - 1)
        if not due or type(game).image is Game.image or find_spec("PIL") is None:
            yield None
            return
        from ..play.canvas import Animation

        animation = Animation(VIDEO_WIDTH)

        def add(state: Any) -> None:
            if len(animation) < VIDEO_FRAMES:
                with self.stopped_clock():
                    animation.add(game.image(state), FRAME_SECONDS)

        yield add
        with self.stopped_clock():
            path = self.directory / VIDEOS / f"{step:012}.gif"
            animation.hold(LAST_FRAME_SECONDS)
            write_atomic(path, animation.encode())
            if self._tracker is not None:
                self._tracker.video("eval/game", path, step)

    def generator(self, *names: str | int) -> np.random.Generator:
        return generator(self.seed, *names)

    def progress(
        self, unit: str, total: int, done: int, seconds: float | None = None
    ) -> AbstractContextManager[Advance]:
        """Show a progress bar; yield the function that sets the progress, to be called after each update.

        Within an update that takes long it is called with an estimate of the progress and the name of a phase.

        `seconds` is the time limit of the run. With `profile=true` some of the updates are profiled.
        """
        bar = progress_bar(
            unit,
            total,
            done,
            seconds=seconds,
            clock=lambda: self.seconds,
            status=self._status,
            on_estimate=lambda expected: log.info(
                "%s expected; watch with: %s (page Runs)", approximate_duration(expected), command("play")
            ),
            on_second=self._write_progress,
        )
        return profiled(bar, self.directory) if self._profile else bar

    def _write_progress(self, meter: Meter) -> None:
        """Replace progress.json without waiting for the disk; without space the training continues."""
        left = meter.seconds_left
        values = {
            "done": int(meter.done),
            "total": meter.total,
            "unit": meter.unit.split(",")[0],
            "fraction": meter.fraction,
            "speed": meter.speed,
            "seconds_left": left if math.isfinite(left) else None,
        }
        partial = self.directory / f".{PROGRESS}.partial"
        with suppress(OSError):
            partial.write_text(json.dumps(values))
            partial.replace(self.directory / PROGRESS)

    def _status(self) -> str:
        """Return the latest win rate and the best selection score, which is another share in some games."""
        if self._best_score is None:
            return ""
        best = f"highest score {self._best_score:.1%}"
        return best if self._win_rate is None else f"win rate {self._win_rate:.1%}, {best}"

    @property
    def seconds(self) -> float:
        """Seconds of training, including those before the run was resumed, without `stopped_clock`."""
        return time.monotonic() - self._began

    @contextmanager
    def stopped_clock(self) -> Iterator[None]:
        """Leave the time of the block out of `seconds` and of the rate of steps."""
        entered = time.monotonic()
        try:
            yield
        finally:
            passed = time.monotonic() - entered
            self._began += passed
            self._logged += passed

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        now = time.monotonic()
        times = {"time/seconds": self.seconds}
        if step > self._logged_step:
            times["time/steps_per_second"] = (step - self._logged_step) / max(now - self._logged, 1e-9)
        self._logged, self._logged_step = now, step
        self._win_rate = metrics.get("eval/win_rate", self._win_rate)
        self._resuming = False
        self._log.write(step, {**metrics, **times})

    def restore(self) -> dict[str, Any] | None:
        """Return the learner of the last checkpoint, or None for a new run; reset log and clock to that checkpoint."""
        if self._restored is None or self._restored["learner"] is None:
            self._log.truncate(0)
            self._began = time.monotonic()
            self.save(None)  # so that a missing last checkpoint later means that the file was lost
            return ranks.broadcast(None)
        self._resuming = True
        self._log.truncate(self._restored["rows"])
        self._best_score, self._logged_step = self._restored["best_score"], self._restored["logged_step"]
        self._began = time.monotonic() - self._restored["seconds"]
        _, rates = LoggedMetrics(self.directory).column("eval/win_rate")
        self._win_rate = rates[-1] if rates else None
        learner: dict[str, Any] = self._restored.pop("learner")
        return ranks.broadcast(learner)

    def _load_last(self) -> dict[str, Any] | None:
        """Load the last checkpoint, after checking that all files needed to resume are complete."""
        path = self._path("last")
        if not path.exists():
            found = [name for name in ("eval.json", BEST) if (self.directory / name).exists()]
            found += ["metrics.csv"] if self._log.rows else []
            require(
                not found,
                f"{self.directory} has results ({', '.join(found)}) but no {path.name} to resume from: restore "
                f"{path} from a copy, or train in another directory; nothing was changed",
            )
            return None
        saved = checkpoint.load(path)
        if saved.get("configuration") != _digest(self._config):
            raise checkpoint.CheckpointError(
                f"{path} does not belong to the configuration in {self.directory}, or was written by an earlier "
                "version; such runs can be evaluated but not resumed"
            )
        with checkpoint.as_checkpoint_errors("a run", path):
            self._log.require_rows(saved["rows"])
            if saved["best_score"] is not None:
                checkpoint.load(self._path("best"))
        return saved

    def save(self, learner: dict[str, Any] | None) -> None:
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
        self._saved, self._resuming = time.monotonic(), False

    def save_when_due(self, learner: Callable[[], dict[str, Any]]) -> None:
        """Save if `checkpoint_seconds` have passed since the last save."""
        if ranks.broadcast(time.monotonic() - self._saved >= self._checkpoint_seconds):
            self.save(learner())

    def save_first(self, learner: dict[str, Any]) -> None:
        """Save the learner before its training, to compare later ones with it."""
        checkpoint.save(self._path("first"), {"learner": learner})

    def save_best(self, score: float, learner: dict[str, Any], error: float = 0.0, win_rate: float = 0.0) -> None:
        """Save the learner as the best checkpoint if its score, in [0, 1], is within `error` of the highest so far.

        `error` is the standard error of the score. The highest of many noisy scores is a lucky one, so it must not keep
        a later learner out that is as good (the one-standard-error rule of Breiman et al. 1984). Between checkpoints
        with the same exact score (`error` 0) the higher `win_rate` decides, then the later one.

        It is called after each evaluation, and so calls the observer of evaluations, which may end the run.
        """
        highest = score if self._best_score is None else max(score, self._best_score)
        replaced = score >= highest - error
        if score == self._best_score and error == 0:
            replaced = win_rate >= checkpoint.load(self._path("best")).get("win_rate", 0.0)
        if replaced:
            self._best_score = highest
            checkpoint.save(self._path("best"), {"learner": learner, "score": score, "win_rate": win_rate})
            if self._tracker is not None:
                self._tracker.best_checkpoint(self._path("best"))
        if self._on_evaluation is not None:
            self._on_evaluation(self._logged_step, score)

    def best(self) -> dict[str, Any]:
        return ranks.broadcast(checkpoint.load(self._path("best"))["learner"])

    def load_best(self, load_agent: Callable[[dict[str, Any]], T]) -> T:
        """Return the agent of the best checkpoint."""
        best = self.best()
        with checkpoint.as_checkpoint_errors("this run", self._path("best")):
            return load_agent(best)

    def _path(self, name: str) -> Path:
        return checkpoint_path(self.directory, name)


class WorkerRun(Run):
    """The run on all ranks except 0: takes part in collective operations and writes nothing."""

    def __init__(
        self, directory: Path, config: dict[str, Any], tracker: Tracker | None, on_evaluation: Observer | None = None
    ) -> None:
        self.directory, self.seed, self._profile = directory, config["seed"], False  # rank 0 is profiled

    def __enter__(self) -> "WorkerRun":
        return self

    def _skip(self, *_: Any, **__: Any) -> None:
        """Do nothing: rank 0 writes."""

    __exit__ = finish = diagnose = histogram = log = save = save_first = save_best = _skip

    @contextmanager
    def recorded_game(self, game: Game, step: int, progress: float) -> Iterator[None]:
        yield

    @property
    def seconds(self) -> float:
        return 0.0  # rank 0 measures time

    @contextmanager
    def stopped_clock(self) -> Iterator[None]:
        yield

    def restore(self) -> dict[str, Any] | None:
        return ranks.broadcast(None)

    def save_when_due(self, learner: Callable[[], dict[str, Any]]) -> None:
        if ranks.broadcast(False):
            learner()  # gathers the state of all ranks

    def best(self) -> dict[str, Any]:
        return ranks.broadcast({})


def has_learner(directory: Path) -> bool:
    """Return whether the last checkpoint has a learner to resume from."""
    path = checkpoint_path(directory, "last")
    return path.exists() and checkpoint.load(path).get("learner") is not None


def checkpoint_path(directory: Path, name: str) -> Path:
    return directory / "checkpoints" / f"{name}.safetensors"


def is_finished(directory: Path, config: dict[str, Any]) -> bool:
    """Return whether a run of this configuration is finished; raise `UserError` if the directory has another run."""
    if not (directory / CONFIG).exists():
        return False
    if _digest(read_config(directory)) != _digest(config):
        raise UserError(f"{directory} has a run of other settings: resume a sweep with the command that started it")
    return (directory / "eval.json").exists()


def _digest(config: dict[str, Any]) -> str:
    """Return a digest of the settings that affect the result."""
    settings = {key: value for key, value in config.items() if key not in ("logger", "resume", "profile")}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


_PROBING = threading.Lock()  # or two simultaneous probes would take each other for a training run


def is_training(directory: Path) -> bool:
    """Return whether a process trains in a run directory; its lock file is not created."""
    path = directory / LOCK
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with _PROBING, FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # deleted meanwhile, or not accessible
        return False


class Environment(Protocol):
    """A Gymnasium environment with the rules of its game and the baselines to evaluate against."""

    @property
    def game(self) -> Game: ...

    @property
    def baselines(self) -> dict[str, Agent]: ...

    @property
    def observation_space(self) -> Any: ...

    def vectorize(self, num_envs: int, device: str = "cpu") -> Any:
        """Return a `gymnasium.vector.VectorEnv` of this configuration with autoreset in the same step.

        An environment on torch keeps its tensors on `device`; the others return numpy arrays and ignore it.

        In addition to Gymnasium's interface it has `action_masks()` (N, A), also as `info["action_mask"]`, `final_obs`,
        `final_info["won"]`, and `state()` and `load_state(saved)` for checkpoints.
        """


class Algorithm(Protocol):
    needs: ClassVar[frozenset[Trait]]

    def check(self, env: Any, curriculum: Curriculum) -> None:
        """Raise `UserError` if these settings cannot be trained, before anything is written."""

    def fit(self, env: Any, curriculum: Curriculum, run: Run) -> Agent:
        """Train until the budget is used, from the last checkpoint of `run` if any; return the best agent."""

    def load_agent(self, saved: dict[str, Any]) -> Agent:
        """Return the agent of a checkpoint that `fit` saved."""
