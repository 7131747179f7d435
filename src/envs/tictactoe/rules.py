"""Tic-tac-toe. A position is its own key: nine characters, "X", "O" or "." for an empty cell.

 0 | 1 | 2
---+---+---
 3 | 4 | 5      X moves first, in seat 0
---+---+---
 6 | 7 | 8

Results are cached, because there are only 5,478 positions.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from ...core.errors import UserError

EMPTY, STONES = ".", "XO"
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def seat_to_move(state: str) -> int:
    return (9 - state.count(EMPTY)) % 2


def completed_lines(state: str) -> list[tuple[int, int, int]]:
    return [(a, b, c) for a, b, c in LINES if state[a] != EMPTY and state[a] == state[b] == state[c]]


@cache
def outcome(state: str) -> int | None:
    """Return 1 if X has won, -1 if O has, 0 for a draw, None while the game continues."""
    for line in completed_lines(state):
        return 1 if state[line[0]] == STONES[0] else -1
    return None if EMPTY in state else 0


@cache
def legal_cells(state: str) -> tuple[int, ...]:
    return () if outcome(state) is not None else tuple(cell for cell in range(9) if state[cell] == EMPTY)


def play(state: str, cell: int) -> str:
    if cell not in legal_cells(state):
        raise UserError(f"{cell} is not a legal move in {state}: legal are {list(legal_cells(state))}")
    return state[:cell] + STONES[seat_to_move(state)] + state[cell + 1 :]


class BoardEncoding:
    """Boards as sequences of nine strings: "X", "O", and "" or "." for an empty cell."""

    @staticmethod
    def to_state_key(board: Sequence[str]) -> str:
        cells = [cell or EMPTY for cell in board]
        if len(cells) != 9 or not set(cells) <= {*STONES, EMPTY}:
            raise UserError(f'a board has nine cells "X", "O" or "", not {list(board)}')
        if cells.count("X") - cells.count("O") not in (0, 1):
            raise UserError(f"{''.join(cells)} is not reachable: X moves first and turns alternate")
        return "".join(cells)

    @staticmethod
    def get_legal_moves(board: Sequence[str]) -> list[int]:
        """Return the empty cells in ascending order; an empty list once the game is won."""
        state = BoardEncoding.to_state_key(board)
        return list(legal_cells(state))


# Symmetries

_CELLS = np.arange(9).reshape(3, 3)

# A transform T moves the stone on cell m to cell T[m].
#
#   0 1 2   Rot90   6 3 0
#   3 4 5  ------>  7 4 1   so Rot90[0] = 2, Rot90[6] = 0
#   6 7 8           8 5 2
_ARRANGEMENTS = {  # ARRANGEMENT[cell] is the old cell of the stone that is now on `cell`
    "Identity": _CELLS,
    "Rot90": np.rot90(_CELLS, -1),
    "Rot180": np.rot90(_CELLS, 2),
    "Rot270": np.rot90(_CELLS),
    "FlipVertical": np.flipud(_CELLS),
    "FlipHorizontal": np.fliplr(_CELLS),
    "FlipMainDiagonal": _CELLS.T,
    "FlipAntiDiagonal": np.rot90(_CELLS, 2).T,
}
TRANSFORMS: dict[str, tuple[int, ...]] = {
    name: tuple(int(cell) for cell in np.argsort(arrangement.ravel())) for name, arrangement in _ARRANGEMENTS.items()
}


def inverse(moves: tuple[int, ...]) -> tuple[int, ...]:
    """Return the inverse permutation: inverse(T)[T[m]] == m."""
    return tuple(int(cell) for cell in np.argsort(moves))


def apply(moves: tuple[int, ...], state: str) -> str:
    return "".join(state[cell] for cell in inverse(moves))
