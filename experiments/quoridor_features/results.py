"""The results of the pairs played so far, and their table."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from src.core.errors import require
from src.core.files import write_atomic
from src.core.play.rating import PairCounts, expected_points

from .match import FEATURES, Outcomes

RESULTS, TABLE = "results.json", "table.md"


class Pair(NamedTuple):
    feature: str
    number: int


class Results:
    """The outcomes of the pairs played so far, by feature and number, in a file."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder, self.settings = folder, settings
        self.pairs: dict[Pair, Outcomes] = {}
        path = folder / RESULTS
        if path.exists():
            kept = json.loads(path.read_text())
            require(
                kept["settings"] == settings,
                f"{path} has games with {kept['settings']}, not {settings}: give the same values, or another --folder",
            )
            for feature, played in kept["pairs"].items():
                self.pairs |= {Pair(feature, int(number)): outcomes for number, outcomes in played.items()}

    def add(self, pair: Pair, outcomes: Outcomes) -> None:
        self.pairs[pair] = outcomes
        by_feature: dict[str, dict[str, Outcomes]] = {}
        for (feature, number), played in sorted(self.pairs.items()):
            by_feature.setdefault(feature, {})[str(number)] = played
        write_atomic(self.folder / RESULTS, json.dumps({"settings": self.settings, "pairs": by_feature}) + "\n")
        write_atomic(self.folder / TABLE, self.table())

    def counts(self, feature: str) -> PairCounts:
        counts = PairCounts()
        for pair, outcomes in self.pairs.items():
            if pair.feature == feature:
                counts.add(outcomes)
        return counts

    def table(self) -> str:
        rows = [
            f"{self.settings['seconds']:g} seconds per move. Score and Elo of the full search:\n",
            "| opponent | games | won/drawn/lost | score (95%) | Elo (95%) |",
            "|---|---|---|---|---|",
        ]
        rows += [row(feature, self.counts(feature)) for feature in FEATURES]
        return "\n".join(rows) + "\n"


def row(feature: str, counts: PairCounts) -> str:
    opponent = f"without `{feature}`"
    if counts.games == 0:
        return f"| {opponent} | 0 | | | |"
    elo, low, high = counts.elo()
    score = f"{counts.points:.1%} ({expected_points(low):.1%} to {expected_points(high):.1%})"
    results = f"{counts.wins}/{counts.draws}/{counts.losses}"
    return f"| {opponent} | {counts.games} | {results} | {score} | {elo:+.0f} ({low:+.0f} to {high:+.0f}) |"
