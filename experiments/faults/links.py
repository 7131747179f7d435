"""Replace every file and folder of a run by a link out of it; nothing there is read, changed or uploaded."""

import os
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from experiments.faults.files import OUTSIDE, RUN, Hostilities, Reading, command, evaluate, load_agent, page
from experiments.faults.training import TRAININGS
from tests.wandb_file import of_kind

RUNS = ("qlearning, tictactoe", "ppo, tictactoe")
LINKED = OUTSIDE / "run"  # a copy of the run, so that a reader that follows a link finds what it expects
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


def resume(logger: str, _: str) -> None:
    try:
        command("train", f"resume={RUN}", f"logger={logger}")
    finally:
        if logger == "wandb_offline":
            import wandb

            wandb.teardown()
            if found := uploaded(RUN):
                raise AssertionError(f"{', '.join(found)} would be uploaded")


def put_link(rng: random.Random) -> Path:
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


def read_by(
    read: Callable[[str], None], writes: bool = False, starts_processes: bool = False
) -> Callable[[random.Random, str], Reading]:
    def prepare(rng: random.Random, base: str) -> Reading:
        return Reading(f"with {put_link(rng)} as a link", lambda: read(base), writes, starts_processes)

    return prepare


class Links(Hostilities):
    name = "links"
    kinds = {
        "resumed with logger=csv": read_by(partial(resume, "csv"), writes=True),
        "resumed with logger=tensorboard": read_by(partial(resume, "tensorboard"), writes=True),
        "resumed with logger=wandb_offline": read_by(
            partial(resume, "wandb_offline"), writes=True, starts_processes=True
        ),
        **{"evaluated": read_by(evaluate), "loaded": read_by(load_agent), "shown": read_by(page)},
    }

    def base(self, rng: random.Random, kind: str) -> tuple[str, Path, Path]:
        name = rng.choice(RUNS)
        training = next(training for training in TRAININGS if training.name == name)
        return training.name, self.killer.reference(training).directory, RUN
