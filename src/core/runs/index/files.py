"""Read run directories, which may be damaged or untrusted; nothing outside the configured folders is opened."""

import json
import math
import re
import struct
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from ...errors import UserError, require
from ..config_file import CONFIG, MAX_BYTES, OVERRIDES, parse_config, parse_overrides
from ..console import approximate_duration
from ..csv_table import CsvTable
from ..run import PROGRESS
from ..trackers import ADDRESS

MAX_TEXT = 1 << 20  # bytes
MAX_METRICS = 1 << 28  # bytes
MAX_PICTURES = 24
NUMBER = re.compile(rb"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)
MAX_VALUES = 1000  # of a column
MAX_KEPT = 200  # runs whose metrics are kept in memory
TAIL = 1 << 16  # bytes at the end of a file, which have the last values


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
                    entries = [entry for entry in path.iterdir() if not entry.name.startswith((".", "__"))]
                    pending += [entry for entry in entries if entry.is_dir() and not entry.is_symlink()]
            except OSError:  # deleted meanwhile, or not readable
                continue


def run_in(folder: Path, path: Path) -> RunPath:
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
    """Some columns of a metrics.csv, of equal length, with nan where a row has no finite number."""

    names: tuple[str, ...] = ()  # of all columns
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)

    def points(self, axis: str, name: str) -> np.ndarray:
        """Return the rows in which both have a number, (N, 2)."""
        if axis not in self.columns or name not in self.columns:
            return np.empty((0, 2))
        pairs = np.column_stack([self.columns[axis], self.columns[name]])
        whole: np.ndarray = pairs[~np.isnan(pairs).any(axis=1)]
        return whole

    def last(self, name: str) -> float | None:
        values = self.columns.get(name, np.empty(0))
        return next((float(value) for value in values[::-1] if not math.isnan(value)), None)


NO_METRICS = Metrics()  # of a damaged file: one object, so that pages see no change
_metrics: dict[Path, tuple[Stamp, int, Metrics]] = {}  # latest read last, shared by all visitors
_metrics_lock = threading.Lock()  # of the changes of `_metrics`


def read_metrics(run: RunPath, wanted: Collection[str], most: int = MAX_VALUES) -> Metrics:
    """Read these columns of metrics.csv, without rows that are still being written; a file is read once.

    Of a column with more than `most` numbers, evenly spaced ones and the last one are read.
    """
    version = stamp(run, "metrics.csv")
    before, kept, found = _metrics.get(run.path, (None, 0, Metrics()))
    missing = any(name in found.names and name not in found.columns for name in wanted)
    if before != version or kept < most or missing:
        data, kept = content(run, "metrics.csv", MAX_METRICS) or b"", max(kept, most)
        found = parse_metrics(data, [*found.columns, *wanted], f"{run.name}/metrics.csv", kept)
        with _metrics_lock:
            _metrics.pop(run.path, None)
            _metrics[run.path] = version, kept, found
            while len(_metrics) > MAX_KEPT:
                _metrics.pop(next(iter(_metrics)))
    return found


def parse_metrics(data: bytes, wanted: Collection[str], name: str, most: int = MAX_VALUES) -> Metrics:
    """Parse the wanted columns; of one with more than `most` numbers, evenly spaced ones and the last one."""
    table = CsvTable(data, name)
    found = [name for name in dict.fromkeys(wanted) if name in table.names]
    chosen = np.full(len(table), len(table) <= most)
    for filled in [] if chosen.all() else map(np.flatnonzero, table.filled(found).T):
        chosen[filled[:: -(-len(filled) // most) or 1]] = True
        chosen[filled[-1:]] = True
    return Metrics(table.names, dict(zip(found, map(numbers, table.columns(found, chosen)), strict=True)))


def last_values(run: RunPath) -> dict[str, float]:
    """Return the last number of each column; all rows are read only if a column has none in the last ones."""
    data = content(run, "metrics.csv", MAX_METRICS) or b""
    head, where, last = data[: data.find(b"\n") + 1], f"{run.name}/metrics.csv", dict[str, float]()
    names = parse_metrics(head, (), where).names
    for begin in sorted({len(head), max(data.find(b"\n", -TAIL) + 1, len(head))}, reverse=True):
        found = parse_metrics(head + data[begin:], [name for name in names if name not in last], where, len(data))
        last |= {name: value for name in names if (value := found.last(name)) is not None}
        if len(last) == len(names):
            break
    return last


def numbers(texts: Sequence[bytes]) -> np.ndarray:
    """Parse numbers; what is not a finite one is nan."""
    try:
        found = np.array([float(text or b"nan") for text in texts], float)
    except ValueError:
        found = np.array([float(text) if NUMBER.fullmatch(text) else math.nan for text in texts], float)
    return np.where(np.isfinite(found), found, math.nan)


def read_config(run: RunPath) -> dict[str, Any]:
    return parse_config(content(run, CONFIG, MAX_BYTES) or b"", f"{run.name}/{CONFIG}")


def read_changes(run: RunPath) -> list[str]:
    """Return the overrides of a run, as saved by Hydra."""
    return parse_overrides(content(run, OVERRIDES, MAX_BYTES) or b"[]", f"{run.name}/{OVERRIDES}")


class Progress(NamedTuple):
    """How far a training is, as it was written last."""

    done: int
    total: int
    unit: str
    fraction: float
    speed: float  # units per second
    seconds_left: float | None  # None while unknown

    def words(self) -> str:
        rate = f"{self.speed:,.0f}" if self.speed >= 10 else f"{self.speed:.2g}"
        left = "" if self.seconds_left is None else f" · {approximate_duration(self.seconds_left)} left"
        return f"{self.done:,} of {self.total:,} {self.unit} · {rate} {self.unit}/s{left}"


def read_progress(run: RunPath) -> Progress | None:
    """Return the progress of a run, or None if it has written none or its file is damaged."""
    try:
        found = json.loads(content(run, PROGRESS, MAX_TEXT) or b"{}")
        left = found["seconds_left"]
        return Progress(
            done=int(found["done"]),
            total=int(found["total"]),
            unit=str(found["unit"]),
            fraction=float(found["fraction"]),
            speed=float(found["speed"]),
            seconds_left=None if left is None else max(float(left), 0.0),
        )
    except (UserError, ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None


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
