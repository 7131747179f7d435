"""Run directories as they lie on disk: read only, never outside of their folders, and whatever is in them."""

import json
import math
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from src.core.errors import UserError, require
from src.core.runs.config_file import CONFIG, MAX_BYTES, parse_config, parse_yaml
from src.core.runs.runlog import is_complete, parse_rows
from src.core.runs.wandb_tracker import ADDRESS

MOST_TEXT = 1 << 20  # bytes of a result
MOST_METRICS = 1 << 28
MOST_PICTURES = 24


class RunPath(NamedTuple):
    name: str  # its folder and the way from there; what an address says
    path: Path
    folder: Path  # nothing outside of it is opened


def find(folders: Sequence[Path]) -> Iterator[RunPath]:
    """Every directory with a config.yaml; what lies inside one belongs to it."""
    for folder in folders:
        pending = [folder] if folder.is_dir() else []
        while pending:
            path = pending.pop()
            try:
                if (path / "config.yaml").is_file():
                    yield RunPath("/".join((folder.name, *path.relative_to(folder).parts)), path, folder)
                else:
                    pending += [entry for entry in path.iterdir() if entry.is_dir() and _is_looked_into(entry)]
            except OSError:  # it is gone by now, or not ours to read
                continue


def _is_looked_into(path: Path) -> bool:
    return not path.is_symlink() and not path.name.startswith((".", "__"))


def locate(folders: Sequence[Path], name: str) -> RunPath:
    """The run of that name, which may come from anybody."""
    first, *rest = PurePosixPath(name).parts or ("",)
    for folder in folders:
        if folder.name == first:
            path = _inside(folder, folder.joinpath(*rest), name)
            if path is None or not (path / "config.yaml").is_file():
                raise UserError(f"{name} is not a run: there is no config.yaml")
            return RunPath(name, path, folder)
    known = " and ".join(f"{folder.name}/" for folder in folders)
    raise UserError(f"{name} is not a run: runs lie below {known}, and nothing else is opened")


def file_of(run: RunPath, name: str, most: int) -> Path | None:
    """A file of a run, once it is known to lie in the run's folder; None where there is none."""
    path = _inside(run.folder, run.path / name, f"{run.name}/{name}")
    if path is None or not path.is_file():
        return None
    require(path.stat().st_size <= most, f"{run.name}/{name} is larger than {most:,} bytes: it is not read")
    return path


def content(run: RunPath, name: str, most: int) -> bytes | None:
    path = file_of(run, name, most)
    try:
        return path.read_bytes() if path else None
    except OSError as error:
        raise UserError(f"{run.name}/{name} cannot be read: {error}") from error


def _inside(folder: Path, path: Path, name: str) -> Path | None:
    """Where a path leads, links followed; None where there is nothing."""
    try:
        resolved = path.resolve()
        if resolved.is_relative_to(folder.resolve()):
            return resolved if resolved.exists() else None
    except (OSError, ValueError, RuntimeError) as error:  # too long, a zero byte, a link to itself
        raise UserError(f"{name[:80]!r} is not the name of a run: {error}") from error
    raise UserError(f"{name} leads out of {folder.name}/: only what lies below it is opened")


class Stamp(NamedTuple):
    """A file that was changed has another one."""

    modified: int  # nanoseconds
    size: int


def stamp(run: RunPath, name: str) -> Stamp:
    try:
        found = (run.path / name).stat()
    except OSError:
        return Stamp(0, -1)
    return Stamp(found.st_mtime_ns, found.st_size)


@dataclass(frozen=True)
class Metrics:
    """Columns of equal length; None where a row says nothing that is a number."""

    columns: dict[str, list[float | None]] = field(default_factory=dict)

    def points(self, axis: str, name: str) -> list[tuple[float, float]]:
        pairs = zip(self.columns.get(axis, ()), self.columns.get(name, ()), strict=False)
        return [(x, y) for x, y in pairs if x is not None and y is not None]

    def last(self, name: str) -> float | None:
        return next((value for value in reversed(self.columns.get(name, ())) if value is not None), None)


def read_metrics(run: RunPath) -> Metrics:
    """A row counts once its line has ended: the last one may be half written."""
    rows = parse_rows(content(run, "metrics.csv", MOST_METRICS) or b"", f"{run.name}/metrics.csv")
    whole = [row for row in rows if is_complete(row)]
    return Metrics({name: [_number(row[name]) for row in whole] for name in whole[0]} if whole else {})


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def read_config(run: RunPath) -> dict[str, Any]:
    return parse_config(content(run, CONFIG, MAX_BYTES) or b"", f"{run.name}/{CONFIG}")


def read_changes(run: RunPath) -> list[str]:
    """The values that were set for this run, as Hydra has noted them; the jobs of a sweep differ in nothing else."""
    name = ".hydra/overrides.yaml"
    found = parse_yaml(content(run, name, MAX_BYTES) or b"[]", f"{run.name}/{name}")
    return [str(word) for word in found] if isinstance(found, list) else []


class Score(NamedTuple):
    """One line of an evaluation."""

    name: str
    episodes: int
    wins: int
    draws: int
    losses: int
    win_rate: float
    low: float
    high: float


def read_scores(run: RunPath) -> list[Score]:
    """What the finished agent achieved; empty while it is not there."""
    text = content(run, "eval.json", MOST_TEXT)
    if text is None:
        return []
    try:
        scores = json.loads(text)["scores"]
        return [_score(str(name), found) for name, found in scores.items()]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UserError(f"{run.name}/eval.json is not a result of an evaluation: {str(error)[:200]}") from error


def _score(name: str, found: dict[str, Any]) -> Score:
    low, high = map(float, found["win_rate_ci95"])
    wins, draws, losses = (int(found[key]) for key in ("wins", "draws", "losses"))
    return Score(name, int(found["episodes"]), wins, draws, losses, float(found["win_rate"]), low, high)


def pictures(run: RunPath) -> list[str]:
    """PNG files of a run, curves and heat maps, by their way from its directory."""
    found = []
    for depth in ("*.png", "*/*.png", "*/*/*.png"):
        for path in sorted(run.path.glob(depth)):
            inner = path.relative_to(run.path)
            hidden = any(part.startswith(".") or part == "wandb" for part in inner.parts)
            if not hidden and path.is_file() and path.resolve().is_relative_to(run.folder.resolve()):
                found.append(inner.as_posix())
    return found[:MOST_PICTURES]


def picture_size(run: RunPath, name: str) -> tuple[int, int] | None:
    """Width and height as the head of a PNG file tells them; None where it does not."""
    try:
        if not (run.path / name).is_file():  # opening a pipe would wait
            return None
        with (run.path / name).open("rb") as file:
            head = file.read(24)
    except OSError:
        return None
    if len(head) < 24 or not head.startswith(b"\x89PNG"):
        return None
    width, height = struct.unpack(">II", head[16:])
    return (width, height) if width and height else None


def wandb_address(run: RunPath) -> str | None:
    """Where a tracked run is to be seen, as its tracker has noted; runs that were never online have no such note."""
    text = (content(run, ADDRESS, MOST_TEXT) or b"").decode(errors="replace").strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    return text if parts.scheme == "https" and parts.netloc else None


_ASKING = threading.Lock()  # two pages that ask at once would take each other for a training


def is_training(run: RunPath) -> bool:
    """Whether a process holds the lock of the run. It is tried for an instant, and not made where there is none."""
    path = run.path / ".lock"
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with _ASKING, FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # it is gone by now, or not ours to open
        return False
