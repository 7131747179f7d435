"""The rating of a person from games against levels whose Elo is known, by Glickman's system (Glicko, 1999).

A ladder is `ladder.yaml` beside a game: the Elo of each level with its 95% interval, as a tournament measured it.
"""

import inspect
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from .arena import Z95
from .game import Game
from .rating import ELO, Rating

ANCHOR_ELO = 1000.0  # of the level that is 0 in its ladder, so that ratings look like those of other places to play
NEW = 350.0  # standard deviation of a person who has played no game
LEAST = 50.0  # below it a person who improves would hardly be seen to
GOOD_GAME = 0.5, 0.6  # expected points in a game that is worth playing
BOUNDS = 10_000

Ladder = Mapping[str, Rating]  # by level


class PersonRating(NamedTuple):
    elo: float = ANCHOR_ELO
    deviation: float = NEW  # standard deviation of the error
    games: int = 0

    @property
    def half_width(self) -> float:
        """Half of the 95% interval."""
        return Z95 * self.deviation

    def expected(self, level: Rating) -> float:
        """Return the expected points of a game, which uncertainty of the level draws toward one half."""
        return 1 / (1 + math.exp(-_certainty(level) * (self.elo - ANCHOR_ELO - level.elo) / ELO))

    def after(self, level: Rating, points: float) -> "PersonRating":
        """Return the rating after one more game, with 1 point for a win and 0.5 for a draw."""
        expected, certainty = self.expected(level), _certainty(level)
        information = (certainty / ELO) ** 2 * expected * (1 - expected)
        variance = 1 / (1 / self.deviation**2 + information)
        elo = self.elo + variance * certainty / ELO * (points - expected)
        return PersonRating(elo, max(math.sqrt(variance), LEAST), self.games + 1)

    def suggested(self, ladder: Ladder) -> str:
        """Return the level with expected points in or nearest to `GOOD_GAME`; of several the strongest."""
        low, high = GOOD_GAME

        def distance(name: str) -> tuple[float, float]:
            points = self.expected(ladder[name])
            return max(low - points, points - high, 0.0), -ladder[name].elo

        return min(ladder, key=distance)


def _certainty(level: Rating) -> float:
    deviation = (level.high - level.low) / 2 / Z95
    return 1 / math.sqrt(1 + 3 * (deviation / ELO / math.pi) ** 2)


def read_rating(text: object) -> PersonRating:
    """Parse a rating that a browser has kept; what is not one is the rating of a new person."""
    try:
        elo, deviation, games = json.loads(str(text))
        found = PersonRating(float(elo), float(deviation), int(games))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return PersonRating()
    valid = abs(found.elo) <= BOUNDS and LEAST <= found.deviation <= NEW and found.games >= 0
    return found if valid else PersonRating()


def read_ladder(game: Game) -> Ladder:
    """Return the ladder of a game, or {} if its levels were not rated."""
    path = Path(inspect.getfile(type(game))).with_name("ladder.yaml")
    found = yaml.safe_load(path.read_text()) if path.is_file() else {}
    return {level: Rating(*map(float, values)) for level, values in found.items()}


def write_ladder(path: Path, ratings: Ladder, command: str) -> None:
    lines = [f"{name}: [{', '.join(f'{value:.1f}' for value in rating)}]" for name, rating in ratings.items()]
    path.write_text("\n".join([f"# Elo and its 95% interval, written by {command}", *lines, ""]))
