"""Replace every file and folder of a run by a link out of it; nothing there is read, changed or uploaded."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from experiments.faults.files import OUTSIDE, RUN, Hostilities, Reading, command, evaluate, load_agent, page
from experiments.faults.training import TRAININGS
from tests.wandb_file import of_kind

LINKED = OUTSIDE / "run"  # a copy of the run, so that a reader that follows a link finds what it expects
LOGGERS = {"csv": "csv", "tensorboard": "tensorboard", "wandb": "wandb_offline"}
NAMES = (
    *("config.yaml", "metrics.csv", "eval.json", "provenance.json", "train.log", ".lock", ".hydra", "diff.patch"),
    *("checkpoints", "checkpoints/best.safetensors", "checkpoints/last.safetensors", "checkpoints/x.safetensors"),
    *("win_rate.png", "qtable.json", "diagnostics.json", "diagnostics.png", "pruned.txt", "wandb_url.txt"),
    *("wandb", "tensorboard", "wandb/latest-run", ".hydra/overrides.yaml", ".hydra/config.yaml", "profile.json"),
)


def uploaded(run: Path) -> list[str]:
    """Return the files outside of a run that its artifacts in the files of wandb name."""
    return [
        entry.local_path
        for path in run.glob("wandb/offline-run-*/run-*.wandb")
        for artifact in of_kind(path, "artifact")
        for entry in artifact.manifest.contents
        if entry.local_path and not Path(os.path.realpath(entry.local_path)).is_relative_to(run.resolve())
    ]


def resume(logger: str) -> None:
    try:
        command("train", f"resume={RUN}", f"logger={LOGGERS[logger]}")
    finally:
        if logger == "wandb":
            import wandb

            wandb.teardown()
            if found := uploaded(RUN):
                raise AssertionError(f"{', '.join(found)} would be uploaded")


def linked(rng: random.Random, base: str) -> Path:
    """Replace a file or a folder of the run by a link to its copy outside, or to something else there."""
    shutil.copytree(RUN, LINKED)
    name = rng.choice(NAMES)
    path, copy = RUN / name, LINKED / name
    if not copy.exists() and rng.random() < 0.8:  # where it will be written
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.mkdir() if "." not in copy.name[1:] else copy.write_text("copy\n")
    path.parent.mkdir(exist_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to((copy if rng.random() < 0.7 else OUTSIDE / "secret").absolute())
    return path


def read_by(name: str, read: Callable[[str], None]) -> Callable[[random.Random, str], Reading]:
    def prepare(rng: random.Random, base: str) -> Reading:
        path = linked(rng, base)
        return Reading(f"{name}, {path}", lambda: read(base))

    return prepare


def resumed(logger: str) -> Callable[[random.Random, str], Reading]:
    def prepare(rng: random.Random, base: str) -> Reading:
        path = linked(rng, base)
        starts = logger == "wandb"
        return Reading(f"resume, {path}", lambda: resume(logger), writes=True, starts_processes=starts)

    return prepare


class Links(Hostilities):
    name = "links"
    kinds = {
        **{f"resumed with logger={logger}": resumed(logger) for logger in LOGGERS},
        "evaluated": read_by("evaluate", evaluate),
        "loaded": read_by("load_agent", load_agent),
        "shown": read_by("page", page),
    }

    def base(self, rng: random.Random, kind: str) -> tuple[str, Path, Path]:
        name = rng.choice(("qlearning, tictactoe", "ppo, tictactoe"))
        training = next(training for training in TRAININGS if training.name == name)
        return training.name, self.killer.reference(training).directory, RUN
