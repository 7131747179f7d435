"""A match of Minesweeper with reveals, flags and chords."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from ...core.errors import UserError, require
from ...core.seeding import generator
from ...envs.minesweeper.game import Minesweeper, Position, View
from ...envs.minesweeper.rules import clicked_cells, require_flaggable
from ...envs.minesweeper.solver import no_guess_board
from ...envs.minesweeper.variant import FLAGGED, HIDDEN, MINE
from ..match import SeededMatch

MAX_TRIES = 2000  # boards to generate until one needs no guess
MAX_ROWS, MAX_COLS = 40, 60
DAILY = "16x16x40"  # the size of the board of a day
BOARDS = {
    "8x8x10": "8 by 8, 10 mines",
    "9x9x10": "9 by 9, 10 mines",
    "16x16x40": "16 by 16, 40 mines",
    "16x30x99": "16 by 30, 99 mines",
}


def read_size(text: str) -> tuple[int, int, int]:
    """Parse rows, columns and mines from a text such as 16x30x99; raise `UserError` if it is invalid.

    The board of a day has its date behind it: 16x16x40@2026-01-31.
    """
    text, _, day = text.partition("@")
    if day:
        require(text == DAILY, f"the board of a day has the size {DAILY}, not {text[:20]}")
        with suppress(ValueError):
            require(date.fromisoformat(day) <= datetime.now(UTC).date(), f"the board of {day} is not there yet")
            day = ""
        require(not day, f"{day[:20]!r} is not a day: expected a date such as 2026-01-31")
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


def today() -> str:
    """Return the board of today in UTC, which is the same for everybody."""
    return f"{DAILY}@{datetime.now(UTC).date()}"


class Stopwatch:
    """Counts the seconds between `run` and `stop`."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._before = seconds
        self._since: float | None = None

    @property
    def running(self) -> bool:
        return self._since is not None

    @property
    def seconds(self) -> float:
        return self._before + (0.0 if self._since is None else time.monotonic() - self._since)

    def run(self) -> None:
        if self._since is None:
            self._since = time.monotonic()

    def stop(self) -> None:
        self._before, self._since = self.seconds, None


class MinesweeperMatch(SeededMatch[Position, int, None]):
    """Methods can be slow (compilation, board generation), so pages call them off the event loop."""

    game: Minesweeper

    def __init__(self, board: str, rng: np.random.Generator, no_guess: bool) -> None:
        """`board` is a text for `read_size`; the one of a day needs no guess, and everybody begins at its center."""
        rows, cols, mines = read_size(board)
        game, day = Minesweeper(rows, cols, mines), board.partition("@")[2]
        self.first = rows // 2 * cols + cols // 2 if day else None
        self.no_guess = no_guess or bool(day)
        self._rng = generator(date.fromisoformat(day).toordinal(), "daily board") if day else rng
        self._mines: list[int] | None = None  # of a board without a guess, once its first cell is revealed
        self.help = ""  # the player had a "hint" or odds, has "seen" the board before, or an "agent" made a move
        super().__init__(game, self._rng, human_seats={0})

    @property
    def start(self) -> Any:
        return {"seed": self.seed, "mines": self._mines, "help": self.help}

    def new_of(self, start: Any) -> Callable[[], Position]:
        if isinstance(start, dict):
            self.help = str(start.get("help", ""))  # older games have none
        match start:
            case {"seed": seed, "mines": None}:
                return super().new_of(seed)
            case {"seed": seed, "mines": list(mines)}:
                fits = all(type(mine) is int and 0 <= mine < self.game.cells for mine in mines)
                require(fits and len(set(mines)) == self.game.mines, "the mines of this game do not fit its board")
                self._mines = mines
                return super().new_of(seed)
        raise UserError("the start of this game is damaged")

    @property
    def view(self) -> View:
        return self.game.view(self.state)

    @property
    def first_reveal(self) -> int | None:
        return next((move for move in self.moves if move < self.game.cells), None)

    @property
    def started(self) -> bool:
        """Whether a cell was revealed."""
        return self.first_reveal is not None

    @property
    def exploded(self) -> int | None:
        return self.moves[-1] if self.outcome == -1 else None

    @property
    def mines_left(self) -> int:
        """The number of mines minus flags."""
        games = self.state.boards.games[0]
        return int(games["mines"]) - int(games["flags"])

    @property
    def mines(self) -> np.ndarray:
        """(rows, cols) bool, shown when the game is over."""
        return (self.state.boards.number[0] == MINE).reshape(self.game.rows, self.game.cols)

    def value(self, cell: int) -> int:
        return int(self.state.boards.visible[0, cell])

    def click(self, cell: int) -> None:
        """Reveal a cell, or the neighbors of a number (chord), until the game ends."""
        if self.is_over:
            self.play(cell)  # raises `UserError`
        require(self.started or self.first in (None, cell), "everybody begins this board at the marked cell")
        for other in clicked_cells(self.view.visible, cell):
            if not self.is_over and self.value(other) == HIDDEN:
                self.play(other)

    def flag(self, cell: int) -> None:
        require_flaggable(self.view.visible, cell)
        self.play(self.game.cells + cell)

    def apply(self, state: Position, move: int) -> Position:
        visible = self.game.view(state).visible
        if self.no_guess and move < self.game.cells and (visible < 0).all() and visible.ravel()[move] == HIDDEN:
            return self._start_without_guess(move, np.flatnonzero(visible == FLAGGED).tolist())
        return super().apply(state, move)

    def _start_without_guess(self, first: int, flags: list[int]) -> Position:
        """Return the start of a game that can be won without a guess; its mines are generated at the first reveal."""
        game = self.game
        if self._mines is None:
            self._mines = no_guess_board(game.rows, game.cols, game.mines, first, self._rng, MAX_TRIES).tolist()
        state = game.start(first, self._mines)
        for cell in flags:
            if state.boards.visible[0, cell] == HIDDEN and game.outcome(state) is None:
                state = game.play(state, game.cells + cell)
        return state
