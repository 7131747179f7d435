"""A match of tic-tac-toe, and what an agent thinks of a position."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from src.core.errors import require
from src.core.play.agent import Agent
from src.core.play.game import Canonical
from src.envs.tictactoe.rules import STONES, TicTacToe
from src.web.match import Match
from src.web.tictactoe.picture import Worth
from src.web.tictactoe.words import remark_of


class TicTacToeMatch(Match[str, int, Mapping[str, Any]]):
    no_move_of_a_person = "there is no move of yours to take back"

    def __init__(self, game: TicTacToe, rng: np.random.Generator, persons: Collection[int]) -> None:
        super().__init__(game, lambda: game.initial(rng), persons)

    def play_person(self, move: int) -> None:
        """A person's move; an agent's turn is not theirs to use."""
        require(self.is_over or self.waits_for_person, f"it is {STONES[self.seat]}'s turn, which an agent plays")
        self.play(move)


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
    filed_as = game.canonical(state) if "transform" in decision.info else None
    return Opinion(worth, decision.action, remark_of(decision.info), filed_as)
