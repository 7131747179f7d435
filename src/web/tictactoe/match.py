"""A match of tic-tac-toe, the analysis of positions by an agent, and comments on the moves of agents."""

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
from ..players import search_comment
from .board import CellValue

TABLE_RULES = {"greedy": "It uses its table", "win_in_1": "It wins at once", "block_in_1": "It blocks a row"}
LOOKED_UP = {
    "Identity": "as it is",
    "Rot90": "rotated by 90°",
    "Rot180": "rotated by 180°",
    "Rot270": "rotated by 270°",
    "FlipVertical": "mirrored top to bottom",
    "FlipHorizontal": "mirrored left to right",
    "FlipMainDiagonal": "mirrored along the main diagonal",
    "FlipAntiDiagonal": "mirrored along the other diagonal",
}


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
    comment: str
    canonical: Canonical | None  # the table entry it used, if any


def analyze(game: TicTacToe, agent: Agent, state: str) -> Analysis:
    lines = agent.analyze(game, state, game.num_actions)
    values = {line.actions[0]: CellValue(line.score, line.score == lines[0].score) for line in lines}
    decision = agent.decide(game, state, np.random.default_rng(0))
    canonical = game.canonical(state) if "transform" in decision.info else None
    return Analysis(values, decision.action, comment(decision.info), canonical)


def comment(info: Mapping[str, Any]) -> str:
    """Describe the info of a decision in a sentence, or return an empty text."""
    match info:
        case {"rule": name, "transform": transform, "best_q": best}:
            used = f"{TABLE_RULES[name]}. Looked up {LOOKED_UP[transform]}"
            return f"{used}, the best move has the value {best + 0.0:.3g}."
        case {"score": score, "depth": depth, "nodes": nodes, "line": line}:
            decided, _, plies = score.partition("-in-")
            seen = f"a {decided} in {plies}" if plies else f"a score of {score}"
            return f"It sees {seen}, {depth} plies deep in {nodes} positions: {line.replace(',', ' ')}."
        case {"visits": _, "simulations": _, "value": _}:
            return search_comment(info)
        case {"value": value}:
            return f"It values the position at {value:.3g}, where a win is 1 and a loss -1."
    return ""
