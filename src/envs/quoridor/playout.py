"""Quick games by players that mostly run and now and then place a wall in the other's way."""

from typing import Any

import numpy as np

from src.envs.quoridor.board import inlined, kernel, make, on_goal
from src.envs.quoridor.evaluation import closest, is_sound, list_plausible, steps_left
from src.envs.quoridor.moves import is_over
from src.envs.splitmix import hash_word

NOTHING = -1
WALL_PERCENT = 20  # of the moves, while there are walls in hand


@kernel
def play_out(board: Any, moves: np.ndarray, seed: Any) -> int:
    """The outcome, for player 0, of a quick game from the position; the board is left at its end."""
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
    """The one of the first `count` moves, all of the pawn, that leaves it closest to its goal; ties go by `random`."""
    best, fewest = moves[0], 1 << 30
    for i in range(count):
        move = moves[(i + random) % count]
        steps = steps_left(board, move)
        if steps < fewest:
            best, fewest = move, steps
    return best


@kernel
def shortest_step(board: Any, moves: np.ndarray) -> int:
    """The pawn move that leaves the player to move closest to its goal; of equal ones the furthest forward."""
    return closest(board, moves, list_plausible(board, moves))
