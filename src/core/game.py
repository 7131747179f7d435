"""The border between a game's rules and everything that plays it."""

from abc import ABC, abstractmethod
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from src.core.errors import LabError

State = TypeVar("State")


class Trait(StrEnum):
    """What a game can declare and a player can need; the value completes "it needs a game ..."."""

    ONE_PLAYER = "with one player"
    TWO_PLAYER = "with two players"
    PERFECT_INFORMATION = "with perfect information"
    DETERMINISTIC = "without chance"
    ENUMERABLE = "small enough to visit every position"


class Game(ABC, Generic[State]):
    """Rules as an object. Seats are 0 (moves first) and 1; actions are integers below `num_actions`.

    A state may be changed in place by `play`, so a caller goes on with what `play` returns and keeps no older one,
    unless the game is a `TwoPlayerGame`, whose states are values.
    """

    traits: ClassVar[frozenset[Trait]]
    num_actions: int

    @property
    def players(self) -> int:
        return 2 if Trait.TWO_PLAYER in self.traits else 1

    @abstractmethod
    def initial(self, rng: np.random.Generator) -> State:
        """A new game; whatever chance decides in it is drawn from `rng`."""

    @abstractmethod
    def to_move(self, state: State) -> int:
        """The seat whose turn it is."""

    @abstractmethod
    def legal_actions(self, view: Any) -> list[int]:
        """What the player to move may do, ascending; empty once the game is over."""

    @abstractmethod
    def play(self, state: State, action: int) -> State:
        """The position after a legal action; an illegal one raises `LabError` and changes nothing."""

    @abstractmethod
    def outcome(self, state: State) -> int | None:
        """+1, 0 or -1 as seat 0 won, drew or lost; None while the game goes on."""

    @abstractmethod
    def observe(self, view: Any) -> np.ndarray:
        """What a network is shown of a view."""

    @abstractmethod
    def render(self, state: State) -> str:
        """The position as text, for people."""

    def view(self, state: State) -> Any:
        """What the player to move may know; everything, unless the game hides something."""
        return state

    def figures(self, state: State) -> dict[str, float]:
        """What is worth averaging over finished games, beyond who won."""
        return {}

    def group(self, state: State) -> str | None:
        """The kind of start a game had, where results are to be counted apart by it."""
        return None

    def random_actions(self, view: Any) -> list[int]:
        """What a random player draws from: the legal actions, less those that lead nowhere."""
        return self.legal_actions(view)

    def fixed_starts(self, path: Path) -> list[State]:
        """Starting states read from a file, to compare players on the very same games."""
        raise LabError(f"{type(self).__name__} has no fixed starting positions: leave out boards={path}")


def seen_from(seat: int, outcome: int) -> int:
    """An outcome, which is told for seat 0, as the player in `seat` sees it; the same turns it back."""
    return outcome if seat == 0 else -outcome


class Canonical(NamedTuple):
    """A position turned into the one that stands for all its mirror images."""

    key: str
    transform: str  # the name of the symmetry used, for people
    moves: tuple[int, ...]  # moves[action] is that action in the canonical position


class TwoPlayerGame(Game[State]):
    """Adds what a line protocol and a search need: states are hashable values, moves have names."""

    @abstractmethod
    def move_name(self, state: State, action: int) -> str: ...

    @abstractmethod
    def parse_move(self, state: State, text: str) -> int:
        """The legal action a text names; anything else raises `LabError`."""


class TabularGame(TwoPlayerGame[State]):
    """A game small enough for a table, which therefore says under which key a position is filed."""

    table_format: str  # names the game and how it files positions; a table of another format says nothing here

    @abstractmethod
    def canonical(self, state: State) -> Canonical: ...
