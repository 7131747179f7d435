"""The runs as rows of a table; only changed files are read again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core.errors import UserError
from ...core.runs.lock import is_training
from ...core.runs.metrics import CURVES
from .. import files
from ..files import RunPath, Stamp

FILES = ("config.yaml", "metrics.csv", "eval.json")
CHOICES = ("env", "algo", "reward", "curriculum", "experiment")


class Index:
    """A cache of the rows by the stamps of their files."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = folders
        self._rows: dict[str, tuple[tuple[Stamp, ...], dict[str, Any]]] = {}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each run, latest first."""
        kept, rows = {}, []
        for run in files.find(self.folders):
            stamps = tuple(files.stamp(run, name) for name in FILES)
            before = self._rows.get(run.name)
            kept[run.name] = before if before and before[0] == stamps else (stamps, summary(run))
            row = kept[run.name][1]
            rows.append(row | {"state": state_of(row, is_training(run.path))})
        self._rows = kept
        return sorted(rows, key=lambda row: (-row["updated"], row["run"]))


def state_of(row: dict[str, Any], training: bool) -> str:
    if row["fault"]:
        return "unreadable"
    if training:  # also a finished run that is being resumed
        return "training"
    return "unfinished" if row["win_rate"] is None else "finished"


def summary(run: RunPath) -> dict[str, Any]:
    """Return the row of a run; columns of unreadable files are empty, and `fault` is the error."""
    row: dict[str, Any] = {"run": run.name, "fault": ""}
    row |= dict.fromkeys((*CHOICES, "changes"), "")
    row |= dict.fromkeys(("seed", "step", "score", "win_rate", "low", "high"))
    row["updated"] = max(files.stamp(run, name).modified for name in FILES) / 1e9
    for read in (_composition, _progress, _result):
        try:
            row |= read(run, row)
        except UserError as error:
            row["fault"] = str(error)
    return row


def _composition(run: RunPath, row: dict[str, Any]) -> dict[str, Any]:
    config = files.read_config(run)
    names = config.get("composition")
    names = names if isinstance(names, dict) else {}
    chosen = {key: str(names.get(key) or "") for key in CHOICES}
    seed = config.get("seed")
    columns = (*CHOICES, "seed")
    changes = [word for word in files.read_changes(run) if word.partition("=")[0] not in columns]
    return chosen | {"seed": seed if isinstance(seed, int) else None, "changes": " ".join(changes)}


def _progress(run: RunPath, row: dict[str, Any]) -> dict[str, Any]:
    metrics = files.read_metrics(run)
    ends = {"low": "final/win_rate_low", "high": "final/win_rate_high", "win_rate": "final/win_rate"}
    scores = (metrics.last(name) for name in CURVES)
    found = {"step": metrics.last("step"), "score": next((score for score in scores if score is not None), None)}
    return found | {key: metrics.last(name) for key, name in ends.items()}


def _result(run: RunPath, row: dict[str, Any]) -> dict[str, Any]:
    scores = files.read_scores(run)
    if not scores:
        return {}
    return {"win_rate": scores[0].win_rate, "low": scores[0].low, "high": scores[0].high}
