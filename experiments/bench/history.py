"""The history of benchmark results, to detect regressions."""

import csv
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.table import Table

from experiments.bench.speed import Row
from src.core.errors import require
from src.core.parallel import CORES

HISTORY = Path(__file__).parent / "history.csv"
COLUMNS = ["date", "commit", "machine", "versions", "name", "figure", "unit", "ratio", "peer"]
PACKAGES = ("numpy", "numba", "torch", "sb3-contrib", "jumanji", "jax", "open_spiel")


class Place(NamedTuple):
    """The machine and versions of a measurement."""

    machine: str
    versions: str
    commit: str  # with a + where src or conf was changed since

    @staticmethod
    def here() -> "Place":
        return Place(f"{_processor()}, {CORES} cores", _versions(), _commit())


def previous(history: Path, machine: str) -> dict[str, float]:
    """Return the latest value of each name measured on such a machine."""
    if not history.exists():
        return {}
    with history.open(newline="") as file:
        reader = csv.DictReader(file)
        require(reader.fieldnames == COLUMNS, f"{history} is no history of benchmarks: its columns are not {COLUMNS}")
        return {row["name"]: float(row["figure"]) for row in reader if row["machine"] == machine}


def append(history: Path, rows: Sequence[Row], place: Place, when: datetime) -> None:
    history.parent.mkdir(parents=True, exist_ok=True)
    new = not history.exists()
    with history.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator=os.linesep)
        if new:
            writer.writerow(COLUMNS)
        for row in rows:
            ratio = "" if row.ratio is None else f"{row.ratio:.4g}"
            measured = [row.name, f"{row.figure:.6g}", row.unit, ratio, row.peer or ""]
            writer.writerow([f"{when:%Y-%m-%dT%H:%M:%SZ}", place.commit, place.machine, place.versions, *measured])


def table(rows: Sequence[Row], before: Mapping[str, float]) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("ratio", "what", "ours", "unit", "peer", "last time", "change"):
        shown.add_column(heading, justify="left" if heading in ("what", "unit", "peer") else "right", no_wrap=True)
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.1f}x"
        last = before.get(row.name)
        change = "" if last is None else f"{row.figure / last - 1:+.0%}"
        figures = ["" if figure is None else _short(figure) for figure in (row.figure, last)]
        shown.add_row(ratio, row.name, figures[0], row.unit, _peer(row), figures[1], change)
    return shown


def _peer(row: Row) -> str:
    if row.peer is None:
        return ""
    return f"{row.peer}: {'not installed' if row.peer_figure is None else _short(row.peer_figure)}"


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _versions() -> str:
    found = [f"python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:  # a peer that is not installed
            continue
    return " ".join(found)


def _commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", ":/src", ":/conf") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
