"""Evaluate guesses by playing the rest of the game on sampled completions."""

from typing import NamedTuple

import numpy as np

from src.core.errors import require
from src.envs.minesweeper.rules import PLAYING, WON, Boards, new_boards, reveal, set_mines, start_game, start_revealed
from src.envs.minesweeper.solver.engine import CONSISTENT, GUESSED, SEARCHED, Engine, kernel, make_engine
from src.envs.minesweeper.solver.exact import prove
from src.envs.minesweeper.solver.guess import best_guess, list_guesses

from .completions import draw_completions

STATES = 1 << 16


class Guess(NamedTuple):
    """A position in which the exact solver guessed."""

    risk: np.ndarray  # (guesses,) mine probability of each; the first is what the solver chose
    won: np.ndarray  # (guesses, playouts) bool: was this completion won, guessing so?


class Played(NamedTuple):
    """A game of the exact solver."""

    won: bool
    beyond_help: bool  # lost in an exhaustively searched endgame: no play could have won more
    guesses: int
    looked: list[Guess]


class Player:
    """Plays games of the exact solver and evaluates the alternatives of its guesses."""

    def __init__(self, rows: int, cols: int, mines: int, candidates: int, playouts: int) -> None:
        self.mines, self.candidates, self.playouts = mines, candidates, playouts
        self.engine = make_engine((rows, cols), STATES)
        self.game, self.rest = new_boards(1, rows, cols, True), new_boards(1, rows, cols, True)

    def play(self, seed: int, look: bool) -> Played | None:
        """`look` into every guess, or just count them; None, rarely, where a position is too wide for the engine."""
        random = np.random.default_rng(seed)
        self.game.games[0]["random"] = random.integers(2**64, dtype=np.uint64)
        begin(self.game, self.mines)
        moves = self.engine.moves
        looked: list[Guess] = []
        guesses, why = 0, GUESSED
        while self.game.games[0]["status"] == PLAYING:
            position = self.game.visible[0].copy()
            status, count, why, log_completions = prove(position, self.mines, self.engine)
            if status != CONSISTENT:
                return None
            if why == GUESSED:
                guesses += 1
                choices = list_choices(position, self.mines, self.engine, log_completions)
                if look:
                    looked.append(self._look(position, choices[: self.candidates + 1], random))
                moves[0], count = choices[0], 1
            reveal_each(self.game, moves[:count])
        won = self.game.games[0]["status"] == WON
        return Played(won, not won and why == SEARCHED, guesses, looked)

    def _look(self, position: np.ndarray, choices: np.ndarray, random: np.random.Generator) -> Guess:
        """Evaluate all guesses on the same completions, so that only the guess differs."""
        mined, risk = np.zeros((self.playouts, position.size), np.bool_), self.engine.probability[choices]
        status = draw_completions(position, self.engine.known, self.mines, self.engine, random, mined)
        require(status == CONSISTENT, "a position that was counted a moment ago has no completions")
        won = np.zeros((choices.size, self.playouts), np.bool_)
        play_on(self.rest, self.engine, position, self.mines, choices, mined, won)
        return Guess(risk, won)


@kernel
def begin(boards: Boards, mines: int) -> None:
    start_revealed(boards, 0, mines, mines)


@kernel
def reveal_each(boards: Boards, cells: np.ndarray) -> None:
    for cell in cells:
        if boards.visible[0, cell] < 0 and boards.games[0].status == PLAYING:
            reveal(boards, 0, cell)


@kernel
def list_choices(visible: np.ndarray, mines: int, e: Engine, log_completions: float) -> np.ndarray:
    """Return the guess of the solver, then its other candidates, the most promising first."""
    others = e.guess.shortlist[: list_guesses(visible, e)].copy()
    choice = best_guess(visible, mines, e, log_completions)
    return np.concatenate((np.array([choice]), others[others != choice]))


@kernel
def play_on(
    boards: Boards,
    e: Engine,
    position: np.ndarray,
    mines: int,
    choices: np.ndarray,
    mined: np.ndarray,
    won: np.ndarray,
) -> None:
    """Play every completion from every guess to the end with the exact solver."""
    for completion in range(mined.shape[0]):
        for choice in range(choices.size):
            won[choice, completion] = not mined[completion, choices[choice]] and wins(
                boards, e, position, mines, choices[choice], mined[completion]
            )


@kernel
def wins(boards: Boards, e: Engine, position: np.ndarray, mines: int, guess: int, mined: np.ndarray) -> bool:
    start_game(boards, 0, mines, mines)
    set_mines(boards, 0, np.flatnonzero(mined))
    for cell in range(position.size):
        boards.visible[0, cell] = position[cell]
        boards.games[0].safe_left -= position[cell] >= 0
    reveal(boards, 0, guess)
    while boards.games[0].status == PLAYING:
        status, count, why, log_completions = prove(boards.visible[0], mines, e)
        if status == CONSISTENT and why == GUESSED:
            e.moves[0] = best_guess(boards.visible[0], mines, e, log_completions)
            count = 1
        if status != CONSISTENT or count == 0:  # too wide for the engine, which is rare enough to count as lost
            return False
        for k in range(count):
            if boards.visible[0, e.moves[k]] < 0:
                reveal(boards, 0, e.moves[k])
    return boards.games[0].status == WON
