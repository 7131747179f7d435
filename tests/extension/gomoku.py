"""Gomoku, or any other k in a row, as an extension: nothing here is part of the package.

A state is the cells as text, the top row first: "X" moves first, "O" second, "." is empty. An action is a cell.
"""

import numpy as np
from boardlab.core.errors import UserError, require
from boardlab.core.play.game import Canonical, TabularGame, Trait


class Gomoku(TabularGame[str]):
    traits = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC})
    mirrored = True

    def __init__(self, rows: int, cols: int, length: int) -> None:
        """`length` stones in a line win."""
        require(max(rows, cols) >= length >= 2, f"no line of {length} fits on {rows}x{cols}: choose a smaller length")
        self.rows, self.cols, self.num_actions = rows, cols, rows * cols
        if rows * cols <= 12:
            self.traits = self.traits | {Trait.ENUMERABLE}  # for Q-learning and minimax
        self.table_format = f"{length} in a row on {rows}x{cols}, mirror images together"
        starts = [(row, col) for row in range(rows) for col in range(cols)]
        ends = [(row, col, down, right) for row, col in starts for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))]
        self._lines = [
            [(row + k * down) * cols + col + k * right for k in range(length)]
            for row, col, down, right in ends
            if row + (length - 1) * down < rows and 0 <= col + (length - 1) * right < cols
        ]

    def initial(self, rng: np.random.Generator) -> str:
        return "." * (self.rows * self.cols)

    def to_move(self, state: str) -> int:
        return (len(state) - state.count(".")) % 2

    def legal_actions(self, view: str) -> list[int]:
        return [] if self.outcome(view) is not None else [cell for cell, stone in enumerate(view) if stone == "."]

    def play(self, state: str, action: int) -> str:
        require(action in self.legal_actions(state), f"cell {action} is taken or does not exist, or the game is over")
        return state[:action] + "XO"[self.to_move(state)] + state[action + 1 :]

    def outcome(self, state: str) -> int | None:
        for stone, result in (("X", 1), ("O", -1)):
            if any(all(state[cell] == stone for cell in line) for line in self._lines):
                return result
        return None if "." in state else 0

    def observe(self, view: str) -> np.ndarray:
        """Return planes (2, rows, cols): the stones of the player to move, then the opponent's."""
        cells, own = np.array(list(view)).reshape(self.rows, self.cols), "XO"[self.to_move(view)]
        return np.stack([cells == own, (cells != own) & (cells != ".")]).astype(np.float32)

    def render(self, state: str) -> str:
        return "\n".join(" ".join(state[row : row + self.cols]) for row in range(0, len(state), self.cols))

    def canonical(self, state: str) -> Canonical:
        """Return the smaller of the position and its mirror image."""
        cells = range(len(state))
        images = tuple(cell // self.cols * self.cols + self.cols - 1 - cell % self.cols for cell in cells)
        mirrored = "".join(state[image] for image in images)
        if mirrored < state:
            return Canonical(mirrored, "mirrored", images)
        return Canonical(state, "as it is", tuple(cells))

    def move_name(self, state: str, action: int) -> str:
        return f"{chr(ord('a') + action % self.cols)}{self.rows - action // self.cols}"

    def write_position(self, state: str) -> str:
        return state

    def read_position(self, text: str) -> str:
        ahead = text.count("X") - text.count("O")
        if len(text) != self.rows * self.cols or not set(text) <= set("XO.") or ahead not in (0, 1):
            raise UserError(f"{text!r} is not a position: {self.rows * self.cols} cells X, O or ., X moves first")
        return text
