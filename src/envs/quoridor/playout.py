"""Fast playouts by players that mostly follow their shortest path and sometimes place a wall."""

from typing import Any

import numpy as np

from ..splitmix import hash_word
from .board import inlined, kernel, make, on_goal
from .evaluation import closest, is_sound, list_plausible, steps_left
from .moves import is_over

NOTHING = -1
WALL_PERCENT = 20  # of the moves, while there are walls in hand


@kernel
def play_out(board: Any, moves: np.ndarray, seed: Any) -> int:
    """Return the outcome for player 0 of a playout from the position; the board is left at its end."""
    step = np.uint64(0)
    while not is_over(board):
        step += np.uint64(1)
        random = np.int64(hash_word(seed ^ hash_word(step)) >> np.uint64(1))
        count = list_plausible(board, moves)
        pawn_moves = 0
        while pawn_moves < count and moves[pawn_moves] < board.size * board.size:
            pawn_moves += 1
        move = NOTHING
        if pawn_moves < count and random % 100 < WALL_PERCENT:
            move = moves[pawn_moves + (random // 100) % (count - pawn_moves)]
        if move == NOTHING or not is_sound(board, move):
            move = run(board, moves, pawn_moves, random // 100)
        make(board, move)
    return int(on_goal(board, 0)) - int(on_goal(board, 1))


@inlined
def run(board: Any, moves: np.ndarray, count: int, random: int) -> int:
    """Return the one of the first `count` moves, all of the pawn, that leads closest to the goal; ties are broken by
    `random`.
    """
    best, fewest = moves[0], 1 << 30
    for i in range(count):
        move = moves[(i + random) % count]
        steps = steps_left(board, move)
        if steps < fewest:
            best, fewest = move, steps
    return best


@kernel
def shortest_step(board: Any, moves: np.ndarray) -> int:
    """Return the pawn move that leads closest to the goal; the most advanced one wins ties."""
    return closest(board, moves, list_plausible(board, moves))
