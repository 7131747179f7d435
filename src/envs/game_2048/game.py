"""2048 as a game for one player, who has won when a tile of the goal is made; an action is a direction."""

from typing import Annotated

import numpy as np

from ...core.errors import require
from ...core.play.game import Game, Trait
from ...core.ranges import Bounds
from . import rules
from .rules import MOVES, Board


class Game2048(Game[Board, Board]):
    traits = frozenset({Trait.ONE_PLAYER, Trait.PERFECT_INFORMATION})
    num_actions = len(MOVES)

    def __init__(self, size: Annotated[int, Bounds(ge=2, le=8)], goal: Annotated[int, Bounds(ge=8, le=2**17)]) -> None:
        """`size` is the number of rows and columns; `goal` is the tile that wins and ends the game."""
        require(goal.bit_count() == 1, f"goal={goal} is not a tile: choose a power of 2, such as 2048")
        self.size, self.goal = size, goal.bit_length() - 1

    def initial(self, rng: np.random.Generator) -> Board:
        empty = Board((0,) * self.size**2, 0, int(rng.integers(2**63)))
        return rules.add_tile(rules.add_tile(empty))

    def view(self, state: Board) -> Board:
        return state._replace(seed=0)

    def to_move(self, state: Board) -> int:
        return 0

    def slides(self, view: Board) -> dict[int, tuple[tuple[int, ...], int]]:
        """Return the tiles after each legal move, before a new one, and the sum of the tiles that it makes."""
        return {} if max(view.tiles) >= self.goal else rules.slides(self.size, view.tiles)

    def legal_actions(self, view: Board) -> list[int]:
        return list(self.slides(view))

    def play(self, state: Board, action: int) -> Board:
        slides = self.slides(state)
        require(action in slides, f"action {action} moves no tile, or the game is over: legal are {list(slides)}")
        tiles, made = slides[action]
        return rules.add_tile(Board(tiles, state.score + made, state.seed))

    def outcome(self, state: Board) -> int | None:
        if max(state.tiles) >= self.goal:
            return 1
        return None if self.slides(state) else -1

    def episode_metrics(self, state: Board) -> dict[str, float]:
        return {"score": float(state.score), "largest_tile": float(1 << max(state.tiles))}

    def observe(self, view: Board) -> np.ndarray:
        """Return planes (1 + exponent of the goal, size, size): the cells that are empty, those of the tile 2, ..."""
        planes = np.arange(self.goal + 1)[:, None] == np.array(view.tiles)
        return planes.reshape(-1, self.size, self.size).astype(np.float32)

    def render(self, state: Board) -> str:
        names = [f"{1 << exponent if exponent else '.':>6}" for exponent in state.tiles]
        rows = ["".join(names[row : row + self.size]) for row in range(0, len(names), self.size)]
        return "\n".join([*rows, f"score {state.score}"])

    def image(self, state: Board) -> np.ndarray:
        from . import image  # Pillow, needed for pictures only

        return image.draw(np.array(state.tiles).reshape(self.size, self.size), state.score)

    def move_name(self, state: Board, action: int) -> str:
        return MOVES[action]
