"""A match of tic-tac-toe, and the analysis of positions by an agent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import require
from ...core.play.agent import Agent
from ...core.play.game import Canonical
from ...envs.tictactoe.game import TicTacToe
from ...envs.tictactoe.rules import EMPTY, STONES
from ..match import Match
from .picture import CellValue
from .remarks import remark_of


class TicTacToeMatch(Match[str, int, Mapping[str, Any]]):
    no_move_message = "there is no move of yours to take back"

    def __init__(self, game: TicTacToe, rng: np.random.Generator, human_seats: Collection[int]) -> None:
        super().__init__(game, lambda: game.initial(rng), human_seats)

    def play_human(self, move: int) -> None:
        """Play the move of a person; raise `UserError` if it is an agent's turn."""
        require(self.is_over or self.waits_for_human, f"it is {STONES[self.seat]}'s turn, which an agent plays")
        require(self.is_over or self.state[move] == EMPTY, "that cell is taken")
        self.play(move)


@dataclass(frozen=True)
class Analysis:
    """The evaluation of a position by an agent."""

    values: dict[int, CellValue]  # by free cell
    move: int | None
    remark: str
    canonical: Canonical | None  # the table entry it used, if any


def analyse(game: TicTacToe, agent: Agent, state: str) -> Analysis:
    lines = agent.analyse(game, state, game.num_actions)
    values = {line.actions[0]: CellValue(line.score, line.score == lines[0].score) for line in lines}
    decision = agent.decide(game, state, np.random.default_rng(0))
    canonical = game.canonical(state) if "transform" in decision.info else None
    return Analysis(values, decision.action, remark_of(decision.info), canonical)
