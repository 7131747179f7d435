"""A game in progress: its start and its moves."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from ..core.errors import UserError, require
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

    # What is kept on disk

    @property
    def start(self) -> Any:
        """JSON from which the same match begins again: a seed, a position; None if all matches begin the same way."""
        return None

    def moves_as_json(self) -> list[Any]:
        return [int(cast(int, move)) for move in self.moves]  # agents may return numbers of NumPy

    def new_of(self, start: Any) -> Callable[[], State]:
        """Return the function that begins a match from what was kept; raise `UserError` if it is invalid."""
        return self._new

    def read_move(self, value: Any) -> Move:
        """Parse a move that was kept; raise `UserError` if it is not an action of the game."""
        require(type(value) is int and 0 <= value < self.game.num_actions, f"{str(value)[:40]!r} is not a move")
        return cast(Move, value)

    def restore(self, start: Any, moves: Sequence[Any]) -> None:
        """Load the match that was kept; a refused one changes nothing, though `new_of` may set a seed."""
        before = dict(vars(self))
        try:
            self.begin(self.new_of(start), [self.read_move(value) for value in moves])
        except UserError:
            vars(self).update(before)
            raise

    def follow(self, start: Any, moves: Sequence[Any]) -> None:
        """Load a match that was kept by another tab; moves in common are not played again."""
        if start != self.start:
            self.restore(start, moves)
            return
        wanted = [self.read_move(value) for value in moves]
        common = first_difference(self.moves, wanted)
        if common < len(self.moves):
            self.cut(common)
        for move in wanted[common:]:
            self.play(move)

    def cut(self, count: int) -> None:
        """Go back to the state after `count` moves."""
        notes = self.notes[:count]
        self.begin(self._new, self.moves[:count])
        self.notes = notes

    @property
    def seat(self) -> int:
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

    def states(self) -> Iterator[State]:
        """Yield the state before each move and the latest one, replayed; each is valid until the next."""
        state = self._new()
        yield state
        for move in list(self.moves):
            state = self.apply(state, move)
            yield state

    def take_back(self) -> None:
        """Undo up to the latest move of a person, or one move if only agents play."""
        require(bool(self.moves), "there is no move to take back")
        seats = [self.game.to_move(self.at(ply)) for ply in range(len(self.moves))]
        own = [ply for ply, seat in enumerate(seats) if seat in self.human_seats or not self.human_seats]
        require(bool(own), self.no_move_message)
        self.cut(own[-1])

    def names(self) -> list[str]:
        """Return the moves in the notation of the game, or as numbers if it has none."""
        return [move_name(self.game, self.at(ply), move) for ply, move in enumerate(self.moves)]


class SeededMatch(Match[State, Move, Note]):
    """A match whose start depends on chance."""

    SEEDS = 2**32

    def __init__(self, game: Game[State], rng: np.random.Generator, human_seats: Collection[int] = ()) -> None:
        super().__init__(game, SeededMatch.new_of(self, int(rng.integers(self.SEEDS))), human_seats)

    @property
    def start(self) -> Any:
        return self.seed

    def new_of(self, start: Any) -> Callable[[], State]:
        require(type(start) is int and 0 <= start < self.SEEDS, f"{str(start)[:40]!r} is not the seed of a game")
        self.seed = start
        return lambda: self.game.initial(np.random.default_rng(start))


def move_name(game: Game[State], state: State, move: object) -> str:
    return game.move_name(state, move) if isinstance(game, NamesMoves) and isinstance(move, int) else str(move)


def first_difference(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the number of moves that two games have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))
