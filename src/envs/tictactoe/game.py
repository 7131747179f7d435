"""Tic-tac-toe as a game, with tables by position and planes for networks."""

from functools import cache

import numpy as np

from ...core.play.game import Canonical, TabularGame, Trait
from ...core.play.search_interface import Symmetry, board_symmetries
from . import rules
from .rules import EMPTY, STONES, TRANSFORMS, BoardEncoding, legal_cells


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
        return rules.seat_to_move(state)

    def legal_actions(self, view: str) -> list[int]:
        return list(legal_cells(view))

    def play(self, state: str, action: int) -> str:
        return rules.play(state, action)

    def outcome(self, state: str) -> int | None:
        return rules.outcome(state)

    def canonical(self, state: str) -> Canonical:
        return _canonical(state) if self.symmetric else Canonical(state, "Identity", TRANSFORMS["Identity"])

    def observe(self, view: str) -> np.ndarray:
        """Return planes (2, 3, 3): the stones of the player to move, then the opponent's."""
        return _planes(view).copy()

    def symmetries(self) -> list[Symmetry]:
        return board_symmetries((2, 3, 3), self.num_actions)

    def render(self, state: str) -> str:
        return "\n".join(" ".join(state[row : row + 3]) for row in (0, 3, 6))

    def image(self, state: str) -> np.ndarray:
        from . import image  # Pillow, needed for pictures only

        return image.draw(state, rules.completed_lines(state))

    def move_name(self, state: str, action: int) -> str:
        return str(action)

    def write_position(self, state: str) -> str:
        return state

    def read_position(self, text: str) -> str:
        return BoardEncoding.to_state_key(text)


@cache
def _canonical(state: str) -> Canonical:
    """Return the lexicographically smallest image, and the first transform that leads to it."""
    images = (Canonical(rules.apply(moves, state), name, moves) for name, moves in TRANSFORMS.items())
    return min(images, key=lambda image: image.key)


@cache
def _planes(state: str) -> np.ndarray:
    mine = STONES[rules.seat_to_move(state)]
    cells = np.array(list(state)).reshape(3, 3)
    return np.stack([cells == mine, (cells != mine) & (cells != EMPTY)]).astype(np.float32)
