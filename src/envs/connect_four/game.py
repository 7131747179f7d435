"""Connect Four as a game; an action is a column."""

from typing import Annotated

import numpy as np

from ...core.errors import UserError, require
from ...core.play.game import Trait, TwoPlayerGame
from ...core.play.search_interface import Symmetry
from ...core.ranges import Bounds
from .rules import Board, Position

Side = Annotated[int, Bounds(ge=2, le=26)]  # columns are letters


class ConnectFour(TwoPlayerGame[Position]):
    traits = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC})

    def __init__(self, rows: Side, cols: Side, length: Side) -> None:
        self.board = Board(rows, cols, length)
        self.num_actions = cols
        self._bits = np.array([[self.board.bit(row, col) for col in range(cols)] for row in range(rows)])
        self._bytes = int(self._bits.max()) // 8 + 1
        self._from_center = sorted(range(cols), key=lambda col: abs(2 * col - cols + 1))

    def initial(self, rng: np.random.Generator) -> Position:
        return Position(0, 0)

    def to_move(self, state: Position) -> int:
        return self.board.seat_to_move(state)

    def legal_actions(self, view: Position) -> list[int]:
        return self.board.legal_columns(view)

    def candidates(self, state: Position, selective: bool, waiting_plies: int = 0) -> list[int]:
        """Return the columns from the center outwards, which are in more lines."""
        legal = self.legal_actions(state)
        return [col for col in self._from_center if col in legal]

    def play(self, state: Position, action: int) -> Position:
        require(action in self.legal_actions(state), f"column {action} is full or does not exist, or the game is over")
        return self.board.drop(state, action)

    def outcome(self, state: Position) -> int | None:
        return self.board.outcome(state)

    def cells(self, state: Position) -> np.ndarray:
        """Return the stones by seat, (2, rows, cols) bool, the top row first."""
        words = np.frombuffer(b"".join(stones.to_bytes(self._bytes, "little") for stones in state), np.uint8)
        cells: np.ndarray = np.unpackbits(words.reshape(2, -1), axis=1, bitorder="little")[:, self._bits].astype(bool)
        return cells

    def observe(self, view: Position) -> np.ndarray:
        """Return planes (2, rows, cols): the stones of the player to move, then the opponent's."""
        cells = self.cells(view).astype(np.float32)
        return cells if self.to_move(view) == 0 else cells[::-1].copy()

    def symmetries(self) -> list[Symmetry]:
        """Return the identity and the exchange of left and right."""
        cells = np.arange(2 * self._bits.size).reshape(2, *self._bits.shape)
        columns = np.arange(self.num_actions)
        return [Symmetry(cells.ravel(), columns), Symmetry(cells[:, :, ::-1].ravel(), columns[::-1].copy())]

    def render(self, state: Position) -> str:
        text, cols = self.write_position(state), self.num_actions
        rows = [" ".join(text[row : row + cols]) for row in range(0, len(text), cols)]
        return "\n".join([*rows, " ".join(self.move_name(state, col) for col in range(cols))])

    def image(self, state: Position) -> np.ndarray:
        from . import image  # Pillow, needed for pictures only

        return image.draw(self.cells(state), [self.move_name(state, col) for col in range(self.num_actions)])

    def move_name(self, state: Position, action: int) -> str:
        return chr(ord("a") + action)

    def write_position(self, state: Position) -> str:
        """Return the cells, the top row first: "X" moves first, "O" second, "." is empty."""
        first, second = self.cells(state)
        return "".join(np.where(first, "X", np.where(second, "O", ".")).ravel().tolist())

    def read_position(self, text: str) -> Position:
        if len(text) != self._bits.size or not set(text) <= set("XO."):
            raise UserError(f"{text!r} is not a position: {self._bits.size} cells X, O or ., the top row first")
        cells = np.array(list(text)).reshape(self._bits.shape)
        floating = (cells[:-1] != ".") & (cells[1:] == ".")
        require(not floating.any(), f"{text!r} is not a position: a stone has an empty cell below it")
        position = Position(*(sum(1 << bit for bit in self._bits[cells == stone].tolist()) for stone in "XO"))
        ahead = position.first.bit_count() - position.second.bit_count()
        require(ahead in (0, 1), f"{text!r} cannot be reached: X moves first and turns alternate")
        won = self.board.lines(position[self.to_move(position)])
        require(not won, f"{text!r} cannot be reached: the game was over before the last stone")
        return position
