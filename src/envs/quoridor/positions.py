"""The positions of many search trees, played and described by compiled code."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core.kernels import by_reference
from ...core.parallel import run_in_spans
from ...core.play.search_interface import Zeros
from .observation import write_mask, write_planes
from .rules import (
    BOARD,
    Position,
    compiled_turned,
    inlined,
    is_over,
    kernel,
    load_position,
    make,
    on_goal,
    to_positions,
    unmake,
)
from .search.evaluation import plies_to_win

GAMES_PER_THREAD = 64  # with fewer, starting a thread costs more than it saves


@by_reference
class PositionTrees(NamedTuple):
    """N trees with M nodes each. Boards stay at the root: the moves to another node are made and taken back."""

    boards: np.ndarray  # (N,) BOARD
    parents: np.ndarray  # (N, M) int16: node from which a node was reached
    moves: np.ndarray  # (N, M) int16: the move that reached it
    path: np.ndarray  # (N, M) int16, scratch: nodes from the last one up to the root
    origins: np.ndarray  # (N, M) int16, scratch: cells of the pawns before these moves
    observations: np.ndarray  # (N, C, H * W) float32
    masks: np.ndarray  # (N, A) bool
    seats: np.ndarray  # (N,) int8
    ended: np.ndarray  # (N,) bool
    outcomes: np.ndarray  # (N,) int8
    solved: np.ndarray  # (N,) int16


class QuoridorPositions:
    """A `PositionBatch` of Quoridor; threads share the games."""

    def __init__(self, board: Any, walls: int, planes: int, count: int, nodes: int, zeros: Zeros = np.zeros) -> None:
        """`board` is an empty one with the size and ply limit of the games, `planes` the number of an observation."""
        size = int(board["size"])
        self.observations = zeros((count, planes, size, size), np.float32)
        self.masks = zeros((count, size**2 + 2 * (size - 1) ** 2), np.bool_)
        self.seats, self.outcomes = np.zeros(count, np.int8), np.zeros(count, np.int8)
        self.ended, self.solved = np.zeros(count, bool), np.zeros(count, np.int16)
        self._walls = walls
        self._trees = PositionTrees(
            boards=np.zeros(count, BOARD),
            parents=np.zeros((count, nodes), np.int16),
            moves=np.zeros((count, nodes), np.int16),
            path=np.zeros((count, nodes), np.int16),
            origins=np.zeros((count, nodes), np.int16),
            observations=self.observations.reshape(count, planes, -1),
            masks=self.masks,
            seats=self.seats,
            ended=self.ended,
            outcomes=self.outcomes,
            solved=self.solved,
        )
        self._trees.boards[:] = board

    def set_roots(self, rows: Sequence[int], states: Sequence[Position]) -> None:
        for row, state in zip(rows, states, strict=True):
            load_position(self._trees.boards[row], state)
            describe_span(self._trees, self._walls, row, row + 1)

    def roots(self) -> list[Position]:
        return to_positions(self._trees.boards)

    def play(self, actions: np.ndarray) -> None:
        self._in_threads(play_span, self._trees, self._walls, actions)

    def expand(self, parents: np.ndarray, actions: np.ndarray, node: int) -> None:
        self._in_threads(expand_span, self._trees, self._walls, parents, actions, node)

    def _in_threads(self, kernel: Any, *arguments: Any) -> None:
        run_in_spans(partial(kernel, *arguments), len(self.masks), GAMES_PER_THREAD)


@kernel
def describe_span(trees: PositionTrees, walls: int, first: int, end: int) -> None:
    for i in range(first, end):
        _describe(trees, walls, i)


@kernel
def play_span(trees: PositionTrees, walls: int, actions: np.ndarray, first: int, end: int) -> None:
    for i in range(first, end):
        board = trees.boards[i]
        make(board, compiled_turned(board.size, board.ply, actions[i]))
        _describe(trees, walls, i)


@kernel
def expand_span(
    trees: PositionTrees, walls: int, parents: np.ndarray, actions: np.ndarray, node: int, first: int, end: int
) -> None:
    for i in range(first, end):
        if parents[i] >= 0:
            board, path, origins = trees.boards[i], trees.path[i], trees.origins[i]
            depth = 0
            at = parents[i]
            while at > 0:
                path[depth] = at
                at = trees.parents[i, at]
                depth += 1
            for k in range(depth - 1, -1, -1):
                origins[k] = make(board, trees.moves[i, path[k]])
            move = compiled_turned(board.size, board.ply, actions[i])
            trees.parents[i, node], trees.moves[i, node] = parents[i], move
            origin = make(board, move)
            _describe(trees, walls, i)
            unmake(board, move, origin)
            for k in range(depth):
                unmake(board, trees.moves[i, path[k]], origins[k])


@inlined
def _describe(trees: PositionTrees, walls: int, i: int) -> None:
    board = trees.boards[i]
    trees.seats[i] = board.ply & 1
    trees.ended[i] = is_over(board)
    trees.outcomes[i] = 1 if on_goal(board, 0) else (-1 if on_goal(board, 1) else 0)
    trees.solved[i] = 0 if trees.ended[i] else plies_to_win(board)
    write_mask(board, trees.masks[i])
    write_planes(board, walls, trees.observations[i])
