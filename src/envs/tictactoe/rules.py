"""Tic-tac-toe. A position is its own key: nine characters, "X", "O" or "." for an empty cell.

 0 | 1 | 2
---+---+---
 3 | 4 | 5      X moves first, in seat 0
---+---+---
 6 | 7 | 8
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from ...core.errors import UserError
from ...core.play.game import Canonical, TabularGame, Trait
from ...core.play.search_interface import Symmetry, board_symmetries
from . import symmetry

EMPTY, STONES = ".", "XO"
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


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
        return [] if _outcome(state) is not None else [cell for cell in range(9) if state[cell] == EMPTY]


class TicTacToe(TabularGame[str]):
    traits = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC, Trait.ENUMERABLE})
    num_actions = 9

    def __init__(self, symmetric: bool) -> None:
        """If `symmetric`, symmetric positions share one table key."""
        self.symmetric = symmetric
        self.table_format = "tictactoe, mirror images together" if symmetric else "tictactoe, every position by itself"

    def initial(self, rng: np.random.Generator) -> str:
        return EMPTY * 9

    def to_move(self, state: str) -> int:
        return (9 - state.count(EMPTY)) % 2

    def legal_actions(self, view: str) -> list[int]:
        return list(_legal(view))

    def play(self, state: str, action: int) -> str:
        if action not in _legal(state):
            raise UserError(f"{action} is not a legal move in {state}: legal are {list(_legal(state))}")
        return state[:action] + STONES[self.to_move(state)] + state[action + 1 :]

    def outcome(self, state: str) -> int | None:
        return _outcome(state)

    def canonical(self, state: str) -> Canonical:
        return symmetry.canonical(state) if self.symmetric else symmetry.as_is(state)

    def observe(self, view: str) -> np.ndarray:
        """Return planes (2, 3, 3): the stones of the player to move, then the opponent's."""
        return _planes(view).copy()

    def symmetries(self) -> list[Symmetry]:
        return board_symmetries((2, 3, 3), self.num_actions)

    def render(self, state: str) -> str:
        return "\n".join(" ".join(state[row : row + 3]) for row in (0, 3, 6))

    def image(self, state: str) -> np.ndarray:
        from . import image  # Pillow, needed for pictures only

        return image.draw(state, [line for line in LINES if _is_completed(state, line)])

    def move_name(self, state: str, action: int) -> str:
        return str(action)

    def parse_move(self, state: str, text: str) -> int:
        if text not in map(str, _legal(state)):
            raise UserError(f"{text} is not a legal move here: legal are {' '.join(map(str, _legal(state))) or 'none'}")
        return int(text)

    def write_position(self, state: str) -> str:
        return state

    def read_position(self, text: str) -> str:
        return BoardEncoding.to_state_key(text)


# Cached: there are only 5,478 positions.
@cache
def _outcome(state: str) -> int | None:
    for line in LINES:
        if _is_completed(state, line):
            return 1 if state[line[0]] == STONES[0] else -1
    return None if EMPTY in state else 0


def _is_completed(state: str, line: tuple[int, int, int]) -> bool:
    a, b, c = line
    return state[a] != EMPTY and state[a] == state[b] == state[c]


@cache
def _legal(state: str) -> tuple[int, ...]:
    return () if _outcome(state) is not None else tuple(cell for cell in range(9) if state[cell] == EMPTY)


@cache
def _planes(state: str) -> np.ndarray:
    mine = STONES[(9 - state.count(EMPTY)) % 2]
    cells = np.array(list(state)).reshape(3, 3)
    return np.stack([cells == mine, (cells != mine) & (cells != EMPTY)]).astype(np.float32)
