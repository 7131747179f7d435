"""Connect Four as an extension: nothing here is part of the package.

A state is the cells as text, the top row first: "X" moves first, "O" second, "." is empty. An action is a column.
"""

import numpy as np
from boardlab.core.errors import UserError, require
from boardlab.core.play.game import Canonical, TabularGame, Trait


class ConnectFour(TabularGame[str]):
    traits = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC})

    def __init__(self, rows: int, cols: int, length: int) -> None:
        """`length` stones in a line win."""
        require(max(rows, cols) >= length >= 2, f"no line of {length} fits on {rows}x{cols}: choose a smaller length")
        self.rows, self.cols, self.num_actions = rows, cols, cols
        if rows * cols <= 12:
            self.traits = self.traits | {Trait.ENUMERABLE}  # for Q-learning and minimax
        self.table_format = f"connect {length} on {rows}x{cols}, mirror images together"
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
        return [] if self.outcome(view) is not None else [col for col in range(self.cols) if view[col] == "."]

    def play(self, state: str, action: int) -> str:
        require(action in self.legal_actions(state), f"column {action} is full or does not exist")
        cell = max(cell for cell in range(action, len(state), self.cols) if state[cell] == ".")
        return state[:cell] + "XO"[self.to_move(state)] + state[cell + 1 :]

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
        rows = [state[row : row + self.cols] for row in range(0, len(state), self.cols)]
        mirrored, columns = "".join(row[::-1] for row in rows), range(self.cols)
        if mirrored < state:
            return Canonical(mirrored, "mirrored", tuple(reversed(columns)))
        return Canonical(state, "as it is", tuple(columns))

    def move_name(self, state: str, action: int) -> str:
        return chr(ord("a") + action)

    def parse_move(self, state: str, text: str) -> int:
        names = {self.move_name(state, action): action for action in self.legal_actions(state)}
        require(text in names, f"{text} is not a legal move here: legal are {' '.join(names) or 'none'}")
        return names[text]

    def write_position(self, state: str) -> str:
        return state

    def read_position(self, text: str) -> str:
        ahead = text.count("X") - text.count("O")
        if len(text) != self.rows * self.cols or not set(text) <= set("XO.") or ahead not in (0, 1):
            raise UserError(f"{text!r} is not a position: {self.rows * self.cols} cells X, O or ., X moves first")
        return text
