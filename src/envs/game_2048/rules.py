"""2048. A board is the exponents of its tiles, row by row; 0 is an empty cell, 1 the tile 2, 11 the tile 2048.

Chance is a function of the board's seed, which each new tile replaces, so seed and moves determine a game.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from ...core.play.search_interface import splitmix64

MOVES = ("up", "right", "down", "left")
FOURS = 10  # one new tile in so many is a 4, the others are 2


class Board(NamedTuple):
    tiles: tuple[int, ...]  # exponents
    score: int  # the sum of all tiles made by merging
    seed: int  # of the tiles to come; 0 for players, who do not know it


@lru_cache(1 << 16)  # all lines of four cells, but not all of eight
def merge(line: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Slide a line of exponents toward its beginning; return it and the sum of the tiles made.

    Two equal tiles that meet become one, first those nearest to the beginning; a tile made by the move merges no more.
    """
    tiles = [exponent for exponent in line if exponent]
    merged, made = [], 0
    while tiles:
        exponent = tiles.pop(0)
        if tiles and tiles[0] == exponent:
            del tiles[0]
            exponent += 1
            made += 1 << exponent
        merged.append(exponent)
    return (*merged, *[0] * (len(line) - len(merged))), made


@cache
def _lines(size: int, move: int) -> Sequence[Sequence[int]]:
    """Return the cells of each row or column, beginning where the tiles slide to."""
    rows = [range(row * size, (row + 1) * size) for row in range(size)]
    lines = [list(line) for line in (rows if MOVES[move] in ("left", "right") else zip(*rows, strict=True))]
    return [line[::-1] for line in lines] if MOVES[move] in ("right", "down") else lines


def slide(size: int, tiles: tuple[int, ...], move: int) -> tuple[tuple[int, ...], int]:
    """Return the tiles after a move, before a new one, and the sum of the tiles made; an illegal move changes none."""
    after, made = [0] * len(tiles), 0
    for line in _lines(size, move):
        merged, points = merge(tuple(tiles[cell] for cell in line))
        made += points
        for cell, exponent in zip(line, merged, strict=True):
            after[cell] = exponent
    return tuple(after), made


@lru_cache(1 << 12)  # asked for several times at each position
def slides(size: int, tiles: tuple[int, ...]) -> dict[int, tuple[tuple[int, ...], int]]:
    """Return the results of the moves that change the board."""
    after = {move: slide(size, tiles, move) for move in range(len(MOVES))}
    return {move: found for move, found in after.items() if found[0] != tiles}


def add_tile(board: Board) -> Board:
    """Put a 2, or in one of ten cases a 4, on an empty cell; all are equally likely."""
    word = splitmix64(board.seed)
    cell, kind = divmod(word, FOURS)
    empty = [number for number, exponent in enumerate(board.tiles) if exponent == 0]
    tiles = list(board.tiles)
    tiles[empty[cell % len(empty)]] = 2 if kind == 0 else 1
    return Board(tuple(tiles), board.score, word)
