"""A game in progress, and who can sit at the board."""

from collections.abc import Mapping, Sequence

import numpy as np

from src.core.agent import Agent, Decision
from src.core.errors import LabError, require
from src.core.game import Game
from src.core.record import read_game, write_game
from src.envs.quoridor.notation import Position
from src.envs.quoridor.rules import Quoridor
from src.web.lab import Lab, RunPlace
from src.web.players import PERSON, YOU, Player, chosen, trained_players

LONGEST_TEXT = 20_000  # characters; a game of 200 plies has about 1,000
SEATS = ("first", "second")
LEVELS = ("easy", "normal", "hard", "hell")
DEFAULT = (YOU, "normal")


def players(runs: list[RunPlace]) -> dict[str, Player]:
    levels = {level: Player(f"Search: {level}", "alphabeta", {"difficulty": level}) for level in LEVELS}
    others = {
        "mcts": Player("Monte Carlo tree search", "mcts"),
        "runner": Player("Runner, never a wall", "runner"),
        "random": Player("Random moves", "random"),
    }
    return {YOU: PERSON, **levels, **others, **trained_players(runs)}


class Company:
    """The agents of one page, each built when it is first asked for, which takes its time."""

    def __init__(self, lab: Lab, game: Quoridor, people: Mapping[str, Player]) -> None:
        self._lab, self._game, self._people = lab, game, people
        self._seated: dict[str, tuple[Agent, Game]] = {}

    def agent(self, key: str) -> Agent:
        return self._sit(key)[0]

    def decide(self, key: str, state: Position, rng: np.random.Generator) -> Decision:
        """A position is the same in every game of one size; what is observed of it is the agent's own affair."""
        agent, game = self._sit(key)
        return agent.decide(game, state, rng)

    def _sit(self, key: str) -> tuple[Agent, Game]:
        if key not in self._seated:
            player = chosen(self._people, key)
            assert player.agent is not None, "a person is no agent"
            game = self._game if player.run is None else self._lab.run_game(player.run)
            alike = isinstance(game, Quoridor) and _board(game) == _board(self._game)
            require(alike, f"{player.title} was trained on another board than this one")
            self._seated[key] = self._lab.agent(player.agent, game, player.changes), game
        return self._seated[key]


def _board(game: Quoridor) -> tuple[int, int, int]:
    return game.size, game.walls, game.ply_limit


class Match:
    """Where a game began and what was played since; what is refused changes nothing."""

    def __init__(self, game: Quoridor, start: Position) -> None:
        self.game = game
        self.begin(start, ())

    def begin(self, start: Position, actions: Sequence[int]) -> None:
        states = [start]
        for action in actions:
            states.append(self.game.play(states[-1], action))
        self.states, self.actions = states, list(actions)

    @property
    def state(self) -> Position:
        return self.states[-1]

    @property
    def mover(self) -> int:
        return self.game.to_move(self.state)

    @property
    def outcome(self) -> int | None:
        return self.game.outcome(self.state)

    def play(self, action: int) -> None:
        self.states.append(self.game.play(self.state, action))
        self.actions.append(action)

    def take_back(self, seated: Sequence[str]) -> None:
        """Go back to the last decision of a person: over the reply of an agent too. Two agents go back a ply."""
        persons = [seat for seat in (0, 1) if seated[seat] == YOU]
        earlier = range(len(self.actions) - 1, -1, -1)
        kept = next((ply for ply in earlier if not persons or self.game.to_move(self.states[ply]) in persons), None)
        if kept is None:
            raise LabError("there is no move to take back")
        del self.states[kept + 1 :], self.actions[kept:]

    def names(self) -> list[str]:
        return self.game.line_names(self.states[0], self.actions)

    def write(self) -> str:
        return write_game(self.game, self.states[0], self.actions)

    def read(self, text: str) -> None:
        """Go on from a position as the engine writes it, or from a saved game."""
        require(len(text) <= LONGEST_TEXT, f"that is {len(text)} characters long: a game has {LONGEST_TEXT} at most")
        head, *rest = text.split() or [""]
        if head == "start":
            self.begin(*read_game(self.game, text))
        else:
            self.begin(self.game.read_position(" ".join(rest) if head == "position" else text), ())


def toward(game: Quoridor, state: Position, right: int, up: int) -> int | None:
    """The legal pawn move that goes that way on the board; None where there is none, or more than one."""
    origin_row, origin_col = divmod(state.pawns[game.to_move(state)], game.size)
    straight: list[int] = []
    aslant: list[int] = []
    for action in game.legal_actions(state):
        move = game.turned(state, action)
        if move >= game.cells:
            continue
        row, col = divmod(move, game.size)
        north, east = row - origin_row, col - origin_col
        along, across = north * up + east * right, north * right + east * up
        if along > 0:
            (aslant if across else straight).append(action)
    found = straight or aslant
    return found[0] if len(found) == 1 else None
