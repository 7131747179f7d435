"""A game in progress: its start and its moves."""

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, Generic, TypeVar

import numpy as np

from ..core.errors import UserError
from ..core.play.game import Game, NamesMoves

State = TypeVar("State")
Move = TypeVar("Move")
Note = TypeVar("Note")


class Match(Generic[State, Move, Note]):
    """A match between humans, in `human_seats`, and agents. An illegal move raises and changes nothing.

    Games may change states in place, so earlier states are replayed from the start.
    """

    no_move_message: ClassVar[str] = "there is no move to take back"

    def __init__(self, game: Game[State], new: Callable[[], State], human_seats: Collection[int] = ()) -> None:
        """`new` returns a new copy of the start state."""
        self.game, self.human_seats = game, human_seats
        self.begin(new, ())

    def begin(self, new: Callable[[], State], moves: Sequence[Move]) -> None:
        """Restart, and play `moves`."""
        state = new()
        for move in moves:
            state = self.apply(state, move)
        self._new, self.state, self.moves = new, state, list(moves)
        self.notes: list[Note | None] = [None] * len(moves)  # info of the player about each move
        self._replayed: tuple[int, State] | None = None  # the latest earlier state

    def apply(self, state: State, move: Move) -> State:
        """Return the state after a move: an action of the game, unless a subclass defines other moves."""
        assert isinstance(move, int), f"{move} is not an action"
        return self.game.play(state, move)

    def play(self, move: Move, note: Note | None = None) -> None:
        self.state = self.apply(self.state, move)
        self.moves.append(move)
        self.notes.append(note)

    @property
    def seat(self) -> int:
        """The seat to move."""
        return self.game.to_move(self.state)

    @property
    def outcome(self) -> int | None:
        return self.game.outcome(self.state)

    @property
    def is_aborted(self) -> bool:
        return self.game.is_aborted(self.state)

    @property
    def is_over(self) -> bool:
        return self.outcome is not None

    @property
    def waits_for_human(self) -> bool:
        return not self.is_over and self.seat in self.human_seats

    def at(self, ply: int) -> State:
        """Return the state after `ply` moves."""
        if ply == len(self.moves):
            return self.state
        done, state = self._replayed or (0, self._new())
        if done > ply:
            done, state = 0, self._new()
        for move in self.moves[done:ply]:
            state = self.apply(state, move)
        self._replayed = ply, state
        return state

    def take_back(self) -> None:
        """Undo up to the latest move of a person, or one move if only agents play."""
        if not self.moves:
            raise UserError("there is no move to take back")
        seats = [self.game.to_move(self.at(ply)) for ply in range(len(self.moves))]
        kept = max(
            (ply for ply, seat in enumerate(seats) if seat in self.human_seats or not self.human_seats), default=None
        )
        if kept is None:
            raise UserError(self.no_move_message)
        notes = self.notes[:kept]
        self.begin(self._new, self.moves[:kept])
        self.notes = notes

    def names(self) -> list[str]:
        """Return the moves in the notation of the game, or as numbers if it has none."""
        return [move_name(self.game, self.at(ply), move) for ply, move in enumerate(self.moves)]


def seeded_start(game: Game[State], rng: np.random.Generator) -> Callable[[], State]:
    """Return a function that starts the same seeded game on every call."""
    seed = int(rng.integers(2**32))
    return lambda: game.initial(np.random.default_rng(seed))


def move_name(game: Game[State], state: State, move: object) -> str:
    return game.move_name(state, move) if isinstance(game, NamesMoves) and isinstance(move, int) else str(move)
