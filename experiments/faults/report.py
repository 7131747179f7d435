"""The report of a fault injection: attempts, failures, and how to repeat them."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    attack: str  # kills, lines or files
    number: int  # of the case; with the seed it determines the case
    reason: str


@dataclass
class Row:
    """One row of the table."""

    attack: str
    target: str
    tried: int = 0
    failures: list[Failure] = field(default_factory=list)
    note: str = ""  # what became of those that survived

    @property
    def survived(self) -> int:
        return self.tried - len({failure.number for failure in self.failures})

    def fail(self, number: int, reason: str) -> None:
        self.failures.append(Failure(self.attack, number, reason))


def table(rows: Sequence[Row]) -> str:
    """Return the table in Markdown, with a total for each attack."""
    lines = ["| attack | target | tried | survived | failed | |", "|---|---|---|---|---|---|"]
    for attack in dict.fromkeys(row.attack for row in rows):
        own = [row for row in rows if row.attack == attack]
        lines += [_line(attack, row.target, [row], row.note) for row in own]
        if len(own) > 1:
            lines.append(_line(attack, "**all**", own, ""))
    return "\n".join(lines)


def _line(attack: str, target: str, rows: Sequence[Row], note: str) -> str:
    tried, survived = sum(row.tried for row in rows), sum(row.survived for row in rows)
    return f"| {attack} | {target} | {tried:,} | {survived:,} | {tried - survived:,} | {note} |"


def reproductions(rows: Sequence[Row], seed: int) -> str:
    """Return every failure with the command that repeats it."""
    return "\n".join(
        f"{failure.attack} {failure.number} ({row.target}): {failure.reason}\n"
        f"    python -m experiments.faults --only {failure.attack} --seed {seed} --case {failure.number}"
        for row in rows
        for failure in row.failures
    )
