"""A perfect player of Connect Four on 6x7: alpha-beta over sets of bits, with a transposition table.

The layout of the bits is that of `src.envs.connect_four.rules`. After twelve plies a position takes milliseconds.
"""

import numpy as np
from numba import njit

ROWS, COLS = 6, 7
COLUMN = ROWS + 1  # bits of a column, one of which stays empty
BOTTOM = sum(1 << col * COLUMN for col in range(COLS))
FULL = BOTTOM * ((1 << ROWS) - 1)
FROM_CENTER = np.array([3, 2, 4, 1, 5, 0, 6])
TABLE_SIZE = (1 << 22) - 3  # entries, an odd number
LOWER, UPPER, EXACT = 1, 2, 3  # bounds


def table() -> np.ndarray:
    """Return an empty transposition table: rows of a key, and of (value + 1) << 2 | bound."""
    return np.zeros((TABLE_SIZE, 2), np.int64)


@njit(cache=True)
def has_line(stones: int) -> bool:
    for step in (1, ROWS, ROWS + 1, ROWS + 2):
        pairs = stones & (stones >> step)
        if pairs & (pairs >> 2 * step):
            return True
    return False


@njit(cache=True)
def dropped(taken: int, col: int) -> int:
    """Return the bit of a stone dropped into a column, 0 if it is full."""
    return (taken + (1 << col * COLUMN)) & (((1 << ROWS) - 1) << col * COLUMN)


@njit(cache=True)
def solve(own: int, taken: int, alpha: int, beta: int, entries: np.ndarray) -> int:
    """Return 1, 0 or -1 if the player to move wins, draws or loses, as far as between `alpha` and `beta`.

    `own` are the stones of the player to move, `taken` all stones; the game is not over.
    """
    if taken == FULL:
        return 0
    for col in range(COLS):
        stone = dropped(taken, col)
        if stone and has_line(own | stone):
            return 1
    key = taken + own + BOTTOM
    slot, first_alpha = key % TABLE_SIZE, alpha
    if entries[slot, 0] == key:
        bound, value = entries[slot, 1] & 3, (entries[slot, 1] >> 2) - 1
        if bound == EXACT or (bound == LOWER and value >= beta) or (bound == UPPER and value <= alpha):
            return value
    best = -1
    for col in FROM_CENTER:
        stone = dropped(taken, col)
        if not stone:
            continue
        best = max(best, -solve(taken ^ own, taken | stone, -beta, -alpha, entries))
        alpha = max(alpha, best)
        if alpha >= beta:
            break
    entries[slot, 0] = key
    entries[slot, 1] = (best + 1) << 2 | (LOWER if best >= beta else UPPER if best <= first_alpha else EXACT)
    return best


def move_values(own: int, taken: int, entries: np.ndarray) -> dict[int, int]:
    """Return the value of every legal column for the player to move."""
    values = {}
    for col in range(COLS):
        stone = dropped(taken, col)
        if stone:
            won = has_line(own | stone)
            values[col] = 1 if won else -int(solve(taken ^ own, taken | stone, -1, 1, entries))
    return values
