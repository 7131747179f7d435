"""What a search is told and what it tells, whether it is written in Python or compiled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from src.core.errors import require
from src.core.ranges import NonNegativeInt, check_fields

WIN = 1_000_000  # the score of a won position; a win n plies away is worth n less
QUIET_PLIES = 2  # how far a selective search follows threats beyond its depth
DECIDED = 900_000  # scores beyond it, on either side, are wins and losses seen to the end
MOST_FACTOR = 100  # the factors of every game stay within so much either way
_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class Evaluation:
    """How positions are judged where the search stops."""

    weights: Mapping[str, int]  # of the game's factors, by name
    noise: NonNegativeInt  # errs by up to so much either way
    seed: int  # of the errors
    selective: (
        bool  # follow moves that gain something only, at the end of a line too, and believe what the game has solved
    )

    def __post_init__(self) -> None:
        check_fields(self)
        most = MOST_FACTOR * sum(abs(weight) for weight in self.weights.values()) + self.noise
        require(
            most <= DECIDED,
            f"by these weights and noise={self.noise} a score could reach {most}, and beyond {DECIDED} it would be "
            f"taken for a win: {MOST_FACTOR} times the sum of all weights, and the noise, have to stay within that",
        )


class SearchResult(NamedTuple):
    score: int  # for the player to move
    line: tuple[int, ...]  # the actions of both sides when each plays its best; empty where there is nothing to play
    nodes: int  # positions looked at
    settled: bool  # the game ended in every line, so that there is nothing to find any deeper


class Searcher(Protocol):
    """A search to a depth. Its result depends on the position, the depth and `first` alone, never on earlier calls.

    Of moves that are equally good it plays the one that comes first: `first`, then in the order of the candidates.
    """

    def search(self, state: Any, depth: int, first: int | None, node_limit: int) -> SearchResult | None:
        """The best play to `depth` >= 1 plies in an unfinished position; None where `node_limit` was not enough."""


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def error_at(key: int, noise: int, seed: int) -> int:
    """The error of the evaluation in a position: uniform in -noise..noise, and always the same there."""
    return mixed(key ^ mixed(seed)) % (2 * noise + 1) - noise


def mixed(word: int) -> int:
    """64 bits well stirred (SplitMix64, Steele, Lea & Flood 2014)."""
    word = (word + 0x9E3779B97F4A7C15) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


def one_ply_on(score: int) -> int:
    """A score of the position after a move as the player who made it sees it: the other way round, and a ply later."""
    if score > DECIDED:
        return 1 - score
    return -1 - score if score < -DECIDED else -score
