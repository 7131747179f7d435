"""The runs that have an agent to play against."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ...errors import UserError
from ..run import BEST
from . import files
from .files import RunPath, Stamp


class FinishedRun(NamedTuple):
    path: Path
    name: str  # folder name and relative path, as on the Runs page
    env: str
    algo: str


def finished_runs(folders: Sequence[Path]) -> list[FinishedRun]:
    """Return the readable runs that have a best checkpoint, newest first."""
    playable = [run for run in files.find(folders) if (run.path / BEST).is_file()]
    newest_first = sorted(playable, key=lambda run: (-files.stamp(run, BEST).modified, run.name))
    read = (_read_run(run, files.stamp(run, "config.yaml")) for run in newest_first)
    return [run for run in read if run is not None]


def runs_of(folders: Sequence[Path], game: str) -> list[FinishedRun]:
    """Return the runs of a game, trained on the env <game> or a variant such as <game>_8x8."""
    return [run for run in finished_runs(folders) if run.env == game or run.env.startswith(f"{game}_")]


@lru_cache(maxsize=4096)
def _read_run(run: RunPath, _config: Stamp) -> FinishedRun | None:
    """Read a run; cached by the stamp of its configuration, because there can be hundreds of runs."""
    try:
        composition = files.read_config(run)["composition"]
        return FinishedRun(run.path, run.name, str(composition["env"]), str(composition["algo"]))
    except (UserError, OSError, KeyError, TypeError):
        return None
