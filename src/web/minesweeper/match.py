"""A match of Minesweeper with reveals, flags and chords."""

import re
import time

import numpy as np

from ...core.errors import UserError, require
from ...envs.minesweeper import rules
from ...envs.minesweeper.chord import require_flaggable, reveals
from ...envs.minesweeper.game import Minesweeper, Position, View
from ...envs.minesweeper.solver import no_guess_board
from ...envs.minesweeper.variant import FLAGGED, HIDDEN
from ..match import Match, seeded_start

MAX_TRIES = 2000  # boards to generate until one needs no guess
MAX_ROWS, MAX_COLS = 40, 60
BOARDS = {
    "8x8x10": "8 by 8, 10 mines",
    "9x9x10": "9 by 9, 10 mines",
    "16x16x40": "16 by 16, 40 mines",
    "16x30x99": "16 by 30, 99 mines",
}


def read_size(text: str) -> tuple[int, int, int]:
    """Parse rows, columns and mines from a text such as 16x30x99; raise `UserError` if it is invalid."""
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})x(\d{1,4})", text, re.ASCII)
    if found is None:
        raise UserError(f"{text!r} is not a board size: expected ROWSxCOLUMNSxMINES, such as 16x30x99")
    rows, cols, mines = map(int, found.groups())
    require(
        rows <= MAX_ROWS and cols <= MAX_COLS,
        f"{rows}x{cols} is too large for this page: at most {MAX_ROWS} rows and {MAX_COLS} columns",
    )
    Minesweeper(rows, cols, mines)
    return rows, cols, mines


class MinesweeperMatch(Match[Position, int, None]):
    """Methods can be slow (compilation, board generation), so pages call them off the event loop."""

    game: Minesweeper

    def __init__(self, rows: int, cols: int, mines: int, rng: np.random.Generator, no_guess: bool) -> None:
        game = Minesweeper(rows, cols, mines)
        super().__init__(game, seeded_start(game, rng), human_seats={0})
        self.no_guess, self._rng = no_guess, rng
        self.exploded: int | None = None
        self._began: float | None = None  # when the first cell was revealed
        self._ended: float | None = None

    @property
    def view(self) -> View:
        return self.game.view(self.state)

    @property
    def started(self) -> bool:
        return self._began is not None

    @property
    def seconds(self) -> float:
        """Seconds since the first reveal; stops at the end of the game."""
        return 0.0 if self._began is None else (self._ended or time.monotonic()) - self._began

    @property
    def mines_left(self) -> int:
        """The number of mines minus flags."""
        games = self.state.boards.games[0]
        return int(games["mines"]) - int(games["flags"])

    @property
    def mines(self) -> np.ndarray:
        """(rows, cols) bool, shown when the game is over."""
        return (self.state.boards.number[0] == rules.MINE).reshape(self.game.rows, self.game.cols)

    def value(self, cell: int) -> int:
        return int(self.state.boards.visible[0, cell])

    def click(self, cell: int) -> None:
        """Reveal a cell, or the neighbours of a number (chord), until the game ends."""
        if self.is_over:
            self.play(cell)  # raises `UserError`
        for other in reveals(self.view.visible, cell):
            if not self.is_over and self.value(other) == HIDDEN:
                self.play(other)

    def flag(self, cell: int) -> None:
        require_flaggable(self.view.visible, cell)
        self.play(self.game.cells + cell)

    def play(self, move: int, note: None = None) -> None:
        super().play(move, note)
        if move < self.game.cells:
            self._began = self._began or time.monotonic()
            self.exploded = move if self.outcome == -1 else None
        if self.is_over:
            self._ended = time.monotonic()

    def apply(self, state: Position, move: int) -> Position:
        if self.no_guess and not self.started and move < self.game.cells and self.game.outcome(state) is None:
            return self._generate_without_guess(move)
        return super().apply(state, move)

    def _generate_without_guess(self, first: int) -> Position:
        """Generate a board that can be won without a guess, and keep the flags."""
        game, flags = self.game, np.flatnonzero(self.view.visible == FLAGGED).tolist()
        mines = no_guess_board(game.rows, game.cols, game.mines, first, self._rng, MAX_TRIES)
        state = game.start(first, mines.tolist())
        for cell in flags:
            if state.boards.visible[0, cell] == HIDDEN and game.outcome(state) is None:
                state = game.play(state, game.cells + cell)
        return state
