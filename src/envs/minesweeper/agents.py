"""The solvers as agents, by the same interface as any other player."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from src.core.errors import require
from src.core.play.agent import Agent, Decision
from src.core.play.game import Game, Trait
from src.core.threads import map_in_threads
from src.envs.minesweeper.game import Minesweeper, View
from src.envs.minesweeper.solver import choose, exact_moves, heuristic_moves, rules_moves


def first_reveal(rows: int, cols: int) -> int:
    """The middle of the board, where a cascade has the most room."""
    return rows // 2 * cols + cols // 2


class SolverAgent(Agent):
    """`info` tells whether the reveal is a guess, its risk (chance of a mine) and what it rests on."""

    needs = frozenset({Trait.ONE_PLAYER})
    deterministic = True
    counters = ("guess",)
    games_in_step = 128  # shared among threads: the solvers are compiled and let go of the interpreter
    moves: ClassVar[Callable]

    def check(self, game: Game) -> None:
        super().check(game)
        require(isinstance(game, Minesweeper), "it solves Minesweeper and nothing else")

    def decide(self, game: Game, view: View, rng: np.random.Generator) -> Decision:
        if (view.visible < 0).all():  # the mines are laid by the first reveal, away from it
            info = {"guess": False, "risk": 0.0, "reason": "the first reveal is safe"}
            return Decision(first_reveal(*view.visible.shape), info)
        choice = choose(view.visible, view.mines, type(self).moves)
        guess = choice.action is not None and not choice.certain
        info = {"guess": guess, "risk": choice.mine_probability, "reason": choice.reason}
        return Decision(choice.action, info, choice.plan)

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        return map_in_threads(lambda job: self.decide(game, *job), list(zip(views, rngs, strict=True)))


class RulesAgent(SolverAgent):
    """Reveals what the two classic rules prove, and stops where they prove nothing."""

    moves = rules_moves


class HeuristicAgent(SolverAgent):
    """The same, but guesses the cell of the smallest local mine probability."""

    moves = heuristic_moves


class ExactAgent(SolverAgent):
    """Exact probabilities, and the strongest guess that can be found from them."""

    moves = exact_moves
