"""Log the metrics of a run to a CSV file and optionally to a tracker such as wandb."""

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import UserError, require
from ..files import read_regular, write_atomic
from .csv_table import CsvTable
from .metrics import CURVES
from .trackers import Tracker

MAX_BYTES = 1 << 28  # of metrics.csv


class RunLog:
    """metrics.csv: one row per call, one column per metric; a new metric adds a column."""

    def __init__(self, directory: Path, tracker: Tracker | None) -> None:
        self.path, self.tracker = directory / "metrics.csv", tracker
        table = read_table(self.path)
        self.rows = len(table)
        self._columns = list(table.names) if self.rows else ["step"]

    def write(self, step: int, metrics: Mapping[str, float], once: bool = False) -> None:
        """Append a row. `once` marks values of the whole run, which a tracker shows in its summary, not as curves."""
        row = {"step": step, **metrics}
        if self.rows == 0 or not row.keys() <= set(self._columns):
            self._columns += [name for name in row if name not in self._columns]
            self._rewrite(read_table(self.path).rows())
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, self._columns).writerow(row)
            file.flush()
            os.fsync(file.fileno())  # before a checkpoint that counts this row is written
        self.rows += 1
        if self.tracker is not None:
            (self.tracker.summarize if once else self.tracker.log)(row)

    def require_rows(self, rows: int) -> None:
        """Raise `UserError` if one of the first `rows` is missing or incomplete."""
        complete = len(read_table(self.path))
        require(
            complete >= rows,
            f"{self.path} has lost rows: {rows} were written, {complete} are there, and line {complete + 2} is missing "
            "or cut short; restore the file from a copy",
        )

    def truncate(self, rows: int) -> None:
        """Remove all rows after the first `rows`: a resumed run writes them again."""
        self.require_rows(rows)
        kept = read_table(self.path).rows()[:rows]
        self._columns = [name for name in self._columns if any(row[name] for row in kept)] or ["step"]
        self._rewrite(kept)
        self.rows = len(kept)

    def _rewrite(self, rows: list[dict[str, str]]) -> None:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self._columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        write_atomic(self.path, text.getvalue())


class LoggedMetrics:
    """The complete metrics.csv of a run, read once."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "metrics.csv"
        self._table = read_table(self.path, allow_partial_last=False)

    def column(self, name: str) -> tuple[list[float], list[float]]:
        """Return the steps at which a metric was logged, and its values."""
        rows = self.rows_with(name)
        try:
            return [float(row["step"]) for row in rows], [float(row[name]) for row in rows]
        except ValueError as error:
            raise UserError(f"{self.path}: {name} is not a number: {error}") from error

    def rows_with(self, name: str) -> list[dict[str, str]]:
        """Return the rows in which a metric was logged."""
        return self._table.rows(name) if name in self._table.names else []

    def curve(self) -> tuple[str, list[dict[str, str]]]:
        """Return the metric that selects the best checkpoint, and the rows in which it was logged."""
        found = ((name, self.rows_with(name)) for name in CURVES)
        return next(((name, rows) for name, rows in found if rows), (CURVES[-1], []))


def read_table(path: Path, *, allow_partial_last: bool = True) -> CsvTable:
    """Read all complete rows. The last one may be partial after a kill and is then left out; others must not be."""
    data = read_regular(path, MAX_BYTES) if path.exists() else b""
    table = CsvTable(data, str(path))
    require(not len(table) or "step" in table.names, f"{path} has no column named step: restore the file from a copy")
    cut = table.cut + ([] if allow_partial_last or data[-1:] in (b"", b"\n") else [len(table) + 2])
    require(not cut, f"{path}, line {(cut or [0])[0]} is cut short: restore the file from a copy")
    return table
