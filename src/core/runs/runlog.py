"""Where the figures of a run go: always a CSV file, and a tracker such as wandb beside it."""

import csv
import io
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from src.core.errors import UserError, require
from src.core.files import read_regular, write_atomic
from src.core.runs.metrics import CURVES, current_names, is_documented

log = logging.getLogger(__name__)

MOST_METRICS = 1 << 28  # bytes


class Tracker(Protocol):
    """A second place for the figures. It may fail at any time; that never ends a run."""

    def start(self, directory: Path, config: dict[str, Any]) -> None: ...
    def log(self, row: Mapping[str, float]) -> None: ...
    def summarize(self, row: Mapping[str, float]) -> None: ...  # values that a run has once, at its end
    def picture(self, name: str, path: Path) -> None: ...
    def results(self, directory: Path, result: Mapping[str, Any]) -> None: ...
    def finish(self, failed: bool) -> None: ...


def try_tracker(tracker: str, what: str, call: Callable[[], None]) -> bool:
    """Whether a call of a tracker went well; whatever it raises is told, as the training is worth more."""
    try:
        call()
    except Exception as error:
        log.warning("%s could not %s (%s); the run goes on, its figures are in metrics.csv", tracker, what, error)
        return False
    return True


class RunLog:
    """One row a call, one column a metric; a metric seen for the first time widens the file."""

    def __init__(self, directory: Path, tracker: Tracker | None) -> None:
        self.path, self.tracker = directory / "metrics.csv", tracker
        rows = self._read()
        self.rows = len(rows)
        self._columns = list(rows[0]) if rows else ["step"]

    def write(self, step: int, metrics: Mapping[str, float], once: bool = False) -> None:
        """`once`: values of the whole run, which a tracker shows in its summary and not as curves of one point."""
        undocumented = [name for name in metrics if not is_documented(name)]
        if undocumented:
            raise ValueError(
                f"describe these in src/core/runs/metrics.py before logging them: {', '.join(undocumented)}"
            )
        row = {"step": step, **metrics}
        if self.rows == 0 or not row.keys() <= set(self._columns):
            self._columns += [name for name in row if name not in self._columns]
            self._rewrite(self._read())
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, self._columns).writerow(row)
            file.flush()
            os.fsync(file.fileno())  # a checkpoint that counts this row must not outlive it
        self.rows += 1
        if self.tracker is not None:
            (self.tracker.summarize if once else self.tracker.log)(row)

    def column(self, name: str) -> tuple[list[float], list[float]]:
        """The steps at which a metric was logged, and what it was."""
        rows = self.rows_with(name)
        return [float(row["step"]) for row in rows], [float(row[name]) for row in rows]

    def rows_with(self, name: str) -> list[dict[str, str]]:
        """The rows in which a metric was logged."""
        return [row for row in self._read(last_may_be_cut=False) if row.get(name)]

    def curve(self) -> tuple[str, list[dict[str, str]]]:
        """What selects the best checkpoint of this run, and the rows in which it was logged."""
        found = ((name, self.rows_with(name)) for name in CURVES)
        return next(((name, rows) for name, rows in found if rows), (CURVES[-1], []))

    def require_rows(self, rows: int) -> None:
        """Refuse a file in which one of the first `rows` is missing or incomplete."""
        whole = len(self._read())
        require(
            whole >= rows,
            f"{self.path} has lost rows: {rows} were written, {whole} are there, and line {whole + 2} is missing or cut"
            " short; restore the file from a copy",
        )

    def keep(self, rows: int) -> None:
        """Forget the rows after the first `rows`: a resumed run writes them again."""
        self.require_rows(rows)
        kept = self._read()[:rows]
        self._columns = [name for name in self._columns if any(row[name] for row in kept)] or ["step"]
        self._rewrite(kept)
        self.rows = len(kept)

    def _read(self, *, last_may_be_cut: bool = True) -> list[dict[str, str]]:
        """Every row. A kill may have cut the last one short, which then does not count; any other must be whole."""
        if not self.path.exists():
            return []
        data = read_regular(self.path, MOST_METRICS)
        rows = parse_rows(data, str(self.path))
        cut = [line for line, row in enumerate(rows, start=2) if not is_whole(row)]
        cut += [] if last_may_be_cut or data.endswith(b"\n") else [len(rows) + 2]
        require(not cut, f"{self.path}, line {(cut or [0])[0]} is cut short: restore the file from a copy")
        return rows

    def _rewrite(self, rows: list[dict[str, str]]) -> None:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self._columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        write_atomic(self.path, text.getvalue())


def parse_rows(data: bytes, name: str) -> list[dict[str, str]]:
    """Parse the lines of a metrics.csv that have ended, with its columns by their current names."""
    try:
        text = data.decode()
        reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
        reader.fieldnames = current_names(reader.fieldnames or [])
        return list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{name} is not readable as CSV: {error}") from error


def is_whole(row: Mapping[Any, object]) -> bool:
    """Whether a row has as many values as there are columns."""
    return None not in row and None not in row.values()
