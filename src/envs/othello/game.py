"""Othello as a game; an action is a cell, row by row, and the last one passes."""

from typing import Annotated

import numpy as np

from ...core.errors import UserError, require
from ...core.play.game import Trait, TwoPlayerGame
from ...core.ranges import Bounds
from .rules import Board, Position


class Othello(TwoPlayerGame[Position]):
    traits = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC})
    mirrored = True

    def __init__(self, size: Annotated[int, Bounds(ge=4, le=26, multiple_of=2)]) -> None:
        """`size` is the number of rows and columns."""
        self.size, self.board = size, Board(size)
        self.skip, self.num_actions = size * size, size * size + 1
        self._corners = {0, size - 1, size * size - size, size * size - 1}

    def initial(self, rng: np.random.Generator) -> Position:
        return self.board.start()

    def to_move(self, state: Position) -> int:
        return state.seat

    def legal_actions(self, view: Position) -> list[int]:
        moves = self.board.legal_cells(view)
        if moves == 0:
            return [] if self.board.is_over(view) else [self.skip]
        return [cell for cell in range(self.skip) if moves >> cell & 1]

    def candidates(self, state: Position, selective: bool, waiting_plies: int = 0) -> list[int]:
        """Return the corners first: discs there are never turned."""
        return sorted(self.legal_actions(state), key=lambda action: action not in self._corners)

    def factors(self, state: Position) -> dict[str, int]:
        """Return the moves of the player to move, minus those that the opponent would have."""
        own, other = (self.board.legal_cells(state._replace(seat=seat)) for seat in (state.seat, 1 - state.seat))
        return {"mobility": own.bit_count() - other.bit_count()}

    def play(self, state: Position, action: int) -> Position:
        legal = self.legal_actions(state)
        require(action in legal, f"action {action} is not legal here: legal are {legal}")
        return self.board.place(state, None if action == self.skip else action)

    def outcome(self, state: Position) -> int | None:
        if not self.board.is_over(state):
            return None
        return int(np.sign(state.first.bit_count() - state.second.bit_count()))

    def discs(self, state: Position) -> np.ndarray:
        """Return the discs by seat, (2, size, size) bool."""
        count = -(-self.skip // 8)
        words = np.frombuffer(b"".join(one.to_bytes(count, "little") for one in state[:2]), np.uint8)
        bits = np.unpackbits(words.reshape(2, count), axis=1, count=self.skip, bitorder="little")
        return bits.reshape(2, self.size, self.size).astype(bool)

    def observe(self, view: Position) -> np.ndarray:
        """Return planes (2, size, size): the discs of the player to move, then the opponent's."""
        discs = self.discs(view).astype(np.float32)
        return discs if view.seat == 0 else discs[::-1].copy()

    def render(self, state: Position) -> str:
        text, size = self.write_position(state), self.size
        names = "   " + " ".join(chr(ord("a") + col) for col in range(size))
        return "\n".join([names, *(f"{row + 1:2} {' '.join(text[row * size :][:size])}" for row in range(size))])

    def image(self, state: Position) -> np.ndarray:
        from . import image  # Pillow, needed for pictures only

        legal = [divmod(cell, self.size) for cell in self.legal_actions(state) if cell != self.skip]
        return image.draw(self.discs(state), legal, state.seat)

    def move_name(self, state: Position, action: int) -> str:
        row, col = divmod(action, self.size)
        return "pass" if action == self.skip else f"{chr(ord('a') + col)}{row + 1}"

    def write_position(self, state: Position) -> str:
        """Return the cells, row by row, "X" for seat 0, "O" for seat 1 and "." for empty, then who is to move."""
        first, second = self.discs(state)
        cells = np.where(first, "X", np.where(second, "O", ".")).ravel().tolist()
        return f"{''.join(cells)} {'XO'[state.seat]}"

    def read_position(self, text: str) -> Position:
        cells, _, mover = text.partition(" ")
        if len(cells) != self.skip or not set(cells) <= set("XO.") or mover not in ("X", "O"):
            raise UserError(f"{text!r} is not a position: {self.skip} cells X, O or ., then X or O, who is to move")
        first, second = (sum(1 << cell for cell, disc in enumerate(cells) if disc == one) for one in "XO")
        return Position(first, second, "XO".index(mover))
