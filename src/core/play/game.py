"""Interfaces of games, used by agents, environments and search."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, runtime_checkable

import numpy as np
from typing_extensions import TypeVar

from ..errors import UserError, require
from ..seeding import draw
from .capabilities import AuxTask
from .search_interface import (
    UNLIMITED_PLIES,
    PositionBatch,
    Searcher,
    SearcherConfig,
    Symmetry,
    Zeros,
    board_symmetries,
    identity,
)

State = TypeVar("State", default=Any)
View = TypeVar("View", default=Any)  # what the player to move may know of a state


class Trait(StrEnum):
    """Properties that games declare and agents require; the value completes "it needs a game ..."."""

    ONE_PLAYER = "with one player"
    TWO_PLAYER = "with two players"
    PERFECT_INFORMATION = "with perfect information"
    DETERMINISTIC = "without chance"
    ENUMERABLE = "small enough to visit every position"
    LEARNED_EVALUATION = "with a compiled search that has a learned evaluation"  # see `LearnedEvaluation`


class Game(ABC, Generic[State, View]):
    """The rules of a game. Seats are 0 (moves first) and 1; actions are integers below `num_actions`.

    `play` may modify a state in place, so use only the state that it returns. The states of a `TwoPlayerGame` are
    immutable.
    """

    traits: ClassVar[frozenset[Trait]]
    mirrored: ClassVar[bool] = False  # invariant under reflections of the board; actions are cells, then others
    aux_task: ClassVar[AuxTask | None] = None  # a property of each cell for networks to predict
    has_coded_labels: ClassVar[bool] = False  # boards that a teacher labels are codes of cells, whatever is observed
    num_actions: int
    has_coded_cells: bool = False  # observations are codes of cells, which networks must not read as quantities
    observation_range: tuple[float, float] = (0.0, 1.0)  # of all values that `observe` returns

    @property
    def players(self) -> int:
        return 2 if Trait.TWO_PLAYER in self.traits else 1

    @abstractmethod
    def initial(self, rng: np.random.Generator) -> State:
        """Return the initial state; all chance of the game is drawn from `rng`."""

    @abstractmethod
    def to_move(self, state: State) -> int:
        """Return the seat of the player to move."""

    @abstractmethod
    def legal_actions(self, view: View) -> list[int]:
        """Return the legal actions in ascending order; none once the game is over."""

    @abstractmethod
    def play(self, state: State, action: int) -> State:
        """Return the state after a legal action; an illegal one raises `UserError` and changes nothing."""

    def play_batch(self, states: Sequence[State], actions: Sequence[int]) -> list[State]:
        """Return the states of several games after an action each; a compiled one makes batches of games faster."""
        return [self.play(state, action) for state, action in zip(states, actions, strict=True)]

    @abstractmethod
    def outcome(self, state: State) -> int | None:
        """Return +1, 0 or -1 if seat 0 won, drew or lost, None while the game is in progress; 0 if it was aborted."""

    def is_aborted(self, state: State) -> bool:
        """Return whether a finished game could not be played to a result; it counts as aborted, not as a draw."""
        return False

    @abstractmethod
    def observe(self, view: View) -> np.ndarray:
        """Return the observation of a view for a network."""

    @abstractmethod
    def render(self, state: State) -> str:
        """Return the position as text for humans."""

    def image(self, state: State) -> np.ndarray:
        """Return a picture of what the player may see, (H, W, 3) uint8; by default the text of `render`."""
        from .canvas import text_image  # Pillow, needed for pictures only

        return text_image(self.render(state))

    def view(self, state: State) -> View:
        """Return what the player to move can see; with perfect information the state itself."""
        return state  # type: ignore[return-value]  # games with hidden information override it

    def episode_metrics(self, state: State) -> dict[str, float]:
        """Return metrics of a finished game, besides the outcome, to average over the games that have them."""
        return {}

    def group(self, state: State) -> str | None:
        """Return the kind of start of a game, to report results separately; None for no groups."""
        return None

    def sensible_mask(self, view: View) -> np.ndarray:
        """Return `random_actions` as a mask, (A,) bool."""
        mask = np.zeros(self.num_actions, np.bool_)
        mask[self.random_actions(view)] = True
        return mask

    def check_trained(self, env: Any) -> None:
        """Raise `UserError` if a network cannot play here that was trained in the environment of this configuration.

        `env` comes from a saved run, so it may be anything; None if the network is not of such a run.
        """

    def is_open(self, state: State, action: int) -> bool:
        """Return whether an action planned ahead still has an effect; for one-player games only."""
        return action in self.legal_actions(self.view(state))

    def random_actions(self, view: View) -> list[int]:
        """Return the legal actions for a random player, without pointless ones."""
        return self.legal_actions(view)

    def fixed_starts(self, path: Path) -> list[State]:
        """Read initial states from a file, to compare agents on the same games."""
        raise UserError(f"{type(self).__name__} has no fixed starting positions: leave out boards={path}")


@runtime_checkable
class NamesMoves(Protocol):
    """A game with a text notation of moves."""

    def move_name(self, state: Any, action: int) -> str:
        """Return one word, unique among the legal actions."""


def require_declared(game: Game) -> None:
    """Raise `UserError` if a game does not declare what every game has to."""
    name, actions = type(game).__name__, getattr(game, "num_actions", 0)
    require(actions > 0, f"{name} has no num_actions: set it to the number of its actions")
    players = {Trait.ONE_PLAYER, Trait.TWO_PLAYER} & getattr(game, "traits", frozenset())
    require(len(players) == 1, f"the traits of {name} must have one of Trait.ONE_PLAYER and Trait.TWO_PLAYER")


def outcome_for_seat(seat: int, outcome: int) -> int:
    """Convert an outcome between the perspectives of seat 0 and of `seat`, in either direction."""
    return outcome if seat == 0 else -outcome


class Canonical(NamedTuple):
    """The representative of a position under the symmetries of the board."""

    key: str
    transform: str  # the name of the symmetry used
    moves: tuple[int, ...]  # moves[action] is that action in the canonical position


class TwoPlayerGame(Game[State, State]):
    """A game for the line protocol and for search: states are hashable values, moves and positions have a notation."""

    @abstractmethod
    def move_name(self, state: State, action: int) -> str: ...

    def parse_move(self, state: State, text: str) -> int:
        """Return the legal action that a text names; anything else raises `UserError`."""
        names = {self.move_name(state, action): action for action in self.legal_actions(state)}
        if text not in names:
            raise UserError(f"{text} is not a legal move here: legal are {' '.join(names) or 'none'}")
        return names[text]

    def line_names(self, state: State, actions: Sequence[int]) -> list[str]:
        """Return the names of a sequence of actions."""
        names = []
        for action in actions:
            names.append(self.move_name(state, action))
            state = self.play(state, action)
        return names

    @abstractmethod
    def write_position(self, state: State) -> str:
        """Return the position as one line of text, the inverse of `read_position`."""

    @abstractmethod
    def read_position(self, text: str) -> State:
        """Parse a position; an invalid one raises `UserError`."""

    def perft(self, state: State, depth: int) -> int:
        """Count the move sequences of `depth` plies."""
        if depth == 0:
            return 1
        actions = self.legal_actions(state)
        return len(actions) if depth == 1 else sum(self.perft(self.play(state, a), depth - 1) for a in actions)

    # Used by search. The defaults work for every game; overriding them makes the search stronger or faster.

    def candidates(self, state: State, selective: bool, waiting_plies: int = UNLIMITED_PLIES) -> list[int]:
        """Return the actions to search, most promising first; `selective` limits them to moves that gain something, and
        from the ply `waiting_plies` on excludes moves that only wait.
        """
        return self.legal_actions(state)

    def threats(self, state: State) -> list[int]:
        """Return the actions that a quiescence search must follow before it evaluates a position."""
        return []

    def factors(self, state: State) -> dict[str, int]:
        """Return evaluation features of an unfinished position for the player to move; a search adds them weighted."""
        return {}

    def solved(self, state: State) -> int | None:
        """Return the plies to a forced win from an unfinished position, negative if the player to move loses; None if
        unknown without a search.
        """
        return None

    def position_key(self, state: State) -> int:
        """Return a 64-bit hash of the position, independent of the moves that led to it."""
        return int.from_bytes(hashlib.blake2b(repr(state).encode(), digest_size=8).digest())

    def searcher(self, config: SearcherConfig) -> Searcher | None:
        """Return the compiled search of this game, if it has one."""
        return None

    def positions(self, count: int, nodes: int, zeros: Zeros = np.zeros) -> PositionBatch:
        """Return the trees of `count` games with at most `nodes` positions each; a compiled batch makes search faster.

        `set_roots` must be called before any other method. `zeros` creates the observations and masks: a network on a
        GPU reads them faster from page-locked memory.
        """
        return GamePositions(self, count, nodes, zeros)

    def symmetries(self) -> list[Symmetry]:
        """Return the symmetries of the rules, the identity first; learning uses them for data augmentation."""
        observation = self.observe(self.initial(np.random.default_rng(0)))
        if self.mirrored:
            return board_symmetries(observation.shape, self.num_actions)
        return [identity(observation.size, self.num_actions)]

    def playout(self, state: State, rng: np.random.Generator) -> int:
        """Return the outcome of a random game from here."""
        while (outcome := self.outcome(state)) is None:
            state = self.play(state, draw(rng, self.random_actions(state)))
        return outcome


class GamePositions:
    """A `PositionBatch` in Python, for every game."""

    def __init__(self, game: TwoPlayerGame, count: int, nodes: int, zeros: Zeros = np.zeros) -> None:
        self._game = game
        start = game.initial(np.random.default_rng(0))
        self._states = [[start] * nodes for _ in range(count)]
        observation = game.observe(start)
        self.observations = zeros((count, *observation.shape), observation.dtype)
        self.masks = zeros((count, game.num_actions), np.bool_)
        self.seats, self.outcomes = np.zeros(count, np.int8), np.zeros(count, np.int8)
        self.ended, self.solved = np.zeros(count, bool), np.zeros(count, np.int16)

    def set_roots(self, rows: Sequence[int], states: Sequence[Any]) -> None:
        for row, state in zip(rows, states, strict=True):
            self._reach(row, 0, state)

    def roots(self) -> list[Any]:
        return [states[0] for states in self._states]

    def play(self, actions: np.ndarray) -> None:
        self.expand(np.zeros(len(actions), np.int64), actions, 0)

    def expand(self, parents: np.ndarray, actions: np.ndarray, node: int) -> None:
        rows = np.flatnonzero(parents >= 0).tolist()
        reached = self._game.play_batch([self._states[row][parents[row]] for row in rows], actions[rows].tolist())
        for row, state in zip(rows, reached, strict=True):
            self._reach(row, node, state)

    def _reach(self, row: int, node: int, state: Any) -> None:
        game = self._game
        self._states[row][node] = state
        outcome = game.outcome(state)
        self.seats[row], self.ended[row] = game.to_move(state), outcome is not None
        self.outcomes[row] = outcome or 0
        self.masks[row], self.solved[row] = False, 0
        if outcome is None:
            self.solved[row] = game.solved(state) or 0
            self.masks[row, game.legal_actions(state)] = True
            self.observations[row] = game.observe(state)


class TabularGame(TwoPlayerGame[State]):
    """A game small enough for a Q-table; the key of a position is its canonical image, by `write_position`."""

    table_format: str  # identifies the game and its keys; a table of another format cannot be used

    @abstractmethod
    def canonical(self, state: State) -> Canonical: ...
