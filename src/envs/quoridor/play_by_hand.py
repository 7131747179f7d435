"""Moves of a person: why one is refused, and where an arrow key leads."""

import re

from ...core.errors import UserError, require
from .game import Quoridor
from .notation import parse_move
from .rules import Position, free_walls


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


def read_moves(game: Quoridor, state: Position, text: str) -> list[int]:
    """Parse moves from a position, such as 1. e2 e8 2. e3 e3h; raise `UserError` if one is illegal."""
    moves: list[int] = []
    for word in re.sub(r"(?<![\w-])(\d+(\.+|(?![\w-]))|moves)|,|;", " ", text.lower()).split():
        name, place = word[:20], f"move {len(moves) + 1} of the list"
        require(game.outcome(state) is None, f"{place}, {name}: the game is over before it")
        try:
            reason = why_not(game, state, name)
            require(reason is None, f"{name}: {reason}")
        except UserError as error:
            raise UserError(f"{place}, {error}") from error
        moves.append(game.parse_move(state, name))
        state = game.play(state, moves[-1])
    return moves
