"""A game of tic-tac-toe between whoever sits down, moved forward and back by the engine."""

from dataclasses import dataclass, field

import numpy as np

from src.core.agent import Agent
from src.core.errors import LabError, require
from src.core.game import Canonical
from src.envs.tictactoe.rules import STONES, TicTacToe
from src.web.tictactoe.picture import Worth
from src.web.tictactoe.words import remark_of


@dataclass
class Match:
    game: TicTacToe
    rng: np.random.Generator
    persons: frozenset[int]  # the seats of people
    states: list[str] = field(init=False)  # from the start to now
    moves: list[int] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what the mover said of each move

    def __post_init__(self) -> None:
        self.states = [self.game.initial(self.rng)]

    @property
    def state(self) -> str:
        return self.states[-1]

    @property
    def over(self) -> bool:
        return self.game.outcome(self.state) is not None

    @property
    def waits_for_person(self) -> bool:
        return not self.over and self.game.to_move(self.state) in self.persons

    def play(self, move: int, remark: str = "") -> None:
        self.states.append(self.game.play(self.state, move))
        self.moves.append(move)
        self.remarks.append(remark)

    def play_person(self, move: int) -> None:
        """A person's move; an agent's turn is not theirs to use."""
        stone = STONES[self.game.to_move(self.state)]
        require(self.over or self.waits_for_person, f"it is {stone}'s turn, which an agent plays")
        self.play(move)

    def undo(self) -> None:
        """Back to where a person last had the move, or by one move where no person plays."""
        if not self.moves:
            raise LabError("there is no move to take back")
        seats = [self.game.to_move(state) for state in self.states[:-1]]
        kept = max((ply for ply, seat in enumerate(seats) if seat in self.persons), default=None)
        if kept is None and self.persons:
            raise LabError("there is no move of yours to take back")
        kept = len(self.moves) - 1 if kept is None else kept
        del self.states[kept + 1 :], self.moves[kept:], self.remarks[kept:]

    def headline(self) -> str:
        outcome = self.game.outcome(self.state)
        if outcome is None:
            stone = STONES[self.game.to_move(self.state)]
            return f"Your turn: {stone}" if self.waits_for_person else f"{stone} to move"
        return "A draw" if outcome == 0 else f"{STONES[0] if outcome == 1 else STONES[1]} wins"


@dataclass(frozen=True)
class Opinion:
    """What an agent makes of a position that is not over."""

    worth: dict[int, Worth]  # of each free cell
    move: int | None
    remark: str
    filed_as: Canonical | None  # where it looked the position up, if it did


def opinion(game: TicTacToe, agent: Agent, state: str) -> Opinion:
    lines = agent.analyse(game, state, game.num_actions)
    worth = {line.actions[0]: Worth(line.score, line.score == lines[0].score) for line in lines}
    decision = agent.decide(game, state, np.random.default_rng(0))
    filed_as = game.canonical(state) if "transform" in decision.why else None
    return Opinion(worth, decision.action, remark_of(decision.why), filed_as)
