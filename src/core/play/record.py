"""Text records of two-player games: initial position, moves and result.

    start e1 e9 10 10 0 -
    moves e2 e8 e3 e3h
    result *

The result is 1-0, 0-1 or 1/2-1/2, first the points of the player who moves first, and * for a game in progress or
aborted.
"""

from collections.abc import Sequence
from typing import Any

from ..errors import UserError, require
from .game import TwoPlayerGame

RESULTS = {1: "1-0", 0: "1/2-1/2", -1: "0-1", None: "*"}


def write_game(game: TwoPlayerGame, start: Any, actions: Sequence[int]) -> str:
    state = start
    for action in actions:
        state = game.play(state, action)
    lines = [
        f"start {game.write_position(start)}",
        " ".join(["moves", *game.line_names(start, actions)]),
        f"result {_result(game, state)}",
    ]
    return "\n".join(lines) + "\n"


def read_game(game: TwoPlayerGame, text: str) -> tuple[Any, list[int]]:
    """Return the initial position and the actions."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    heads = [words[0] for words in lines]
    require(heads == ["start", "moves", "result"], f"a game record has the lines start, moves and result, not {heads}")
    start = state = game.read_position(" ".join(lines[0][1:]))
    actions = []
    for number, name in enumerate(lines[1][1:], start=1):
        try:
            actions.append(game.parse_move(state, name))
        except UserError as error:
            raise UserError(f"move {number} of the game record: {error}") from error
        state = game.play(state, actions[-1])
    result = _result(game, state)
    given = " ".join(lines[2][1:])
    require(lines[2][1:] == [result], f"the game record has result {given}, but its moves give {result}")
    return start, actions


def _result(game: TwoPlayerGame, state: Any) -> str:
    return RESULTS[None if game.is_aborted(state) else game.outcome(state)]
