"""Run directories and metrics for the tests of what reads them."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np

from src.core.runs.index.files import Metrics
from src.core.runs.index.rows import Index

COMPOSITION = "{env: tictactoe, algo: qlearning, reward: outcome, curriculum: none, experiment: null}"
CONFIG = f"composition: {COMPOSITION}\nseed: 3\n"
# one white pixel
PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==")


def make_run(folder: Path, name: str, metrics: str = "step,eval/win_rate\n10,0.5\n20,0.75\n") -> Path:
    path = folder / name
    path.mkdir(parents=True)
    (path / "config.yaml").write_text(CONFIG)
    (path / "metrics.csv").write_text(metrics)
    return path


def rows_of(outputs: Path, *settings: str) -> list[dict[str, Any]]:
    """Return the rows of runs with these settings, as YAML, in the order given."""
    for number, text in enumerate(settings):
        (make_run(outputs, f"s/{number}") / "config.yaml").write_text(CONFIG + text + "\n")
    return sorted(Index([outputs]).rows(), key=lambda row: row["run"])


def metrics(**columns: list[float | None]) -> Metrics:
    return Metrics(tuple(columns), {name: np.array(values, float) for name, values in columns.items()})
