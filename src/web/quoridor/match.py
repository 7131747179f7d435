"""A match of Quoridor, and its players."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ...core.errors import require
from ...core.play.game import Game
from ...core.play.game_record import read_game, write_game
from ...envs.quoridor.game import Quoridor
from ...envs.quoridor.notation import Position, parse_move
from ...envs.quoridor.rules import free_walls
from ..lab import FinishedRun, Lab
from ..match import Match
from ..players import HUMAN_PLAYER, LEVELS, YOU, Player, general_players, trained_players
from .clock import NO_CLOCK

MAX_TEXT = 20_000  # characters; a game of 200 plies has about 1,000
SEATS = ("first", "second")
DEFAULTS = {"first": YOU, "second": "normal", "clock": NO_CLOCK}
DEEP, DEEP_SECONDS = "deep", 3.0  # the player that searches as deep as it can within this time


def players_of(runs: list[FinishedRun]) -> dict[str, Player]:
    general = general_players()
    deep = Player(f"Master: {DEEP_SECONDS:g} seconds a move", "master", {"seconds": DEEP_SECONDS})
    others = {"runner": Player("Runner, never a wall", "runner"), "random": general.pop("random")}
    levels = {level: general.pop(level) for level in LEVELS}
    return {YOU: HUMAN_PLAYER, **levels, DEEP: deep, **general, **others, **trained_players(runs)}


def run_game(lab: Lab, game: Quoridor, player: Player) -> Game:
    """Return the game of a run; raise `UserError` if its board differs from that of `game`."""
    assert player.run is not None
    found = lab.run_game(player.run)
    same_board = isinstance(found, Quoridor) and _board(found) == _board(game)
    require(same_board, f"{player.title} was trained on another board: choose another player")
    return found


def _board(game: Quoridor) -> tuple[int, int, int]:
    return game.size, game.walls, game.ply_limit


class QuoridorMatch(Match[Position, int, Mapping[str, Any]]):
    game: Quoridor

    def __init__(self, game: Quoridor, start: Position, human_seats: Collection[int] = ()) -> None:
        super().__init__(game, lambda: start, human_seats)

    @property
    def start(self) -> str:
        return self.game.write_position(self.at(0))

    def new_of(self, start: Any) -> Callable[[], Position]:
        position = self.game.read_position(str(start))
        return lambda: position

    def with_moves(self, moves: Sequence[int]) -> "QuoridorMatch":
        """Return a match from the same start for a person who plays both seats."""
        other = QuoridorMatch(self.game, self.at(0), (0, 1))
        other.begin(other._new, moves)
        return other

    def write(self) -> str:
        return write_game(self.game, self.at(0), self.moves)

    def read(self, text: str) -> None:
        """Load a position in the notation of the engine, or a saved game."""
        require(len(text) <= MAX_TEXT, f"the text has {len(text)} characters: at most {MAX_TEXT} are allowed")
        head, *rest = text.split() or [""]
        if head == "start":
            start, moves = read_game(self.game, text)
        else:
            start, moves = self.game.read_position(" ".join(rest) if head == "position" else text), []
        self.begin(lambda: start, moves)


def why_not(game: Quoridor, state: Position, name: str) -> str | None:
    """Return why a player cannot make a move, or None if it is legal; raise `UserError` if it is not a move."""
    move = parse_move(game.size, name)
    if any(game.turned(state, action) == move for action in game.legal_actions(state)):
        return None
    if move < game.cells:
        return "your pawn cannot go there in one move"
    if state.left[game.to_move(state)] == 0:
        return "you have no walls left"
    kind, spot = divmod(move - game.cells, game.blocks)
    free = int(free_walls(game.board_of(state))[kind]) >> spot & 1
    return "that wall would block the last path" if free else "another wall is in the way"


def toward(game: Quoridor, state: Position, right: int, up: int) -> int | None:
    """Return the legal pawn move in a direction, or None if there is none or more than one."""
    origin_row, origin_col = divmod(state.pawns[game.to_move(state)], game.size)
    straight: list[int] = []
    diagonal: list[int] = []
    for action in game.legal_actions(state):
        move = game.turned(state, action)
        if move >= game.cells:
            continue
        row, col = divmod(move, game.size)
        north, east = row - origin_row, col - origin_col
        along, across = north * up + east * right, north * right + east * up
        if along > 0:
            (diagonal if across else straight).append(action)
    found = straight or diagonal
    return found[0] if len(found) == 1 else None
