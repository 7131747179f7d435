"""Weights & Biases beside the CSV file. Training goes on without it whenever it fails, and says so once."""

import contextlib
import hashlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from src.core.errors import require

log = logging.getLogger(__name__)

Mode = Literal["offline", "online"]


class WandbTracker:
    def __init__(self, mode: Mode, project: str, entity: str | None, init_timeout: float) -> None:
        require(mode in get_args(Mode), f"logger.tracker.mode={mode} is unknown: choose offline or online")
        self.mode, self.project, self.entity, self.init_timeout = mode, project, entity, init_timeout
        self._run: Any = None

    def start(self, directory: Path, config: dict[str, Any]) -> None:
        self._guard("start", lambda: self._start(self.mode, directory, config))
        if self._run is None and self.mode == "online":
            log.warning("wandb writes offline files instead; upload them later with: wandb sync %s/wandb/*", directory)
            self._guard("start", lambda: self._start("offline", directory, config))

    def log(self, row: Mapping[str, float]) -> None:
        if self._run is not None:
            self._guard("log", lambda: self._run.log(dict(row)))

    def picture(self, name: str, path: Path) -> None:
        import wandb

        if self._run is not None:
            self._guard("log", lambda: self._run.log({name: wandb.Image(str(path))}))

    def finish(self, failed: bool) -> None:
        if self._run is not None:
            self._guard("finish", lambda: self._run.finish(exit_code=int(failed)))
            self._run = None

    def _start(self, mode: Mode, directory: Path, config: dict[str, Any]) -> None:
        import wandb

        # A resumed run lives in the same directory and so gets the same id: wandb shows both parts as one run.
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
            name=f"{names['env']}-{names['algo']}-seed{config['seed']}",
            group=names["sweep"] or names["experiment"] or f"{names['env']}-{names['algo']}",
            tags=[names["env"], names["algo"], names["reward"], names["curriculum"]],
            reinit="finish_previous",  # the jobs of a sweep share a process
            settings=wandb.Settings(silent=True, console="off", init_timeout=self.init_timeout),
        )
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")

    def _guard(self, what: str, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # whatever a tracker raises, the training is worth more
            self._run = None
            with contextlib.suppress(Exception):  # lets go of a dead service, which the next run must not meet
                import wandb

                wandb.teardown()
            log.warning("wandb could not %s (%s); the run goes on, its figures are in metrics.csv", what, error)
