"""The runs as rows of a table; only changed files are read again."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import UserError
from ..metrics import CURVES
from ..run import BEST, LOCK, is_training
from ..zoo import NOTES
from . import files, notes
from .files import RunPath, Score, Stamp

FILES = ("config.yaml", "metrics.csv", "eval.json", NOTES)
CONFIG_GROUPS = ("env", "algo", "reward", "curriculum", "experiment")
BASE_FIELDS = (  # of every run; further fields are its settings and the last values of its metrics
    *("run", "title", "state", "win_rate", "score", "step", *CONFIG_GROUPS, "seed", "changes", "tags", "notes"),
    *("updated", "low", "high"),
)
UNNAMED = ("logger", "checkpoint_seconds", "algo.seconds", "algo.compute", "algo.eval", "evaluation")  # in titles
NO_SETTINGS = ("composition", "logger", "resume", "profile")  # without effect on the results, or in other columns
RESCAN = 10.0  # seconds between searches for new runs, whatever the number of visitors
PUBLISH_EVERY = 50  # runs read, while the first visitors wait

BEGUN = re.compile(r"\d{4}-[01]\d-[0-3]\d_[0-2]\d-[0-5]\d(?=-)")  # in the names of run directories

Row = dict[str, Any]


class Entry(NamedTuple):
    stamps: tuple[Stamp, ...]
    row: Row
    lock: Stamp  # after it was last probed


class Index:
    """A cache of the rows by the stamps of their files, shared by all visitors.

    `known` is replaced by a new list when a row has changed, so a page compares it by identity.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = folders
        self.known: list[Row] = []  # latest first
        self.found = 0  # runs; more than are known while they are read for the first time
        self._entries: dict[str, Entry] = {}
        self._published: dict[str, Entry] = {}
        self._scanning = threading.Lock()
        self._scanned = -float("inf")
        self._fields: tuple[list[Row], list[str]] = ([], [])

    def rows(self) -> list[Row]:
        """Look for changes now, and return one row for each run, latest first."""
        self.refresh(0)
        return self.known

    def refresh(self, seconds: float = RESCAN) -> None:
        """Look for changes, unless that was done within the last `seconds`."""
        with self._scanning:
            if time.monotonic() - self._scanned >= seconds:
                self._scan()

    def row(self, run: RunPath) -> Row:
        """Return the row of one run as it is now, which the next search does not read again."""
        stamps = tuple(files.stamp(run, name) for name in FILES)
        entry = self._entries[run.name] = _update_entry(run, stamps, self._entries.get(run.name))
        return entry.row

    @property
    def ready(self) -> bool:
        """Whether every run has been read once."""
        return self._scanned > -float("inf")

    def fields(self) -> list[str]:
        rows = self.known
        if self._fields[0] is not rows:
            names = {name for row in rows for kind in ("settings", "metrics") for name in row[kind]}
            self._fields = rows, sorted(names - set(BASE_FIELDS))
        return self._fields[1]

    def _scan(self) -> None:
        runs = [(run, tuple(files.stamp(run, name) for name in FILES)) for run in files.find(self.folders)]
        runs.sort(key=lambda one: -max(stamp.modified for stamp in one[1]))  # the latest are shown first
        self.found, before = len(runs), self._entries
        entries: dict[str, Entry] = {}
        for run, stamps in runs:
            old = before.get(run.name)  # perhaps read meanwhile
            entries[run.name] = _update_entry(run, stamps, old)
            if old is None and len(entries) % PUBLISH_EVERY == 0:
                self._publish(before | entries)
        if entries != self._published:
            self._publish(entries)
        self._entries, self._scanned = entries, time.monotonic()

    def _publish(self, entries: Mapping[str, Entry]) -> None:
        self._published, rows = dict(entries), (entry.row for entry in entries.values())
        self.known = sorted(rows, key=lambda row: (-row["updated"], row["run"]))


@cache
def shared_index(*folders: Path) -> Index:
    """Return the index of all visitors."""
    return Index(folders)


def _update_entry(run: RunPath, stamps: tuple[Stamp, ...], old: Entry | None) -> Entry:
    """Return the entry of a run. A run that starts to train changes its lock; otherwise the lock is not probed."""
    if old is None or old.stamps != stamps:
        return Entry(stamps, read_row(run), files.stamp(run, LOCK))
    if old.row["state"] != "training" and old.lock == files.stamp(run, LOCK):
        return old
    return Entry(stamps, _with_state(old.row, is_training(run.path)), files.stamp(run, LOCK))


def read_row(run: RunPath) -> Row:
    """Return the row of a run; columns of unreadable files are empty, and `error` is the message."""
    training = is_training(run.path)
    row: Row = {"run": run.name, "error": "", "tags": (), "settings": {}, "metrics": {}}
    row |= dict.fromkeys((*CONFIG_GROUPS, "changes", "notes"), "")
    row |= dict.fromkeys(("seed", "step", "score", "win_rate", "low", "high")) | {"overrides": [], "scores": []}
    row["is_model"] = files.stamp(run, "metrics.csv").size < 0 <= files.stamp(run, BEST).size  # pulled from the zoo
    row["updated"] = max(files.stamp(run, name).modified for name in FILES if name != NOTES) / 1e9
    readers: tuple[Callable[[RunPath], Row], ...] = (_read_config, _read_metrics, _read_scores, _read_notes)
    for read in readers:
        try:
            row |= read(run)
        except UserError as error:
            row["error"] = str(error)
    if row["win_rate"] is not None and not row["scores"]:
        row["scores"] = [_logged_score(row)]
    return _with_state(row | {"title": row.get("title") or _title(row)}, training)


def _title(row: Row) -> str:
    """Return the name of a run that was given none: what it trains and since when, or its path in words."""
    begun = BEGUN.search(row["run"])
    if begun is None or not row["env"]:
        name = str(row["run"])
        return name.partition("/")[2].replace("_", " ").replace("/", " ").capitalize() or name
    when = datetime.strptime(begun[0], "%Y-%m-%d_%H-%M").strftime("%-d %b %H:%M")
    changed = [word.rpartition(".")[2] for word in row["changes"].split() if not word.startswith(UNNAMED)]
    words = (row["env"].replace("_", " ").capitalize(), row["algo"], row["experiment"] or " ".join(changed[:2]), when)
    return " · ".join(word for word in words if word)


def _with_state(row: Row, training: bool) -> Row:
    if row["error"]:
        return row | {"state": "unreadable"}
    if training:  # also a finished run that is being resumed
        return row | {"state": "training"}
    if row["win_rate"] is None:
        return row | {"state": "model" if row["is_model"] else "unfinished"}
    return row | {"state": "finished"}


def _read_config(run: RunPath) -> Row:
    config = files.read_config(run)
    composition, seed = config.get("composition"), config.get("seed")
    options = composition if isinstance(composition, dict) else {}
    overrides = files.read_changes(run)
    if not overrides:  # not saved with the run
        overrides = [f"{key}={options[key]}" for key in ("experiment", "env", "algo") if options.get(key)]
        overrides += [f"seed={seed}", *map(str, options.get("overrides") or ())]
    changes = [word for word in overrides if word.partition("=")[0] not in (*CONFIG_GROUPS, "seed")]
    return {key: str(options.get(key) or "") for key in CONFIG_GROUPS} | {
        "seed": seed if isinstance(seed, int) else None,
        "changes": " ".join(changes),
        "overrides": overrides,
        "settings": settings_of(config),
    }


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a configuration by dotted key."""
    return dict(_flattened({key: node for key, node in config.items() if key not in NO_SETTINGS}))


def _flattened(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a configuration by dotted key; lists are one text."""
    for key, child in node.items():
        if isinstance(child, dict) and child:
            yield from _flattened(child, f"{prefix}{key}.")
        else:
            yield prefix + key, str(child) if isinstance(child, dict | list) else child


def _read_metrics(run: RunPath) -> Row:
    last = files.last_values(run)
    return {
        "win_rate": last.get("final/win_rate"),
        "low": last.get("final/win_rate_low"),
        "high": last.get("final/win_rate_high"),
        "step": last.pop("step", None),
        "score": next((last[name] for name in CURVES if name in last), None),
        "metrics": last,
    }


def _read_scores(run: RunPath) -> Row:
    """Return the final evaluation, whose first opponent counts."""
    scores = files.read_scores(run)
    first = {"win_rate": scores[0].win_rate, "low": scores[0].low, "high": scores[0].high} if scores else {}
    return first | {"scores": scores}


def _logged_score(row: Row) -> Score:
    """Return the final evaluation of a run that was saved without its eval.json, from its metrics."""
    last = row["metrics"]
    episodes = int(last.get("final/episodes", 0))
    draws, losses, aborted = (round(last.get(f"final/{n}_rate", 0) * episodes) for n in ("draw", "loss", "aborted"))
    wins, rate = round(row["win_rate"] * episodes), row["win_rate"]
    return Score("final evaluation", episodes, wins, draws, losses, aborted, rate, row["low"] or 0, row["high"] or 1)


def _read_notes(run: RunPath) -> Row:
    try:
        found = notes.read(run)
    except UserError as error:  # the run itself is readable
        return {"notes": str(error)}
    return {"notes": found.text, "tags": found.tags, "title": found.name}


def value(row: Row, name: str) -> Any:
    """Return a field, a setting or the last value of a metric; None if the run has none."""
    if name in BASE_FIELDS:
        return row[name]
    return row["settings"].get(name, row["metrics"].get(name))


def format_value(found: Any) -> str:
    """Return a value as it is written in a table; empty if there is none."""
    if found is None:
        return ""
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, float):
        return f"{found:.5g}"
    return ", ".join(found) if isinstance(found, tuple) else str(found)
