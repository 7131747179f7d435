"""The positions of many search trees, played and described by compiled code."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...core.kernels import by_reference
from ...core.parallel import run_in_spans
from ...core.play.search_interface import Zeros
from ..arrays import allocate
from . import rules
from .observation import write_mask, write_planes
from .rules import BOARD, Position, inlined, kernel
from .search.evaluation import plies_to_win

GAMES_PER_THREAD = 64  # with fewer, starting a thread costs more than it saves


@by_reference
class PositionTrees(NamedTuple):
    """N trees with M nodes each. Boards stay at the root: the moves to another node are made and taken back."""

    boards: Annotated[np.ndarray, BOARD, "trees"]
    parents: Annotated[np.ndarray, np.int16, "trees", "nodes"]  # node from which a node was reached
    moves: Annotated[np.ndarray, np.int16, "trees", "nodes"]  # the move that reached it
    path: Annotated[np.ndarray, np.int16, "trees", "nodes"]  # scratch: nodes from the last one up to the root
    origins: Annotated[np.ndarray, np.int16, "trees", "nodes"]  # scratch: cells of the pawns before these moves
    observations: np.ndarray  # (N, C, H * W) float32
    masks: np.ndarray  # (N, A) bool
    seats: Annotated[np.ndarray, np.int8, "trees"]
    ended: Annotated[np.ndarray, np.bool_, "trees"]
    outcomes: Annotated[np.ndarray, np.int8, "trees"]
    solved: Annotated[np.ndarray, np.int16, "trees"]


class QuoridorPositions:
    """A `PositionBatch` of Quoridor; threads share the games."""

    def __init__(self, board: Any, walls: int, planes: int, count: int, nodes: int, zeros: Zeros = np.zeros) -> None:
        """`board` is an empty one with the size and ply limit of the games, `planes` the number of an observation."""
        size = int(board["size"])
        self.observations = zeros((count, planes, size, size), np.float32)
        self.masks = zeros((count, size**2 + 2 * (size - 1) ** 2), np.bool_)
        planar = self.observations.reshape(count, planes, -1)
        sizes = {"trees": count, "nodes": nodes}
        self._trees = trees = allocate(PositionTrees, sizes, observations=planar, masks=self.masks)
        self.seats, self.ended, self.outcomes, self.solved = trees.seats, trees.ended, trees.outcomes, trees.solved
        self._walls = walls
        self._trees.boards[:] = board

    def set_roots(self, rows: Sequence[int], states: Sequence[Position]) -> None:
        for row, state in zip(rows, states, strict=True):
            rules.load_position(self._trees.boards[row], state)
            describe_span(self._trees, self._walls, row, row + 1)

    def roots(self) -> list[Position]:
        return rules.to_positions(self._trees.boards)

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
        rules.make(board, rules.compiled_turned(board.size, board.ply, actions[i]))
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
                origins[k] = rules.make(board, trees.moves[i, path[k]])
            move = rules.compiled_turned(board.size, board.ply, actions[i])
            trees.parents[i, node], trees.moves[i, node] = parents[i], move
            origin = rules.make(board, move)
            _describe(trees, walls, i)
            rules.unmake(board, move, origin)
            for k in range(depth):
                rules.unmake(board, trees.moves[i, path[k]], origins[k])


@inlined
def _describe(trees: PositionTrees, walls: int, i: int) -> None:
    board = trees.boards[i]
    trees.seats[i] = board.ply & 1
    trees.ended[i] = rules.is_over(board)
    trees.outcomes[i] = 1 if rules.on_goal(board, 0) else (-1 if rules.on_goal(board, 1) else 0)
    trees.solved[i] = 0 if trees.ended[i] else plies_to_win(board)
    write_mask(board, trees.masks[i])
    write_planes(board, walls, trees.observations[i])
