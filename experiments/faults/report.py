"""The results of a fault injection: attempts and failures as JSON lines, as a table, and how to repeat a failure."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Row:
    """One row of the table: the cases of an attack that have the same target."""

    attack: str
    target: str
    tried: int = 0
    failures: dict[int, str] = field(default_factory=dict)  # the reason by the number of the case
    verdicts: Counter[str] = field(default_factory=Counter)  # what readers did with hostile files
    seconds: float = 0.0
    seed: int = 0
    commit: str = ""

    def fail(self, number: int, reason: str) -> None:
        self.failures[number] = reason

    def add(self, other: "Row") -> None:
        self.tried += other.tried
        self.failures |= other.failures
        self.verdicts += other.verdicts
        self.seconds += other.seconds


def merged(rows: Iterable[Row]) -> list[Row]:
    """Add up rows of the same attack and target, such as those of several processes."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.attack, row.target
        if key in found:
            found[key].add(row)
        else:
            found[key] = row
    return list(found.values())


def read(path: Path) -> list[Row]:
    return [_row(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def _row(fields: dict[str, Any]) -> Row:
    failures = {int(number): reason for number, reason in fields.pop("failures").items()}
    return Row(**fields | {"failures": failures, "verdicts": Counter(fields["verdicts"])})


def write(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(vars(row)) + "\n" for row in rows))


def replace_attacks(path: Path, rows: Sequence[Row]) -> None:
    """Write rows to a file of results and the table beside it, in place of the earlier rows of the same attacks."""
    new = {row.attack for row in rows}
    kept = [*(row for row in read(path) if row.attack not in new), *rows]
    write(path, kept)
    path.with_name("table.md").write_text(table(kept) + "\n")


def table(rows: Sequence[Row]) -> str:
    """Return the table in Markdown, a row for each attack."""
    lines = ["| attack | targets | tried | failed | refused | worked | at |", "|---|---|---|---|---|---|---|"]
    for attack in dict.fromkeys(row.attack for row in rows):
        own = [row for row in rows if row.attack == attack]
        total = Row(attack, "", commit=own[0].commit)
        for row in own:
            total.add(row)
        counts = [f"{total.verdicts[name]:,}" if total.verdicts else "" for name in ("refused", "worked")]
        cells = [attack, str(len(own)), f"{total.tried:,}", f"{len(total.failures):,}", *counts]
        lines.append(f"| {' | '.join(cells)} | `{total.commit[:7]}` |")
    return "\n".join(lines)


def reproductions(rows: Sequence[Row], seed: int) -> str:
    """Return every failure with the command that repeats it."""
    return "\n".join(
        f"{row.attack} {number} ({row.target}): {reason}\n"
        f"    python -m experiments.faults --only {row.attack} --seed {seed} --case {number}"
        for row in rows
        for number, reason in row.failures.items()
    )
