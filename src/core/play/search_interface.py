"""What games offer to searches and what searches return: alpha-beta to a depth, and tree search over many games."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import require
from ..ranges import NonNegativeInt, check_fields

WIN = 1_000_000  # the score of a won position; a win n plies away is worth n less
QUIET_PLIES = 2  # how far a selective search follows threats beyond its depth
DECIDED = 900_000  # scores of greater magnitude are proven wins and losses
UNLIMITED_PLIES = 99_999  # longer than any game
MAX_FACTOR = 100  # magnitude of the factors of every game
_WORD = (1 << 64) - 1

Zeros = Callable[[tuple[int, ...], Any], np.ndarray]  # creates an array of a shape and dtype, like `np.zeros`


@dataclass(frozen=True)
class SearcherConfig:
    """Static evaluation at the leaves, and pruning."""

    weights: Mapping[str, int]  # of the game's factors, by name
    noise: NonNegativeInt  # largest random error of the evaluation
    seed: int  # of that noise
    selective: bool  # search only moves that gain something, extend lines by threats, and use `TwoPlayerGame.solved`
    waiting_plies: NonNegativeInt  # from this ply on, a selective search does not wait
    fastest_win: bool  # the nearest win is the best one; False: all are equal

    def __post_init__(self) -> None:
        check_fields(self)
        largest = MAX_FACTOR * sum(abs(weight) for weight in self.weights.values()) + self.noise
        require(
            largest <= DECIDED,
            f"with these weights and noise={self.noise} a score could reach {largest}, but scores above {DECIDED} mean "
            f"a proven win: {MAX_FACTOR} times the sum of all weights plus the noise must be <= {DECIDED}",
        )

    @property
    def ply_cost(self) -> int:
        """Points that a win loses with every ply."""
        return int(self.fastest_win)


class SearchResult(NamedTuple):
    score: int  # for the player to move
    line: tuple[int, ...]  # principal variation; empty if there is no move
    nodes: int  # positions visited
    settled: bool  # every line reached the end of the game, so a deeper search finds nothing new


class DepthResult(NamedTuple):
    """The result of iterative deepening after a finished depth."""

    depth: int
    score: int  # for the player to move
    line: tuple[int, ...]  # principal variation
    nodes: int  # since the search began
    seconds: float


class Searcher(Protocol):
    """A search to a depth. Its result depends on the position, the depth and `first` only, not on earlier calls.

    Among equally good moves it chooses `first`, then the order of the candidates.
    """

    def search(self, state: Any, depth: int, first: int | None, node_limit: int) -> SearchResult | None:
        """Search an unfinished position to `depth` >= 1 plies; return None if `node_limit` is exceeded."""


def noise_at(key: int, noise: int, seed: int) -> int:
    """Return the evaluation noise of a position: uniform in -noise..noise, a function of key and seed."""
    return splitmix64(key ^ splitmix64(seed)) % (2 * noise + 1) - noise


def splitmix64(word: int) -> int:
    """Return a 64-bit hash (SplitMix64, Steele, Lea & Flood 2014)."""
    word = (word + 0x9E3779B97F4A7C15) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


def score_text(score: int) -> str:
    """Return a score as a number, or a proven result with the plies to it."""
    if abs(score) <= DECIDED:
        return str(score)
    return f"win-in-{WIN - score}" if score > 0 else f"loss-in-{WIN + score}"


def parse_score(text: str) -> int:
    """Return the score of a `score_text`."""
    result, _, number = text.rpartition("-in-")
    return {"": 0, "win": WIN, "loss": -WIN}[result] + int(number) * (-1 if result == "win" else 1)


def parent_score(score: int, ply_cost: int = 1) -> int:
    """Convert the score after a move to that of the position before it: negate, and take `ply_cost` from a win."""
    if score > DECIDED:
        return ply_cost - score
    return -ply_cost - score if score < -DECIDED else -score


class PositionBatch(Protocol):
    """The positions in the trees of N games. Node 0 of a tree is its root, the position of the game.

    Every method describes the positions that it reaches in the arrays below. A finished position has no legal actions
    and any observation.
    """

    observations: np.ndarray  # (N, ...)
    masks: np.ndarray  # (N, A) bool: legal actions
    seats: np.ndarray  # (N,) int8: the player to move
    ended: np.ndarray  # (N,) bool: the game is over
    outcomes: np.ndarray  # (N,) int8 for seat 0; 0 while the game continues
    solved: np.ndarray  # (N,) int16: plies to a forced win as by `TwoPlayerGame.solved`; 0 if unknown or over

    def set_roots(self, rows: Sequence[int], states: Sequence[Any]) -> None:
        """Set the positions of some games."""

    def roots(self) -> list[Any]:
        """Return the position of every game."""

    def play(self, actions: np.ndarray) -> None:
        """Play a legal action (N,) in every game."""

    def expand(self, parents: np.ndarray, actions: np.ndarray, node: int) -> None:
        """Reach node number `node` of every tree by a legal action (N,) from the nodes `parents` (N,).

        Nothing happens in the trees with a negative parent.
        """


class Symmetry(NamedTuple):
    """A symmetry of the rules, as indices: the image of an array is `array.flat[index]`."""

    observation: np.ndarray  # (size of the observation,) int64
    actions: np.ndarray  # (A,) int64


def identity(size: int, num_actions: int) -> Symmetry:
    return Symmetry(np.arange(size), np.arange(num_actions))


def board_symmetries(shape: tuple[int, ...], num_actions: int) -> list[Symmetry]:
    """Return all reflections and rotations of planes (..., H, W), the identity first.

    Actions are cells, of one kind after the other; those after the last whole board, such as a pass, map to themselves.
    """
    cells = np.arange(math.prod(shape)).reshape(shape)
    on_board = num_actions - num_actions % math.prod(shape[-2:])
    actions, others = np.arange(on_board).reshape(-1, *shape[-2:]), np.arange(on_board, num_actions)
    images = []
    for transposed in (False, True) if shape[-2] == shape[-1] else (False,):
        for axes in ((), (-2,), (-1,), (-2, -1)):
            turned = [np.flip(index, axes) for index in (cells, actions)]
            image, moves = (index.swapaxes(-2, -1).ravel() if transposed else index.ravel() for index in turned)
            images.append(Symmetry(image, np.concatenate([moves, others])))
    return images
