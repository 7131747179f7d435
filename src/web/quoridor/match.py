"""A match of Quoridor, its players, and variations: moves that were tried instead of the game's."""

from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ...core.errors import UserError, require
from ...core.play.game import Game
from ...core.play.game_record import read_game, write_game
from ...core.runs.index.playable import FinishedRun
from ...core.seeding import generator
from ...envs.quoridor.game import Quoridor
from ...envs.quoridor.play_by_hand import read_moves
from ...envs.quoridor.rules import Position
from ..match import Match, SeededMatch, first_difference
from ..players import HUMAN_PLAYER, LEVELS, YOU, Player, general_players, trained_players
from ..services import Services
from .clock import NO_CLOCK

MAX_VARIATIONS = 100  # the latest ones
MAX_TEXT = 20_000  # characters; a game of 200 plies has about 1,000
SEATS = ("first", "second")
DEFAULTS = {"first": YOU, "second": "normal", "clock": NO_CLOCK}
DEEP, DEEP_SECONDS = "deep", 3.0  # the player that searches as deep as it can within this time

Moves = tuple[int, ...]  # from the start of the game


def players_of(runs: list[FinishedRun]) -> dict[str, Player]:
    general = general_players()
    deep = Player(f"Master: {DEEP_SECONDS:g} seconds a move", "master", {"seconds": DEEP_SECONDS})
    others = {"runner": Player("Runner, never a wall", "runner"), "random": general.pop("random")}
    levels = {level: general.pop(level) for level in LEVELS}
    return {YOU: HUMAN_PLAYER, **levels, DEEP: deep, **general, **others, **trained_players(runs)}


def run_game(services: Services, game: Quoridor, player: Player) -> Game:
    """Return the game of a run; raise `UserError` if its board is not the one of `game`."""
    assert player.run is not None
    found = services.run_game(player.run)
    board = (game.size, game.walls, game.ply_limit)
    same_board = isinstance(found, Quoridor) and (found.size, found.walls, found.ply_limit) == board
    require(same_board, f"{player.title} was trained on another board: choose another player")
    return found


class QuoridorMatch(Match[Position, int, Mapping[str, Any]]):
    """A match whose seed determines what its agents draw, at every ply anew."""

    game: Quoridor

    def __init__(self, game: Quoridor, start: Position, human_seats: Collection[int] = (), seed: int = 0) -> None:
        super().__init__(game, lambda: start, human_seats)
        self.seed = seed

    def rng(self) -> np.random.Generator:
        """Return the generator of the decision at the present ply."""
        return generator(self.seed, "decision", len(self.moves))

    @property
    def start(self) -> dict[str, Any]:
        return {"position": self.game.write_position(self.at(0)), "seed": self.seed}

    def new_of(self, start: Any) -> Callable[[], Position]:
        match start:
            case {"position": str(text), "seed": int(seed)} if type(seed) is int and 0 <= seed < SeededMatch.SEEDS:
                position = self.game.read_position(text)
            case str(text):  # of a game that was saved without a seed
                position, seed = self.game.read_position(text), 0
            case _:
                raise UserError(f"{str(start)[:40]!r} is not a position with the seed of a game")
        self.seed = seed
        return lambda: position

    def with_moves(self, moves: Sequence[int]) -> "QuoridorMatch":
        """Return a match from the same start for a person who plays both seats."""
        other = QuoridorMatch(self.game, self.at(0), (0, 1), self.seed)
        other.begin(other._new, moves)
        return other

    def write(self) -> str:
        return write_game(self.game, self.at(0), self.moves)

    def read(self, text: str) -> None:
        """Load a saved game, a position in the notation of the engine, or a list of moves, numbered or not."""
        require(len(text) <= MAX_TEXT, f"the text has {len(text)} characters: at most {MAX_TEXT} are allowed")
        words = text.split()
        require(bool(words), "paste a list of moves, such as e2 e8 e3 e3h, a saved game or a position")
        if words[0] == "start":
            start, moves = read_game(self.game, text)
        elif words[0] == "position" or [word.isdigit() for word in words[2:4]] == [True, True]:
            start, moves = self.game.read_position(text.strip().removeprefix("position")), []
        else:
            start, moves = self.at(0), read_moves(self.game, self.at(0), text)
        self.begin(lambda: start, moves)


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
            self._lines = [*self._lines, line][-MAX_VARIATIONS:]

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
        """Return the list, each line with the number of the move it replaces; `shown` is the one on the board."""
        rows = []
        for number, (moves, names) in enumerate(zip(self._lines, self.names(game), strict=True)):
            ply = first_difference(game.moves, moves)
            here = " here" if shown is not None and moves == tuple(shown) else ""
            rows.append(
                f'<button class="qr-variation{here}" data-id="variation-{number}">'
                f"<i>move {ply + 1}</i> {escape(' '.join(names[ply:]))}</button>"
            )
        return "".join(rows)

    def as_json(self) -> list[Any]:
        return [[int(move) for move in line] for line in self._lines]  # agents may return numbers of NumPy


def read_variations(game: QuoridorMatch, value: Sequence[Any]) -> Variations:
    """Parse the variations that were saved with a game; raise if they cannot be played."""
    is_list = len(value) <= MAX_VARIATIONS and all(isinstance(line, list) and line for line in value)
    require(is_list, "the variations are damaged")
    lines = [tuple(game.read_move(move) for move in line) for line in value]
    found = Variations(lines)
    found.names(game)  # raises if a move is illegal
    return found
