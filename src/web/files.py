"""Read run directories, which may be damaged or untrusted; nothing outside the configured folders is opened."""

import json
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..core.errors import UserError, require
from ..core.runs.config_file import CONFIG, MAX_BYTES, parse_config, parse_yaml
from ..core.runs.runlog import is_complete, parse_rows
from ..core.runs.trackers import ADDRESS

MAX_TEXT = 1 << 20  # bytes
MAX_METRICS = 1 << 28  # bytes
MAX_PICTURES = 24


class RunPath(NamedTuple):
    name: str  # folder name and relative path, as used in URLs
    path: Path
    folder: Path  # files outside it are not opened


def find(folders: Sequence[Path]) -> Iterator[RunPath]:
    """Yield every directory with a config.yaml; run directories are not searched further."""
    for folder in folders:
        pending = [folder] if folder.is_dir() else []
        while pending:
            path = pending.pop()
            try:
                if (path / "config.yaml").is_file():
                    yield run_in(folder, path)
                else:
                    pending += [
                        entry
                        for entry in path.iterdir()
                        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith((".", "__"))
                    ]
            except OSError:  # deleted meanwhile, or not readable
                continue


def run_in(folder: Path, path: Path) -> RunPath:
    """Return the run of a directory in a folder of runs."""
    return RunPath("/".join((folder.name, *path.relative_to(folder).parts)), path, folder)


def run_of(folders: Sequence[Path], path: Path) -> RunPath | None:
    """Return the run of a directory, or None if it is in none of the folders; paths may be relative, or links."""
    for folder in folders:
        if path.resolve().is_relative_to(folder.resolve()):
            return run_in(folder, folder / path.resolve().relative_to(folder.resolve()))
    return None


def locate(folders: Sequence[Path], name: str) -> RunPath:
    """Return the run of a name, which is untrusted input."""
    first, *rest = PurePosixPath(name).parts or ("",)
    for folder in folders:
        if folder.name == first:
            path = _inside(folder, folder.joinpath(*rest), name)
            if path is None or not (path / "config.yaml").is_file():
                raise UserError(f"{name} is not a run: it has no config.yaml")
            return RunPath(name, path, folder)
    known = " and ".join(f"{folder.name}/" for folder in folders)
    raise UserError(f"{name} is not a run: only runs below {known} are opened")


def file_of(run: RunPath, name: str, max_bytes: int) -> Path | None:
    """Return the path of a file of a run, or None if it does not exist."""
    path = _inside(run.folder, run.path / name, f"{run.name}/{name}")
    if path is None or not path.is_file():
        return None
    require(path.stat().st_size <= max_bytes, f"{run.name}/{name} is too large: at most {max_bytes:,} bytes are read")
    return path


def content(run: RunPath, name: str, max_bytes: int) -> bytes | None:
    path = file_of(run, name, max_bytes)
    try:
        return path.read_bytes() if path else None
    except OSError as error:
        raise UserError(f"{run.name}/{name} cannot be read: {error}") from error


def _inside(folder: Path, path: Path, name: str) -> Path | None:
    """Resolve a path, or return None if it does not exist; raise `UserError` if it is outside `folder`."""
    try:
        resolved = path.resolve()
        if resolved.is_relative_to(folder.resolve()):
            return resolved if resolved.exists() else None
    except (OSError, ValueError, RuntimeError) as error:  # too long, a null byte, a link loop
        raise UserError(f"{name[:80]!r} is not the name of a run: {error}") from error
    raise UserError(f"{name} leads out of {folder.name}/: only files below it are opened")


class Stamp(NamedTuple):
    """Identifies a version of a file."""

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
    """Columns of equal length; None where a row has no finite number."""

    columns: dict[str, list[float | None]] = field(default_factory=dict)

    def points(self, axis: str, name: str) -> list[tuple[float, float]]:
        pairs = zip(self.columns.get(axis, ()), self.columns.get(name, ()), strict=False)
        return [(x, y) for x, y in pairs if x is not None and y is not None]

    def last(self, name: str) -> float | None:
        return next((value for value in reversed(self.columns.get(name, ())) if value is not None), None)


def read_metrics(run: RunPath) -> Metrics:
    """Read metrics.csv without a last row that is still being written."""
    rows = parse_rows(content(run, "metrics.csv", MAX_METRICS) or b"", f"{run.name}/metrics.csv")
    whole = [row for row in rows if is_complete(row)]
    return Metrics({name: [number(row[name]) for row in whole] for name in whole[0]} if whole else {})


def number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def read_config(run: RunPath) -> dict[str, Any]:
    return parse_config(content(run, CONFIG, MAX_BYTES) or b"", f"{run.name}/{CONFIG}")


def read_changes(run: RunPath) -> list[str]:
    """Return the overrides of a run, as saved by Hydra."""
    name = ".hydra/overrides.yaml"
    found = parse_yaml(content(run, name, MAX_BYTES) or b"[]", f"{run.name}/{name}")
    return [str(word) for word in found] if isinstance(found, list) else []


class Score(NamedTuple):
    """The result against one opponent; `low` and `high` are the 95% interval."""

    name: str
    episodes: int
    wins: int
    draws: int
    losses: int
    aborted: int
    win_rate: float
    low: float
    high: float


def read_scores(run: RunPath) -> list[Score]:
    """Return the scores of the final evaluation, or [] if there is none yet."""
    text = content(run, "eval.json", MAX_TEXT)
    if text is None:
        return []
    scores = []
    try:
        for name, found in json.loads(text)["scores"].items():
            low, high = map(float, found["win_rate_ci95"])
            found = {"aborted": 0} | found  # earlier versions did not count them
            counts = {key: int(found[key]) for key in ("episodes", "wins", "draws", "losses", "aborted")}
            scores.append(Score(name=str(name), **counts, win_rate=float(found["win_rate"]), low=low, high=high))
        return scores
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UserError(f"{run.name}/eval.json is not a valid evaluation result: {str(error)[:200]}") from error


def pictures(run: RunPath) -> list[str]:
    """Return the paths of the PNG files of a run, relative to its directory."""
    found = []
    for depth in ("*.png", "*/*.png", "*/*/*.png"):
        for path in sorted(run.path.glob(depth)):
            inner = path.relative_to(run.path)
            hidden = any(part.startswith(".") or part == "wandb" for part in inner.parts)
            if not hidden and path.is_file() and path.resolve().is_relative_to(run.folder.resolve()):
                found.append(inner.as_posix())
    return found[:MAX_PICTURES]


def picture_size(run: RunPath, name: str) -> tuple[int, int] | None:
    """Return width and height in pixels from the header of a PNG file, or None if it is invalid."""
    try:
        if not (run.path / name).is_file():  # opening a pipe would block
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
    """Return the wandb URL saved with the run, or None if it was never online."""
    text = (content(run, ADDRESS, MAX_TEXT) or b"").decode(errors="replace").strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    return text if parts.scheme == "https" and parts.netloc else None
