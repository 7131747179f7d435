"""The border between a game's rules and everything that plays it."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, runtime_checkable

import numpy as np
from typing_extensions import TypeVar

from src.core.errors import UserError
from src.core.play.capabilities import AuxTask
from src.core.play.search import Evaluation, Searcher
from src.core.seeding import draw

State = TypeVar("State", default=Any)
View = TypeVar("View", default=Any)  # what the player to move may know of a state


class Trait(StrEnum):
    """What a game can declare and a player can need; the value completes "it needs a game ..."."""

    ONE_PLAYER = "with one player"
    TWO_PLAYER = "with two players"
    PERFECT_INFORMATION = "with perfect information"
    DETERMINISTIC = "without chance"
    ENUMERABLE = "small enough to visit every position"


class Game(ABC, Generic[State, View]):
    """Rules as an object. Seats are 0 (moves first) and 1; actions are integers below `num_actions`.

    A state may be changed in place by `play`, so a caller goes on with what `play` returns and keeps no older one,
    unless the game is a `TwoPlayerGame`, whose states are values.
    """

    traits: ClassVar[frozenset[Trait]]
    mirrored: ClassVar[bool] = False  # looks the same in a mirror: actions are cells, every reflection a game
    aux_task: ClassVar[AuxTask | None] = None  # what networks may predict about each cell
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
    def legal_actions(self, view: View) -> list[int]:
        """What the player to move may do, ascending; empty once the game is over."""

    @abstractmethod
    def play(self, state: State, action: int) -> State:
        """The position after a legal action; an illegal one raises `UserError` and changes nothing."""

    @abstractmethod
    def outcome(self, state: State) -> int | None:
        """+1, 0 or -1 as seat 0 won, drew or lost; None while the game goes on."""

    @abstractmethod
    def observe(self, view: View) -> np.ndarray:
        """What a network is shown of a view."""

    @abstractmethod
    def render(self, state: State) -> str:
        """The position as text, for people."""

    def view(self, state: State) -> View:
        """What the player to move may know; everything, unless the game hides something."""
        return state  # type: ignore[return-value]  # a game that hides something overrides it

    def episode_metrics(self, state: State) -> dict[str, float]:
        """What is worth averaging over finished games, beyond who won."""
        return {}

    def group(self, state: State) -> str | None:
        """The kind of start a game had, where results are to be counted apart by it."""
        return None

    def sensible_mask(self, view: View) -> np.ndarray:
        """(A,) bool: the legal actions, less those that lead nowhere, for players that choose by numbers."""
        mask = np.zeros(self.num_actions, np.bool_)
        mask[self.random_actions(view)] = True
        return mask

    def is_open(self, state: State, action: int) -> bool:
        """Whether an action that was decided ahead still has something to do; only for games of one player."""
        return action in self.legal_actions(self.view(state))

    def random_actions(self, view: View) -> list[int]:
        """What a random player draws from: the legal actions, less those that lead nowhere."""
        return self.legal_actions(view)

    def fixed_starts(self, path: Path) -> list[State]:
        """Starting states read from a file, to compare players on the very same games."""
        raise UserError(f"{type(self).__name__} has no fixed starting positions: leave out boards={path}")


@runtime_checkable
class NamesMoves(Protocol):
    """A game whose moves other programs can speak about."""

    def move_name(self, state: Any, action: int) -> str:
        """One word that no other legal action has."""


def outcome_for_seat(seat: int, outcome: int) -> int:
    """An outcome, which is told for seat 0, as the player in `seat` sees it; the same turns it back."""
    return outcome if seat == 0 else -outcome


class Canonical(NamedTuple):
    """A position turned into the one that stands for all its mirror images."""

    key: str
    transform: str  # the name of the symmetry used, for people
    moves: tuple[int, ...]  # moves[action] is that action in the canonical position


class TwoPlayerGame(Game[State, State]):
    """Adds what a line protocol and a search need: states are hashable values, moves and positions have names."""

    @abstractmethod
    def move_name(self, state: State, action: int) -> str: ...

    @abstractmethod
    def parse_move(self, state: State, text: str) -> int:
        """The legal action a text names; anything else raises `UserError`."""

    def line_names(self, state: State, actions: Sequence[int]) -> list[str]:
        """The names of actions played one after the other."""
        names = []
        for action in actions:
            names.append(self.move_name(state, action))
            state = self.play(state, action)
        return names

    @abstractmethod
    def write_position(self, state: State) -> str:
        """The position as words on one line, from which `read_position` makes the same state again."""

    @abstractmethod
    def read_position(self, text: str) -> State:
        """The state a text describes; one that cannot be raises `UserError`."""

    def perft(self, state: State, depth: int) -> int:
        """Positions reached by playing `depth` plies in every possible way."""
        if depth == 0:
            return 1
        actions = self.legal_actions(state)
        return len(actions) if depth == 1 else sum(self.perft(self.play(state, a), depth - 1) for a in actions)

    # What a search asks for. Every game can be searched; one that says more of itself is searched better.

    def candidates(self, state: State, selective: bool) -> list[int]:
        """The legal actions worth searching, most promising kind first; `selective`: only those that gain."""
        return self.legal_actions(state)

    def threats(self, state: State) -> list[int]:
        """The actions that gain so much that a position cannot be judged before they are looked at."""
        return []

    def factors(self, state: State) -> dict[str, int]:
        """What speaks for the player to move in an unfinished position, by name; a search weighs and adds them."""
        return {}

    def solved(self, state: State) -> int | None:
        """Plies to the end of an unfinished position in which one side wins by force, negative where the player to
        move loses; None where that takes a search.
        """
        return None

    def position_key(self, state: State) -> int:
        """64 bits that stand for what lies on the board, whichever way it came about."""
        return int.from_bytes(hashlib.blake2b(repr(state).encode(), digest_size=8).digest())

    def searcher(self, evaluation: Evaluation) -> Searcher | None:
        """A compiled search of the game's own, where there is one."""
        return None

    def playout(self, state: State, rng: np.random.Generator) -> int:
        """The outcome of a quick game from here, by moves that take no thought."""
        while (outcome := self.outcome(state)) is None:
            state = self.play(state, draw(rng, self.random_actions(state)))
        return outcome


class TabularGame(TwoPlayerGame[State]):
    """A game small enough for a table, which therefore says under which key a position is filed."""

    table_format: str  # names the game and how it files positions; a table of another format says nothing here

    @abstractmethod
    def canonical(self, state: State) -> Canonical: ...
