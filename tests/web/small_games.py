"""A game without a page of its own."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from src.core.errors import require
from src.core.play.game import Game, Trait


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


SMALL_GAMES: Mapping[str, Callable[[], Game]] = {"nim": Nim}
