"""Which settings differ between runs, and runs in groups by them."""

from collections.abc import Mapping, Sequence
from typing import Any

from .index import CHOICES, Row, value

SEEDS = "all but the seed"  # one group for the runs that differ in nothing else
NO_GROUPS = ""
FIXED = {NO_GROUPS: "no groups", SEEDS: "all settings but the seed", **{name: name for name in (*CHOICES, "seed")}}


def differing(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Return the settings that are not the same in all rows, with the value of each row; None where it has none."""
    names = dict.fromkeys((*CHOICES, *(name for row in rows for name in row["settings"])))
    values = {name: [value(row, name) for row in rows] for name in names}
    return {name: found for name, found in values.items() if len(set(map(repr, found))) > 1}


def choices(rows: Sequence[Row], chosen: str) -> dict[str, str]:
    """Return the options to group these runs by: the usual ones, and each setting that differs."""
    return FIXED | {name: name for name in (*differing(rows), chosen) if name not in FIXED}


def grouped(rows: Sequence[Row], by: str) -> dict[str, list[str]]:
    """Return the names of the runs of each group by its label."""
    names = [name for name in differing(rows) if name != "seed"] if by == SEEDS else [by]
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(repr(value(row, name)) for name in names), []).append(row)
    groups = [({name: value(members[0], name) for name in names}, members) for members in found.values()]
    labels = [_label(values) for values, _ in groups]
    return {
        f"{label if labels.count(label) == 1 else _whole_label(values)} ({_runs(len(members))})": [
            row["run"] for row in members
        ]
        for label, (values, members) in zip(labels, groups, strict=True)
    }


def _label(values: Mapping[str, Any]) -> str:
    shown = {name: one for name, one in values.items() if not name.endswith("_target_")}
    return ", ".join(f"{name}={text(one) or '-'}" for name, one in (shown or values).items()) or "same settings"


def _whole_label(values: Mapping[str, Any]) -> str:
    """Return a label with every digit and every name of code, for groups whose short labels are the same."""
    return ", ".join(f"{name}={one!r}" for name, one in values.items())


def text(found: Any) -> str:
    """Return a value as it is written in a table; empty if there is none."""
    if found is None:
        return ""
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, float):
        return f"{found:.5g}"
    return ", ".join(found) if isinstance(found, tuple) else str(found)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
