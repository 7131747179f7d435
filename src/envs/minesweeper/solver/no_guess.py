"""Boards that can be won without guessing."""

import numpy as np

from ....core.errors import UserError
from .bulk_play import play_boards
from .constraints import padded_neighbors
from .exact import certain_moves

BATCH = 16  # boards tried at a time


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
