"""Log to Weights & Biases. If it fails, training continues without it after one warning."""

import contextlib
import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from ..files import write_atomic
from ..ranges import Bounds, Positive, checked
from .provenance import DIFF
from .runlog import try_tracker

log = logging.getLogger(__name__)

Mode = Literal["offline", "online"]
ADDRESS = "wandb_url.txt"  # in the run directory: URL of the run
BEST_OF = (
    "eval/win_rate",
    "eval/elo",
    "eval/not_lost_share",
    "train/win_rate",
)  # the summary has their maximum and last value
NAME_LENGTH, TAG_LENGTH = 128, 64  # limits of wandb
Name = Annotated[str, Bounds(ge=1, le=NAME_LENGTH)]
SCORE_COLUMNS = ("episodes", "wins", "draws", "losses", "aborted", "win_rate", "low", "high")


class WandbTracker:
    @checked
    def __init__(self, mode: Mode, project: Name, entity: Name | None, init_timeout: Positive) -> None:
        self.mode, self.project, self.entity, self.init_timeout = mode, project, entity, init_timeout
        self._run: Any = None
        self._step: float = 0

    def start(self, directory: Path, config: dict[str, Any]) -> None:
        self._guard("start", lambda: self._start(self.mode, directory, config))
        if self._run is None and self.mode == "online":
            self._guard("start", lambda: self._start("offline", directory, config))

    def log(self, row: Mapping[str, float]) -> None:
        if self._run is not None:
            self._step = row["step"]
            self._guard("log", lambda: self._run.log(dict(row)))

    def summarize(self, row: Mapping[str, float]) -> None:
        if self._run is not None:
            values = {name: value for name, value in row.items() if name != "step"}
            self._guard("log", lambda: self._run.summary.update(values))

    def picture(self, name: str, path: Path) -> None:
        if self._run is not None:
            self._guard("log", lambda: self._picture(name, path))

    def results(self, directory: Path, result: Mapping[str, Any]) -> None:
        if self._run is not None:
            self._guard("upload the results", lambda: self._log_results(directory, result))

    def mark_pruned(self, step: int) -> None:
        if self._run is not None:
            self._guard("log", lambda: self._mark_pruned(step))

    def finish(self, failed: bool) -> None:
        if self._run is not None:
            self._guard("finish", lambda: self._run.finish(exit_code=int(failed)))
            self._run = None

    def _start(self, mode: Mode, directory: Path, config: dict[str, Any]) -> None:
        # Otherwise wandb reports usage and errors to its vendor, in offline mode too.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb

        # A resumed run has the same directory and so the same id: wandb shows both parts as one run.
        run_id = hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:12]
        names = config["composition"]
        self._run = wandb.init(
            mode=mode,
            project=self.project,
            entity=self.entity,
            dir=directory,
            id=run_id,
            resume="allow" if mode == "online" else None,
            config=config,
            name=run_name(config),
            group=names["sweep"] or names["experiment"] or f"{names['env']}-{names['algo']}",
            tags=[f"{key}:{names[key]}"[:TAG_LENGTH] for key in ("env", "algo", "reward", "curriculum")],
            reinit="finish_previous",  # the jobs of a sweep share a process
            settings=wandb.Settings(silent=True, console="off", symlink=False, init_timeout=self.init_timeout),
        )
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")
        for name in BEST_OF:
            self._run.define_metric(name, step_metric="step", summary="max,last")
        if mode != self.mode:
            files = Path(self._run.dir).parent  # others in the run directory may be untrusted
            log.warning("wandb writes offline files instead; upload them later with: wandb sync %s", files)
        if mode == "online" and self._run.url:
            write_atomic(directory / ADDRESS, f"{self._run.url}\n")
        if (directory / DIFF).exists():
            self._log_files("code", "code", [directory / DIFF])

    def _mark_pruned(self, step: int) -> None:
        self._run.tags = (*(self._run.tags or ()), "pruned")
        self._run.summary.update({"pruned": True, "pruned_at_step": step})

    def _picture(self, name: str, path: Path) -> None:
        import wandb

        self._run.log({name: wandb.Image(str(path)), "step": self._step})

    def _log_results(self, directory: Path, result: Mapping[str, Any]) -> None:
        """Log the checkpoints and eval.json as artifacts, and the evaluation as a table."""
        import wandb

        checkpoints = [directory / "checkpoints" / f"{name}.safetensors" for name in ("best", "last")]
        self._log_files("checkpoints", "model", [path for path in checkpoints if path.exists()])
        self._log_files("evaluation", "evaluation", [directory / "eval.json"])
        table = wandb.Table(columns=["baseline", *SCORE_COLUMNS], data=_score_rows(result))
        with _staged_in(Path(self._run.dir).parent):
            self._run.log({"final/baselines": table, "step": self._step})

    def _log_files(self, name: str, kind: str, paths: Sequence[Path]) -> None:
        import wandb

        artifact = wandb.Artifact(f"{name}-{self._run.id}", kind)
        for path in paths:  # upload in place, without copies
            artifact.add_file(str(path.resolve()), policy="immutable", skip_cache=True)
        self._run.log_artifact(artifact)

    def _guard(self, what: str, call: Callable[[], None]) -> None:
        if not try_tracker("wandb", what, call):
            self._run = None
            with contextlib.suppress(Exception):  # stop a dead service, which would break the next run
                import wandb

                wandb.teardown()


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


def _score_rows(result: Mapping[str, Any]) -> list[list[Any]]:
    scores = {name: {**score, **_interval(score)} for name, score in result["scores"].items()}
    return [[name, *(score[column] for column in SCORE_COLUMNS)] for name, score in scores.items()]


def _interval(score: Mapping[str, Any]) -> dict[str, float]:
    low, high = score["win_rate_ci95"]
    return {"low": low, "high": high}


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
