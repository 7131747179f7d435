"""The settings of the timed search."""

from dataclasses import dataclass
from typing import Annotated

from ...core.ranges import Bounds, NonNegativeInt, check_fields


@dataclass(frozen=True)
class SearchOptions:
    """The numbers of the search; scores are hundredths of log odds."""

    contempt: Annotated[int, Bounds(ge=0, le=20_000)] = 20  # a repeated position is worth this much less than nothing
    narrow_depth: NonNegativeInt = 2  # depth up to which only walls that gain a step are searched
    futility: NonNegativeInt = 4  # depth up to which a position far above beta is cut off without a search
    margin: NonNegativeInt = 60  # of the futility cutoff, per ply
    table_bits: Annotated[int, Bounds(ge=10, le=26)] = 20  # entries of the transposition table, a power of two

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class SearchFeatures:
    """The parts of the search that can be switched off, so that a match can show what each is worth."""

    killers: bool = True  # order moves by cutoffs at the same ply
    counter_moves: bool = True  # ... by cutoffs after the same move
    history: bool = True  # ... by cutoffs anywhere
    late_move_reductions: bool = True  # search late moves less deep
    internal_reductions: bool = True  # search less deep where the table has no move
    kept_table: bool = True  # keep the transposition table from move to move
    repetitions: bool = True  # a repeated position is a draw, less the contempt
    exact_races: bool = True  # solve races that walls cannot change any more

    def __post_init__(self) -> None:
        check_fields(self)
