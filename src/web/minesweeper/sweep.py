"""A game of Minesweeper as a person meets it: reveals, flags and chords, all through the engine."""

import re
import time

import numpy as np

from src.core.errors import LabError, require
from src.envs.minesweeper import rules
from src.envs.minesweeper.chord import require_flaggable, reveals
from src.envs.minesweeper.game import Minesweeper, Position, View
from src.envs.minesweeper.solver import no_guess_board
from src.envs.minesweeper.variant import FLAGGED, HIDDEN

TRIES = 2000  # boards looked at for one that needs no guess
MOST_ROWS, MOST_COLS = 40, 60
BOARDS = {
    "8x8x10": "8 by 8, 10 mines",
    "9x9x10": "9 by 9, 10 mines",
    "16x16x40": "16 by 16, 40 mines",
    "16x30x99": "16 by 30, 99 mines",
}


def read_size(text: str) -> tuple[int, int, int]:
    """Rows, columns and mines from a text such as 16x30x99; what no game can be played on raises `LabError`."""
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})x(\d{1,4})", text, re.ASCII)
    if found is None:
        raise LabError(f"{text!r} is no board: expected ROWSxCOLUMNSxMINES, such as 16x30x99")
    rows, cols, mines = map(int, found.groups())
    require(
        rows <= MOST_ROWS and cols <= MOST_COLS,
        f"{rows}x{cols} is too large for this page: at most {MOST_ROWS} rows and {MOST_COLS} columns",
    )
    Minesweeper(rows, cols, mines)
    return rows, cols, mines


class Sweep:
    """One game. Methods may compile kernels or search for a board, so pages call them off the event loop."""

    def __init__(self, rows: int, cols: int, mines: int, rng: np.random.Generator, no_guess: bool) -> None:
        self.game = Minesweeper(rows, cols, mines)
        self.no_guess, self._rng = no_guess, rng
        self.state: Position = self.game.initial(rng)
        self.exploded: int | None = None
        self._began: float | None = None  # when the first cell was revealed
        self._ended: float | None = None

    @property
    def view(self) -> View:
        return self.game.view(self.state)

    @property
    def outcome(self) -> int | None:
        return self.game.outcome(self.state)

    @property
    def started(self) -> bool:
        return self._began is not None

    @property
    def seconds(self) -> float:
        """From the first reveal to the last, or to now."""
        return 0.0 if self._began is None else (self._ended or time.monotonic()) - self._began

    @property
    def mines_left(self) -> int:
        """As far as the flags are right."""
        games = self.state.boards.games[0]
        return int(games["mines"]) - int(games["flags"])

    @property
    def mines(self) -> np.ndarray:
        """(rows, cols) bool: where they lie, to be shown when the game is over."""
        return (self.state.boards.number[0] == rules.MINE).reshape(self.game.rows, self.game.cols)

    def value(self, cell: int) -> int:
        return int(self.state.boards.visible[0, cell])

    def click(self, cell: int) -> None:
        """Every reveal that the click stands for, until one of them ends the game."""
        if self.outcome is not None:
            self.act(cell)  # which the engine refuses
        for other in reveals(self.view.visible, cell):
            if self.outcome is None and self.value(other) == HIDDEN:
                self.act(other)

    def flag(self, cell: int) -> None:
        require_flaggable(self.view.visible, cell)
        self.act(self.game.cells + cell)

    def act(self, action: int) -> None:
        """An action of the engine."""
        if self.no_guess and not self.started and action < self.game.cells and self.outcome is None:
            self._lay_without_guess(action)
        else:
            self.state = self.game.play(self.state, action)
        if action < self.game.cells:
            self._began = self._began or time.monotonic()
            self.exploded = action if self.outcome == -1 else None
        if self.outcome is not None:
            self._ended = time.monotonic()

    def _lay_without_guess(self, first: int) -> None:
        """A board that can be won from here by reasoning alone, with the flags that stand already."""
        game, flags = self.game, np.flatnonzero(self.view.visible == FLAGGED).tolist()
        mines = no_guess_board(game.rows, game.cols, game.mines, first, self._rng, TRIES)
        self.state = game.start(first, mines.tolist())
        for cell in flags:
            if self.value(cell) == HIDDEN and self.outcome is None:
                self.state = game.play(self.state, game.cells + cell)
