"""Many games at once: random boards, games of a solver in threads, and boards that can be won without guessing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ....core.errors import UserError
from ..rules import PLAYING, WON, Boards, new_boards, reveal, set_mines, start_game
from .engine import CONSISTENT, GUESSED, PROVEN, Engine, kernel, make_engine, padded_neighbors
from .exact import certain_moves, choose, exact_moves
from .single_point import heuristic_moves, rules_moves

CHUNK = 32  # games per task; an interrupt cancels tasks that have not started
PLAY_STATES = 1 << 16
BATCH = 16  # boards tried at a time for one that needs no guess

SOLVERS: dict[str, Callable] = {"rules": rules_moves, "heuristic": heuristic_moves, "exact": exact_moves}


class GameResults(NamedTuple):
    won: np.ndarray  # (games,) bool
    guesses: np.ndarray  # (games,) int32: reveals that were not certain
    steps: np.ndarray  # (games,) int32: reveals, the first click included
    revealed: np.ndarray  # (games,) int32: safe cells opened


def random_boards(
    shape: tuple[int, int], mines: int, first: np.ndarray, rng: np.random.Generator, safe_neighborhood: bool
) -> np.ndarray:
    """Return uniformly distributed mines, (games, cells) bool, none at each game's first click (games,)."""
    cells = shape[0] * shape[1]
    allowed = np.ones((first.size, cells), np.bool_)
    allowed[np.arange(first.size), first] = False
    if safe_neighborhood:
        for game, around in enumerate(padded_neighbors(*shape)[first]):
            allowed[game, around[around >= 0]] = False
    fewest = int(allowed.sum(axis=1).min())
    if not 0 <= mines <= fewest:
        raise UserError(f"{mines} mines do not fit: {shape[0]}x{shape[1]} leaves {fewest} cells beside the first click")
    rank = np.where(allowed, rng.random(allowed.shape), 2.0)
    mined = np.zeros_like(allowed)
    np.put_along_axis(mined, np.argpartition(rank, max(mines - 1, 0), axis=1)[:, :mines], True, axis=1)
    return mined


def play_boards(
    shape: tuple[int, int], mined: np.ndarray, first: np.ndarray, moves: Callable, threads: int
) -> GameResults:
    """Play each board, mined (games, cells) bool, from its first click (games,) to the end with the solver `moves`."""
    games = GameResults(np.zeros(first.size, np.bool_), *(np.zeros(first.size, np.int32) for _ in range(3)))

    def play_chunk(begin: int) -> None:
        boards, engine = new_boards(1, *shape, True), make_engine(shape, PLAY_STATES)
        for index in range(begin, min(begin + CHUNK, first.size)):
            result = play_game(shape, boards, engine, np.flatnonzero(mined[index]), int(first[index]), moves)
            for array, value in zip(games, result, strict=True):
                array[index] = value

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(play_chunk, range(0, first.size, CHUNK)))
    return games


def play_game(
    shape: tuple[int, int], boards: Boards, engine: Engine, mine_cells: np.ndarray, first: int, moves: Callable
) -> tuple[bool, int, int, int]:
    """Play one game on the first of `boards`; return won, guesses, steps, and cells revealed."""
    mines, cells = mine_cells.size, engine.moves
    start_game(boards, 0, mines, mines)
    set_mines(boards, 0, mine_cells)
    revealed, steps, guesses = reveal(boards, 0, first), 1, 0
    while boards.games[0]["status"] == PLAYING:
        status, count, why = moves(boards.visible[0], mines, engine)
        if status != CONSISTENT:  # too many states for this engine
            choice = choose(boards.visible[0].reshape(shape), mines, moves)
            count, why = int(choice.action is not None), PROVEN if choice.certain else GUESSED
            cells[0] = -1 if choice.action is None else choice.action
        if count == 0:
            break
        made, opened = reveal_all(boards, cells[:count])
        steps, revealed, guesses = steps + made, revealed + opened, guesses + (why != PROVEN)
    return boards.games[0]["status"] == WON, guesses, steps, revealed


@kernel
def reveal_all(boards: Boards, cells: np.ndarray) -> tuple[int, int]:
    """Reveal the cells that are still hidden; return the numbers of reveals and of cells opened."""
    made, opened = 0, 0
    for cell in cells:
        if boards.visible[0, cell] < 0:
            opened += reveal(boards, 0, cell)
            made += 1
    return made, opened


def no_guess_board(
    rows: int,
    cols: int,
    mines: int,
    first: int,
    rng: np.random.Generator,
    max_tries: int,
    safe_neighborhood: bool = True,
) -> np.ndarray:
    """Return the mines (ascending cells) of a board that the exact solver wins from `first` without a guess."""
    tried = 0
    while tried < max_tries:
        clicks = np.full(min(BATCH, max_tries - tried), first)
        mined = random_boards((rows, cols), mines, clicks, rng, safe_neighborhood)
        games = play_boards((rows, cols), mined, clicks, certain_moves, threads=1)
        if games.won.any():
            return np.flatnonzero(mined[np.argmax(games.won)])
        tried += clicks.size
    raise UserError(
        f"none of {max_tries} boards of {rows}x{cols} with {mines} mines can be won from cell {first} without a guess: "
        "ask for fewer mines or allow more tries"
    )
