"""Variations: moves that were tried instead of those of a game."""

from collections.abc import Sequence
from typing import Any

from ...core.errors import require
from ...envs.quoridor.rules import Position
from . import panels
from .match import QuoridorMatch

MAX_KEPT = 100  # the latest ones

Moves = tuple[int, ...]  # from the start of the game


class Variations:
    def __init__(self, lines: Sequence[Moves] = ()) -> None:
        self._lines = list(lines)
        self._named: dict[tuple[Position, Moves], list[str]] = {}  # the names of moves from a start

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: int) -> Moves:
        return self._lines[number]

    def add(self, moves: Sequence[int]) -> None:
        """Add a variation, or the moves that continue one."""
        line = tuple(moves)
        begun = next((k for k, one in enumerate(self._lines) if one == line[: len(one)]), None)
        if begun is not None:
            self._lines[begun] = line
        elif all(one[: len(line)] != line for one in self._lines):
            self._lines = [*self._lines, line][-MAX_KEPT:]

    def forget_played(self, moves: Sequence[int]) -> None:
        """Remove the variations that equal the start of the game."""
        self._lines = [one for one in self._lines if one != tuple(moves[: len(one)])]

    def remove(self, moves: Sequence[int]) -> None:
        self._lines = [one for one in self._lines if one != tuple(moves)]

    def names(self, game: QuoridorMatch) -> list[list[str]]:
        """Return the names of the moves; raise if a line cannot be played.

        Each line is replayed once, because the list is drawn after every change on the event loop.
        """
        start, known = game.at(0), self._named
        keys = [(start, line) for line in self._lines]
        self._named = {key: known[key] if key in known else game.with_moves(key[1]).names() for key in keys}
        return [self._named[key] for key in keys]

    def html(self, game: QuoridorMatch, shown: Sequence[int] | None) -> str:
        """Return the list; `shown` are the moves of the variation on the board."""
        named = []
        for moves, names in zip(self._lines, self.names(game), strict=True):
            ply = first_difference(game.moves, moves)
            named.append((ply, names[ply:]))
        here = next((k for k, one in enumerate(self._lines) if shown is not None and one == tuple(shown)), None)
        return panels.variation_list(named, here)

    def as_json(self) -> list[Any]:
        return [[int(move) for move in line] for line in self._lines]  # agents may return numbers of NumPy


def read_variations(game: QuoridorMatch, value: Sequence[Any]) -> Variations:
    """Parse the variations that were saved with a game; raise if they cannot be played."""
    is_list = len(value) <= MAX_KEPT and all(isinstance(line, list) and line for line in value)
    require(is_list, "the variations are damaged")
    lines = [tuple(game.read_move(move) for move in line) for line in value]
    found = Variations(lines)
    found.names(game)  # raises if a move is illegal
    return found


def first_difference(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of moves that two games have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))
