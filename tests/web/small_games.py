"""Two games without a page of their own."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from src.core.errors import UserError, require
from src.core.play.game import Game, Trait, TwoPlayerGame

SIDE = 4
LINES = [
    [(row + k * down) * SIDE + col + k * right for k in range(SIDE)]
    for row in range(SIDE)
    for col in range(SIDE)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    if row + (SIDE - 1) * down < SIDE and 0 <= col + (SIDE - 1) * right < SIDE
]


class ConnectFour(TwoPlayerGame[str]):
    """Four in a row on 4x4; a state is its cells from the top row down, an action a column."""

    traits = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC})
    num_actions = SIDE

    def initial(self, rng: np.random.Generator) -> str:
        return "." * SIDE**2

    def to_move(self, state: str) -> int:
        return (SIDE**2 - state.count(".")) % 2

    def legal_actions(self, view: str) -> list[int]:
        return [] if self.outcome(view) is not None else [col for col in range(SIDE) if view[col] == "."]

    def play(self, state: str, action: int) -> str:
        require(action in self.legal_actions(state), f"column {action} is not a legal move")
        cell = max(cell for cell in range(action, SIDE**2, SIDE) if state[cell] == ".")
        return state[:cell] + "XO"[self.to_move(state)] + state[cell + 1 :]

    def outcome(self, state: str) -> int | None:
        for stone, result in (("X", 1), ("O", -1)):
            if any(all(state[cell] == stone for cell in line) for line in LINES):
                return result
        return None if "." in state else 0

    def observe(self, view: str) -> np.ndarray:
        return np.array([view.count("X")], np.float32)

    def render(self, state: str) -> str:
        return "\n".join(state[row : row + SIDE] for row in range(0, SIDE**2, SIDE))

    def move_name(self, state: str, action: int) -> str:
        return "abcd"[action]

    def parse_move(self, state: str, text: str) -> int:
        raise UserError("there is no notation")

    def write_position(self, state: str) -> str:
        return state

    def read_position(self, text: str) -> str:
        return text


class Nim(Game[list[int], list[int]]):
    """Heaps drawn by chance and changed in place; an action takes 1 to 3 from a heap, and who takes the last wins.

    A state is the heaps, then the seat to move.
    """

    traits = frozenset({Trait.TWO_PLAYER})
    num_actions = 6

    def initial(self, rng: np.random.Generator) -> list[int]:
        return [int(rng.integers(3, 9)), int(rng.integers(3, 9)), 0]

    def to_move(self, state: list[int]) -> int:
        return state[2]

    def legal_actions(self, view: list[int]) -> list[int]:
        return [action for action in range(6) if action % 3 < view[action // 3]]

    def play(self, state: list[int], action: int) -> list[int]:
        require(action in self.legal_actions(state), f"{action} is not a legal move")
        state[action // 3] -= action % 3 + 1
        state[2] = 1 - state[2]
        return state

    def outcome(self, state: list[int]) -> int | None:
        return None if any(state[:2]) else (-1 if state[2] == 0 else 1)

    def observe(self, view: Any) -> np.ndarray:
        return np.array(view, np.float32)

    def render(self, state: list[int]) -> str:
        return "\n".join("|" * heap or "-" for heap in state[:2])


SMALL_GAMES: Mapping[str, Callable[[], Game]] = {"connect_four": ConnectFour, "nim": Nim}
