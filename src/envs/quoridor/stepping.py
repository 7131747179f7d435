"""One compiled step of many games: the learner's move, the opponent's reply, reward and observation."""

from typing import Any, NamedTuple

import numpy as np

from ...core.kernels import by_reference
from ..splitmix import below, next_word
from .board import ZERO, inlined, kernel, make, on_goal, set_up
from .moves import is_over, list_legal
from .paths import distance
from .planes import write_mask, write_planes
from .playout import shortest_step

NO_ACTION = -1
_11, _53_BITS = np.uint64(11), 1.0 / (1 << 53)

GAME = np.dtype(
    [
        ("random", np.uint64),  # generator state of seats and exploring opponents
        ("seat", np.int64),  # the learner's
        (
            "explore",
            np.float64,
        ),  # fraction of random moves of the opponent
        ("potential", np.float64),  # when the learner was last to move
        ("reward", np.float64),  # this and the next four are of the last step
        ("ended", np.bool_),
        ("outcome", np.int64),  # for the learner, 0 unless a game ended
        ("answer", np.int64),  # the opponent's reply, or NO_ACTION if the game was over
        ("opening", np.int64),  # the opponent's first move of a new game, or NO_ACTION
    ],
    align=True,
)


@by_reference
class Buffers(NamedTuple):
    boards: np.ndarray  # (N,) BOARD
    games: np.ndarray  # (N,) GAME
    observations: np.ndarray  # (N, C, H * W) float32
    final_observations: np.ndarray  # (N, C, H * W) float32: of games that ended in this step
    masks: np.ndarray  # (N, A) bool
    moves: np.ndarray  # (N, MAX_MOVES) int64, scratch


@by_reference
class Setup(NamedTuple):
    walls: int  # per player at the start
    first_seat: int
    seats: int  # 1, or 2 to draw one for each game
    explore: float  # smallest fraction of random moves of the opponent
    explore_most: float  # ... and largest; drawn between both for each game
    win: float
    draw: float
    loss: float
    path: float  # reward per step of lead, see `PathReward`


@kernel
def step_some(buffers: Buffers, setup: Setup, actions: np.ndarray, first: int, end: int) -> None:
    """Play an action in each game from `first` to before `end`; a game that ends is followed by a new one."""
    for i in range(first, end):
        board, game = buffers.boards[i], buffers.games[i]
        make(board, as_move(board, actions[i]))
        game.answer = game.opening = NO_ACTION
        if not is_over(board):
            game.answer = _opponent_moves(board, game, buffers.moves[i])
        _settle(board, game, setup)
        if game.ended:
            write_planes(board, setup.walls, buffers.final_observations[i])
            _begin(board, game, setup, buffers.moves[i])
        _show(buffers, setup, i)


@kernel
def restart_some(buffers: Buffers, setup: Setup, first: int, end: int) -> None:
    for i in range(first, end):
        _begin(buffers.boards[i], buffers.games[i], setup, buffers.moves[i])
        _show(buffers, setup, i)


@kernel
def show_some(buffers: Buffers, setup: Setup, first: int, end: int) -> None:
    for i in range(first, end):
        _show(buffers, setup, i)


@inlined
def as_move(board: Any, action: int) -> int:
    """Convert an action of the player to move to a move on the board, or back: compiled `Quoridor.turned`."""
    if board.ply & 1 == 0:
        return action
    cells, walls = board.size * board.size, (board.size - 1) * (board.size - 1)
    if action < cells:
        return cells - 1 - action
    kind = (action - cells) // walls
    return cells + (2 * kind + 1) * walls - 1 - (action - cells)


@inlined
def _uniform(source: Any) -> float:
    """Return a number in [0, 1)."""
    return (next_word(source) >> _11) * _53_BITS


@inlined
def _opponent_moves(board: Any, game: Any, moves: np.ndarray) -> int:
    """Make a move of the opponent and return it as an action of the opponent."""
    explores = game.explore > 0 and _uniform(game) < game.explore
    move = moves[below(game, list_legal(board, moves))] if explores else shortest_step(board, moves)
    action = as_move(board, move)
    make(board, move)
    return action


@inlined
def _settle(board: Any, game: Any, setup: Setup) -> None:
    """Compiled version of `Match.collect_reward`."""
    before = game.potential
    game.ended = is_over(board)
    game.outcome = 0
    if not game.ended:
        game.potential = _potential(board, game.seat, setup)
        game.reward = game.potential - before
        return
    game.potential = 0.0
    if on_goal(board, game.seat):
        game.outcome = 1
    elif on_goal(board, 1 - game.seat):
        game.outcome = -1
    outcome_reward = setup.win if game.outcome == 1 else (setup.loss if game.outcome == -1 else setup.draw)
    game.reward = outcome_reward - before


@inlined
def _potential(board: Any, seat: int, setup: Setup) -> float:
    if setup.path == 0:
        return 0.0
    return setup.path * (distance(board, 1 - seat) - distance(board, seat))


@inlined
def _begin(board: Any, game: Any, setup: Setup, moves: np.ndarray) -> None:
    """Start a new game; if the learner is second, the opponent moves."""
    start = board.size // 2
    pawns, left = (start, board.size * board.size - 1 - start), (setup.walls, setup.walls)
    set_up(board, ZERO, ZERO, pawns, left, 0)
    game.seat = setup.first_seat + (below(game, 2) if setup.seats == 2 else 0)
    game.explore = setup.explore
    if setup.explore_most > setup.explore:
        game.explore += (setup.explore_most - setup.explore) * _uniform(game)
    game.opening = _opponent_moves(board, game, moves) if game.seat == 1 else NO_ACTION
    game.potential = _potential(board, game.seat, setup)


@inlined
def _show(buffers: Buffers, setup: Setup, i: int) -> None:
    """Write the observation and the legal actions of the player to move."""
    write_planes(buffers.boards[i], setup.walls, buffers.observations[i])
    write_mask(buffers.boards[i], buffers.masks[i])
