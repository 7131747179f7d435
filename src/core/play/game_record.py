"""Text records of two-player games: initial position, moves and result.

    start e1 e9 10 10 0 -
    moves e2 e8 e3 e3h
    result *

The result is 1-0, 0-1 or 1/2-1/2, first the points of the player who moves first, and * for a game in progress or
aborted. `ReplayedGame` makes every game with named moves fit for such records and for the line protocol.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import UserError, require
from .game import Game, NamesMoves, TwoPlayerGame

RESULTS = {1: "1-0", 0: "1/2-1/2", -1: "0-1", None: "*"}
FORM = "a position of this game is `seed N` followed by the moves so far"
LARGEST_SEED = 2**32 - 1


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


class Replay(NamedTuple):
    """A position: the seed determines all chance, so seed and actions determine the state."""

    seed: int
    actions: tuple[int, ...] = ()


class ReplayedGame(TwoPlayerGame[Replay]):
    """Any game with named moves, for one player or two; states are recomputed from seed and actions."""

    def __init__(self, game: Game) -> None:
        named = isinstance(game, NamesMoves)
        require(named, f"{type(game).__name__} has no move_name, which the line protocol needs")
        self.inner, self.traits, self.num_actions = game, game.traits, game.num_actions  # type: ignore[misc]
        self._latest: tuple[Replay, Any] | None = None  # a position and its state in the inner game

    def initial(self, rng: np.random.Generator) -> Replay:
        return Replay(int(rng.integers(LARGEST_SEED + 1)))

    def to_move(self, state: Replay) -> int:
        return self.inner.to_move(self._state(state))

    def view(self, state: Replay) -> Any:
        return self.inner.view(self._state(state))

    def legal_actions(self, view: Any) -> list[int]:
        return self.inner.legal_actions(view)

    def play(self, state: Replay, action: int) -> Replay:
        after = state._replace(actions=(*state.actions, action))
        before, self._latest = self._state(state), None  # the game may modify it in place
        self._latest = after, self.inner.play(before, action)
        return after

    def outcome(self, state: Replay) -> int | None:
        return self.inner.outcome(self._state(state))

    def is_aborted(self, state: Replay) -> bool:
        return self.inner.is_aborted(self._state(state))

    def observe(self, view: Any) -> np.ndarray:
        return self.inner.observe(view)

    def render(self, state: Replay) -> str:
        return self.inner.render(self._state(state))

    def image(self, state: Replay) -> np.ndarray:
        return self.inner.image(self._state(state))

    def move_name(self, state: Replay, action: int) -> str:
        assert isinstance(self.inner, NamesMoves)
        return self.inner.move_name(self._state(state), action)

    def parse_move(self, state: Replay, text: str) -> int:
        legal = self.legal_actions(self.view(state))
        found = next((action for action in legal if self.move_name(state, action) == text), None)
        if found is None:
            names = [self.move_name(state, action) for action in legal]
            some = " ".join(names[:20]) + (" ..." if len(names) > 20 else "")
            raise UserError(f"{text} is not a legal move here: {f'legal are {some}' if names else 'the game is over'}")
        return found

    def write_position(self, state: Replay) -> str:
        return " ".join(["seed", str(state.seed), *self.line_names(Replay(state.seed), state.actions)])

    def read_position(self, text: str) -> Replay:
        words = text.split()
        number = words[1] if len(words) > 1 and words[0] == "seed" else ""
        whole = number.isascii() and number.isdigit() and len(number) <= 10 and int(number) <= LARGEST_SEED
        require(whole, f"{FORM}, with N from 0 to {LARGEST_SEED}")
        state = Replay(int(number))
        for name in words[2:]:
            state = self.play(state, self.parse_move(state, name))
        return state

    def perft(self, state: Replay, depth: int) -> int:
        raise UserError("perft is not available for a game with chance or hidden information")

    def _state(self, replay: Replay) -> Any:
        """Return the state of the inner game; the latest one is cached."""
        if self._latest is None or self._latest[0] != replay:
            state = self.inner.initial(np.random.default_rng(replay.seed))
            for action in replay.actions:
                state = self.inner.play(state, action)
            self._latest = replay, state
        return self._latest[1]
