"""The solvers as agents."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...core.errors import require
from ...core.parallel import map_in_threads
from ...core.play.agent import Agent, Decision
from ...core.play.game import Game, Trait
from .game import Minesweeper, View
from .solver import choose, exact_moves, heuristic_moves, rules_moves


def first_reveal(rows: int, cols: int) -> int:
    """Return the cell in the middle of the board, where a cascade has the most room."""
    return rows // 2 * cols + cols // 2


class SolverAgent(Agent):
    """`info` has whether the reveal is a guess, its risk (the probability of a mine) and the reason."""

    needs = frozenset({Trait.ONE_PLAYER})
    deterministic = True
    counters = ("guess",)
    games_in_step = 128  # split over threads: the compiled solvers release the GIL
    moves: ClassVar[Callable]

    def check(self, game: Game) -> None:
        super().check(game)
        require(isinstance(game, Minesweeper), "it plays Minesweeper only")

    def decide(self, game: Game, view: View, rng: np.random.Generator) -> Decision:
        if (view.visible < 0).all():  # the first reveal is always safe
            info = {"guess": False, "risk": 0.0, "reason": "the first reveal is safe"}
            return Decision(first_reveal(*view.visible.shape), info)
        choice = choose(view.visible, view.mines, type(self).moves)
        guess = choice.action is not None and not choice.certain
        info = {"guess": guess, "risk": choice.mine_probability, "reason": choice.reason}
        return Decision(choice.action, info, choice.plan)

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        return map_in_threads(lambda job: self.decide(game, *job), list(zip(views, rngs, strict=True)))


class RulesAgent(SolverAgent):
    """Reveals the cells that the two classic rules prove safe; stops if there are none."""

    moves = rules_moves


class HeuristicAgent(SolverAgent):
    """Like `RulesAgent`, but guesses the cell with the smallest local mine probability."""

    moves = heuristic_moves


class ExactAgent(SolverAgent):
    """Uses exact mine probabilities and searches for the best guess."""

    moves = exact_moves
