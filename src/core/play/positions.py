"""Batches of positions for tree search: many games at once, with the positions of all nodes of their trees."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from .game import TwoPlayerGame


Zeros = Callable[[tuple[int, ...], Any], np.ndarray]  # creates an array of a shape and dtype, like `np.zeros`


class Symmetry(NamedTuple):
    """A symmetry of the rules, as indices: the image of an array is `array.flat[index]`."""

    observation: np.ndarray  # (size of the observation,) int64
    actions: np.ndarray  # (A,) int64


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


class GamePositions:
    """A `PositionBatch` in Python, for every game."""

    def __init__(self, game: "TwoPlayerGame", count: int, nodes: int, zeros: Zeros = np.zeros) -> None:
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
        for row, (parent, action) in enumerate(zip(parents.tolist(), actions.tolist(), strict=True)):
            if parent >= 0:
                self._reach(row, node, self._game.play(self._states[row][parent], action))

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


def identity(size: int, num_actions: int) -> Symmetry:
    return Symmetry(np.arange(size), np.arange(num_actions))


def board_symmetries(shape: tuple[int, ...], num_actions: int) -> list[Symmetry]:
    """Return all reflections and rotations of planes (..., H, W), the identity first; actions are cells, too."""
    cells = np.arange(math.prod(shape)).reshape(shape)
    actions = np.arange(num_actions).reshape(-1, *shape[-2:])
    images = []
    for transposed in (False, True) if shape[-2] == shape[-1] else (False,):
        for axes in ((), (-2,), (-1,), (-2, -1)):
            turned = [np.flip(index, axes) for index in (cells, actions)]
            images.append(
                Symmetry(*(index.swapaxes(-2, -1).ravel() if transposed else index.ravel() for index in turned))
            )
    return images
