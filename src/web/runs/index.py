"""The runs as rows of a table; only changed files are read again."""

import csv
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...core.errors import UserError
from ...core.runs.metrics import CURVES
from ...core.runs.run import LOCK, is_training
from .. import files
from ..files import RunPath, Stamp
from . import notes

FILES = ("config.yaml", "metrics.csv", "eval.json", notes.NOTES)
CHOICES = ("env", "algo", "reward", "curriculum", "experiment")
BASE = (  # fields that every run has; further ones are its settings and the last values of its metrics
    *("run", "state", "win_rate", "score", "step", *CHOICES, "seed", "changes", "tags", "notes", "updated"),
    *("low", "high"),
)
NO_SETTINGS = ("composition", "logger", "resume", "profile")  # without effect on the results, or in other columns
PUBLISHED_EVERY = 50  # runs read, while the first visitors wait

Row = dict[str, Any]


class Entry(NamedTuple):
    stamps: tuple[Stamp, ...]
    row: Row
    lock: Stamp  # after the last look at it
    training: bool


class Index:
    """A cache of the rows by the stamps of their files, shared by all visitors.

    `known` is replaced by a new list when a row has changed, so a page compares it by identity.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = folders
        self.known: list[Row] = []  # latest first
        self.found = 0  # runs; more than are known while they are read for the first time
        self._entries: dict[str, Entry] = {}
        self._scanning = threading.Lock()
        self._scanned = -float("inf")
        self._fields: tuple[list[Row], list[str]] = ([], [])

    def rows(self) -> list[Row]:
        """Look for changes now, and return one row for each run, latest first."""
        with self._scanning:
            self._scan()
        return self.known

    def refresh(self, seconds: float) -> None:
        """Look for changes, unless that was done within the last `seconds`."""
        with self._scanning:
            if time.monotonic() - self._scanned >= seconds:
                self._scan()

    def row(self, run: RunPath) -> Row:
        """Return the row of a run, which is read now if it is not known yet."""
        known = next((row for row in self.known if row["run"] == run.name), None)
        return known or _with_state(summary(run), is_training(run.path))

    @property
    def ready(self) -> bool:
        """Whether every run has been read once."""
        return self._scanned > -float("inf")

    def fields(self) -> list[str]:
        """Return the names of all settings and metrics."""
        rows = self.known
        if self._fields[0] is not rows:
            names = {name for row in rows for kind in ("settings", "metrics") for name in row[kind]}
            self._fields = rows, sorted(names - set(BASE))
        return self._fields[1]

    def _scan(self) -> None:
        runs = [(run, tuple(files.stamp(run, name) for name in FILES)) for run in files.find(self.folders)]
        runs.sort(key=lambda one: -max(stamp.modified for stamp in one[1]))  # the latest are shown first
        self.found, before, entries = len(runs), self._entries, {}
        for run, stamps in runs:
            old = before.get(run.name)
            new = entries[run.name] = _entry(run, stamps, old)
            if new is not old and old is None and len(entries) % PUBLISHED_EVERY == 0:
                self._publish(before | entries)
        if entries != before:
            self._publish(entries)
        self._entries, self._scanned = entries, time.monotonic()

    def _publish(self, entries: Mapping[str, Entry]) -> None:
        rows = (_with_state(entry.row, entry.training) for entry in entries.values())
        self.known = sorted(rows, key=lambda row: (-row["updated"], row["run"]))


def _entry(run: RunPath, stamps: tuple[Stamp, ...], old: Entry | None) -> Entry:
    """Return what is known of a run. A run that starts to train changes its lock, so others need no look at it."""
    unchanged = old is not None and old.stamps == stamps
    if old is not None and unchanged and not old.training and old.lock == files.stamp(run, LOCK):
        return old
    training = is_training(run.path)
    row = old.row if old is not None and unchanged else summary(run)
    return Entry(stamps, row, files.stamp(run, LOCK), training)


def _with_state(row: Row, training: bool) -> Row:
    if row["fault"]:
        return row | {"state": "unreadable"}
    if training:  # also a finished run that is being resumed
        return row | {"state": "training"}
    return row | {"state": "unfinished" if row["win_rate"] is None else "finished"}


def value(row: Row, name: str) -> Any:
    """Return a field, a setting or the last value of a metric; None if the run has none."""
    if name in BASE:
        return row[name]
    return row["settings"].get(name, row["metrics"].get(name))


def summary(run: RunPath) -> Row:
    """Return the row of a run; columns of unreadable files are empty, and `fault` is the error."""
    row: Row = {"run": run.name, "fault": "", "tags": (), "settings": {}, "metrics": {}}
    row |= dict.fromkeys((*CHOICES, "changes", "notes"), "")
    row |= dict.fromkeys(("seed", "step", "score", "win_rate", "low", "high"))
    row["updated"] = max(files.stamp(run, name).modified for name in FILES if name != notes.NOTES) / 1e9
    readers: tuple[Callable[[RunPath], Row], ...] = (_composition, _progress, _result, _notes)
    for read in readers:
        try:
            row |= read(run)
        except UserError as error:
            row["fault"] = str(error)
    return row


def _composition(run: RunPath) -> Row:
    config = files.read_config(run)
    names = config.get("composition")
    names = names if isinstance(names, dict) else {}
    chosen = {key: str(names.get(key) or "") for key in CHOICES}
    seed = config.get("seed")
    columns = (*CHOICES, "seed")
    changes = [word for word in files.read_changes(run) if word.partition("=")[0] not in columns]
    settings = dict(flattened({key: node for key, node in config.items() if key not in NO_SETTINGS}))
    return chosen | {
        "seed": seed if isinstance(seed, int) else None,
        "changes": " ".join(changes),
        "settings": settings,
    }


def flattened(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a configuration by dotted key; lists are one text."""
    for key, child in node.items():
        if isinstance(child, dict) and child:
            yield from flattened(child, f"{prefix}{key}.")
        else:
            yield prefix + key, str(child) if isinstance(child, dict | list) else child


def _progress(run: RunPath) -> Row:
    last = last_values(files.content(run, "metrics.csv", files.MAX_METRICS) or b"", f"{run.name}/metrics.csv")
    ends = {"low": "final/win_rate_low", "high": "final/win_rate_high", "win_rate": "final/win_rate"}
    score = next((last[name] for name in CURVES if name in last), None)
    return {key: last.get(name) for key, name in ends.items()} | {
        "step": last.pop("step", None),
        "score": score,
        "metrics": last,
    }


def last_values(data: bytes, name: str) -> dict[str, float]:
    """Return the last number of each column; only as many lines are read, from the end, as that takes."""
    try:
        head, *lines = data[: data.rfind(b"\n") + 1].decode().splitlines() or [""]
        columns = next(csv.reader([head]), [])
        return _last_numbers(columns, csv.reader(reversed(lines)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{name} is not readable as CSV: {error}") from error


def _last_numbers(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> dict[str, float]:
    found: dict[str, float] = {}
    missing = dict(enumerate(columns))
    for row in rows:
        if len(row) == len(columns):
            numbers = {place: files.number(row[place]) for place in missing}
            found |= {missing[place]: one for place, one in numbers.items() if one is not None}
            missing = {place: column for place, column in missing.items() if column not in found}
            if not missing:
                break
    return found


def _result(run: RunPath) -> Row:
    scores = files.read_scores(run)
    if not scores:
        return {}
    return {"win_rate": scores[0].win_rate, "low": scores[0].low, "high": scores[0].high}


def _notes(run: RunPath) -> Row:
    try:
        found = notes.read(run)
    except UserError as error:  # the run itself is readable
        return {"notes": str(error)}
    return {"notes": found.text, "tags": found.tags}
