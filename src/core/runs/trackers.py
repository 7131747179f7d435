"""Additional destinations of the metrics: Weights & Biases and TensorBoard.

If one fails, training continues without it after one warning.
"""

import contextlib
import hashlib
import logging
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
import yaml

from ..errors import require
from ..files import write_atomic
from ..package import install_command
from ..ranges import Bounds, Positive, checked
from .provenance import DIFF

log = logging.getLogger(__name__)

Method = TypeVar("Method", bound=Callable[..., None])

Mode = Literal["offline", "online"]
ADDRESS = "wandb_url.txt"  # in the run directory: URL of the run
BEST_OF = (
    "eval/win_rate",
    "eval/elo",
    "eval/not_lost_share",
    "train/win_rate",
)  # the summary has their maximum and last value
NAME_LENGTH, TAG_LENGTH = 128, 64  # limits of wandb
OPTION_TAGS = ("env", "algo", "reward", "curriculum")
UPLOAD_SECONDS = 600.0  # between versions of the best checkpoint while a run trains
Name = Annotated[str, Bounds(ge=1, le=NAME_LENGTH)]
SCORE_COLUMNS = ("episodes", "wins", "draws", "losses", "aborted", "win_rate")


class Tracker(Protocol):
    """What a run calls. It may fail at any time without ending the run."""

    def start(self, directory: Path, config: dict[str, Any]) -> None: ...
    def log(self, row: Mapping[str, float]) -> None: ...
    def summarize(self, row: Mapping[str, float]) -> None: ...  # values of the whole run
    def picture(self, name: str, path: Path) -> None: ...
    def video(self, name: str, path: Path, step: int) -> None: ...  # a GIF
    def histogram(self, name: str, counts: np.ndarray, edges: np.ndarray) -> None: ...
    def best_checkpoint(self, path: Path) -> None: ...  # there is a new one
    def results(self, directory: Path, result: Mapping[str, Any]) -> None: ...
    def mark_pruned(self, step: int) -> None: ...  # a search has stopped the run at this step
    def finish(self, failed: bool) -> None: ...


def _call_each(method: Method) -> Method:
    """Return the method of a group that calls a method of each member."""

    def call(group: "TrackerGroup", *arguments: Any, **options: Any) -> None:
        for member in group.members:
            getattr(member, method.__name__)(*arguments, **options)

    return call  # type: ignore[return-value]


class TrackerGroup:
    """Several trackers as one; each ends alone with its first error."""

    def __init__(self, members: Sequence[Tracker]) -> None:
        self.members = members

    start = _call_each(Tracker.start)
    log = _call_each(Tracker.log)
    summarize = _call_each(Tracker.summarize)
    picture = _call_each(Tracker.picture)
    video = _call_each(Tracker.video)
    histogram = _call_each(Tracker.histogram)
    best_checkpoint = _call_each(Tracker.best_checkpoint)
    results = _call_each(Tracker.results)
    mark_pruned = _call_each(Tracker.mark_pruned)
    finish = _call_each(Tracker.finish)


def guarded(action: str) -> Callable[[Method], Method]:
    """Decorate a method of a tracker: it does nothing without a session, and an error ends the session only."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def wrapper(tracker: Any, *arguments: Any, **options: Any) -> None:
            if tracker.session is not None:
                tracker.attempt(action, lambda: method(tracker, *arguments, **options))

        return wrapper  # type: ignore[return-value]

    return decorate


class _Session:
    """The connection of a tracker, which ends with the first error."""

    title: ClassVar[str]
    session: Any = None  # None before the start and after an error

    def attempt(self, action: str, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            message = "%s could not %s (%s); the run continues, its metrics are in metrics.csv"
            log.warning(message, self.title, action, error)
            self.session = None
            with contextlib.suppress(Exception):
                self.clean_up()

    def clean_up(self) -> None:
        """Release what an error has left behind."""


class WandbTracker(_Session):
    title = "wandb"

    @checked
    def __init__(
        self,
        mode: Mode,
        project: Name,
        entity: Name | None,
        init_timeout: Positive,
        name: Name | None = None,
        group: Name | None = None,
        job_type: Name | None = None,
        notes: str | None = None,
        tags: Sequence[Annotated[str, Bounds(ge=1, le=TAG_LENGTH)]] = (),
    ) -> None:
        """Without `name` or `group` they are chosen from the configuration; its options are tags, too."""
        self.mode, self.project, self.entity, self.init_timeout = mode, project, entity, init_timeout
        self.name, self.group, self.job_type, self.notes, self.tags = name, group, job_type, notes, list(tags)
        self._step: float = 0
        self._uploaded = -math.inf  # when the latest best checkpoint became an artifact

    def start(self, directory: Path, config: dict[str, Any]) -> None:
        self.attempt("start", lambda: self._start(self.mode, directory, config))
        if self.session is None and self.mode == "online":
            self.attempt("start", lambda: self._start("offline", directory, config))

    def _start(self, mode: Mode, directory: Path, config: dict[str, Any]) -> None:
        # Otherwise wandb reports usage and errors to its vendor, in offline mode too.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb

        # A resumed run has the same directory and so the same id: wandb shows both parts as one run.
        run_id = hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:12]
        names = config["composition"]
        self.session = wandb.init(
            mode=mode,
            project=self.project,
            entity=self.entity,
            dir=directory,
            id=run_id,
            resume="allow" if mode == "online" else None,
            config=config,
            name=self.name or run_name(config),
            group=self.group or names["sweep"] or names["experiment"] or f"{names['env']}-{names['algo']}",
            job_type=self.job_type,
            notes=self.notes,
            tags=[*(f"{key}:{names[key]}"[:TAG_LENGTH] for key in OPTION_TAGS), *self.tags],
            reinit="finish_previous",  # the jobs of a sweep share a process
            settings=wandb.Settings(silent=True, console="off", symlink=False, init_timeout=self.init_timeout),
        )
        self.session.define_metric("step")
        self.session.define_metric("*", step_metric="step")
        for name in BEST_OF:
            self.session.define_metric(name, step_metric="step", summary="max,last")
        if mode != self.mode:
            files = Path(self.session.dir).parent  # others in the run directory may be untrusted
            log.warning("wandb writes offline files instead; upload them later with: wandb sync %s", files)
        if mode == "online" and self.session.url:
            write_atomic(directory / ADDRESS, f"{self.session.url}\n")
        if (directory / DIFF).exists():
            self._log_files("code", "code", [directory / DIFF])

    @guarded("log")
    def log(self, row: Mapping[str, float]) -> None:
        self._step = row["step"]
        self.session.log(dict(row))

    @guarded("log")
    def summarize(self, row: Mapping[str, float]) -> None:
        self.session.summary.update({name: value for name, value in row.items() if name != "step"})

    @guarded("log")
    def picture(self, name: str, path: Path) -> None:
        import wandb

        self.session.log({name: wandb.Image(str(path)), "step": self._step})

    @guarded("log")
    def video(self, name: str, path: Path, step: int) -> None:
        import wandb

        self.session.log({name: wandb.Video(str(path), format="gif"), "step": step})

    @guarded("log")
    def histogram(self, name: str, counts: np.ndarray, edges: np.ndarray) -> None:
        import wandb

        self.session.log({name: wandb.Histogram(np_histogram=(counts, edges)), "step": self._step})

    @guarded("upload the best checkpoint")
    def best_checkpoint(self, path: Path) -> None:
        """Log it as an artifact, unless another one was logged less than `UPLOAD_SECONDS` ago: each is a copy."""
        now = time.monotonic()
        if now - self._uploaded >= UPLOAD_SECONDS:
            self._uploaded = now
            with _staged_in(Path(self.session.dir).parent):
                self._log_files("checkpoints", "model", [path], ["best"], copied=True)

    @guarded("upload the results")
    def results(self, directory: Path, result: Mapping[str, Any]) -> None:
        """Log the checkpoints and eval.json as artifacts, and the evaluation as a table."""
        import wandb

        checkpoints = [directory / "checkpoints" / f"{name}.safetensors" for name in ("best", "last")]
        self._log_files("checkpoints", "model", [path for path in checkpoints if path.exists()], ["best"])
        self._log_files("evaluation", "evaluation", [directory / "eval.json"])
        table = wandb.Table(columns=["baseline", *SCORE_COLUMNS, "low", "high"])
        for name, score in result["scores"].items():
            table.add_data(name, *(score[column] for column in SCORE_COLUMNS), *score["win_rate_ci95"])
        with _staged_in(Path(self.session.dir).parent):
            self.session.log({"final/baselines": table, "step": self._step})

    @guarded("log")
    def mark_pruned(self, step: int) -> None:
        self.session.tags = (*(self.session.tags or ()), "pruned")
        self.session.summary.update({"pruned": True, "pruned_at_step": step})

    @guarded("finish")
    def finish(self, failed: bool) -> None:
        session, self.session = self.session, None
        session.finish(exit_code=int(failed))

    def _log_files(
        self, name: str, kind: str, paths: Sequence[Path], aliases: Sequence[str] = (), copied: bool = False
    ) -> None:
        """Log an artifact. Its files are uploaded from where they are, or from copies if they will be overwritten."""
        import wandb

        artifact = wandb.Artifact(f"{name}-{self.session.id}", kind)
        for path in paths:
            artifact.add_file(str(path.resolve()), policy="mutable" if copied else "immutable", skip_cache=True)
        self.session.log_artifact(artifact, aliases=["latest", *aliases])

    def clean_up(self) -> None:
        import wandb

        wandb.teardown()  # a dead service would break the next run


def run_name(config: Mapping[str, Any]) -> str:
    """Return the name of a run with its overrides, such as tictactoe-ppo-lr=0.0003-seed2."""
    names = config["composition"]
    words = [word.lstrip("+") for word in names.get("overrides") or ()]
    keys = [word.partition("=")[0] for word in words]
    ends = [re.split(r"[.@/]", key)[-1] for key in keys]
    unique = [end if ends.count(end) == 1 else key for key, end in zip(keys, ends, strict=True)]  # lr of algo.lr
    short = [end + word[len(key) :] for word, key, end in zip(words, keys, unique, strict=True)]
    first, last = f"{names['env']}-{names['algo']}", f"-seed{config['seed']}"
    middle = "".join(f"-{word}" for word in short)
    room = NAME_LENGTH - len(first) - len(last)
    if len(middle) > room:
        digest = hashlib.sha256(middle.encode()).hexdigest()[:6]
        middle = f"{middle[: room - len(digest) - 1]}~{digest}"  # truncated names stay unique
    return first + middle + last


@contextlib.contextmanager
def _staged_in(directory: Path) -> Iterator[None]:
    """Stage uploads in the run directory instead of the home directory, so that they can be synced from there."""
    before = os.environ.get("WANDB_DATA_DIR")
    os.environ["WANDB_DATA_DIR"] = str(directory.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ["WANDB_DATA_DIR"]
        else:
            os.environ["WANDB_DATA_DIR"] = before


class TensorboardTracker(_Session):
    title = "TensorBoard"

    def __init__(self) -> None:
        installed = find_spec("tensorboard") is not None
        require(installed, f"logger=tensorboard needs an extra: {install_command('tensorboard')}")
        self._step = 0

    def start(self, directory: Path, config: dict[str, Any]) -> None:
        self.attempt("start", lambda: self._start(directory, config))

    def _start(self, directory: Path, config: dict[str, Any]) -> None:
        from torch.utils.tensorboard import SummaryWriter  # imports torch, which Q-tables do not need

        writer = SummaryWriter(str(directory / "tensorboard"))
        writer.add_text("config", f"```\n{yaml.safe_dump(config, sort_keys=False)}```")
        self.session = writer

    @guarded("log")
    def log(self, row: Mapping[str, float]) -> None:
        self._step = int(row["step"])
        for name in row.keys() - {"step"}:
            self.session.add_scalar(name, row[name], self._step)

    def summarize(self, row: Mapping[str, float]) -> None:
        self.log(row)

    @guarded("log")
    def picture(self, name: str, path: Path) -> None:
        from matplotlib.image import imread

        self.session.add_image(name, imread(path), self._step, dataformats="HWC")

    @guarded("log")
    def video(self, name: str, path: Path, step: int) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        data = path.read_bytes()
        width, height = (int.from_bytes(data[at : at + 2], "little") for at in (6, 8))  # of a GIF
        image = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=data)
        self.session.file_writer.add_summary(Summary(value=[Summary.Value(tag=name, image=image)]), step)

    @guarded("log")
    def histogram(self, name: str, counts: np.ndarray, edges: np.ndarray) -> None:
        middle = (edges[1:] + edges[:-1]) / 2
        total, squares = float(counts @ middle), float(counts @ middle**2)
        limits, numbers = edges[1:].tolist(), counts.tolist()
        self.session.add_histogram_raw(
            name, edges[0], edges[-1], int(counts.sum()), total, squares, limits, numbers, self._step
        )

    def best_checkpoint(self, path: Path) -> None:
        """Do nothing: TensorBoard does not store files."""

    def results(self, directory: Path, result: Mapping[str, Any]) -> None:
        """Do nothing: the results are already metrics of the last step."""

    @guarded("log")
    def mark_pruned(self, step: int) -> None:
        self.session.add_text("pruned", f"at step {step}", step)

    @guarded("finish")
    def finish(self, failed: bool) -> None:
        self.session.close()
