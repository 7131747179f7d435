"""The solvers as agents, by the same interface as any other player."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, ClassVar, TypeVar

import numpy as np

from src.core.errors import require
from src.core.machine import CORES
from src.core.play.agent import Agent, Decision
from src.core.play.game import Game, Trait
from src.envs.minesweeper.game import Minesweeper, View
from src.envs.minesweeper.solver import choose, exact_moves, heuristic_moves, rules_moves

Job = TypeVar("Job")
Result = TypeVar("Result")


@cache
def pool(process: int) -> ThreadPoolExecutor:
    """Kept, as each thread keeps its buffers; one for each process, as threads do not survive a fork."""
    return ThreadPoolExecutor(CORES)


def in_threads(work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """The results in order; a share of the jobs for each thread, and none below a handful, where they cost more."""
    if len(jobs) < 8:
        return [work(job) for job in jobs]

    def share(first: int) -> list[Result]:
        return [work(job) for job in jobs[first::CORES]]

    results: list[Any] = [None] * len(jobs)
    for first, done in enumerate(pool(os.getpid()).map(share, range(CORES))):
        results[first::CORES] = done
    return results


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
        return in_threads(lambda job: self.decide(game, *job), list(zip(views, rngs, strict=True)))


class RulesAgent(SolverAgent):
    """Reveals what the two classic rules prove, and stops where they prove nothing."""

    moves = rules_moves


class HeuristicAgent(SolverAgent):
    """The same, but guesses the cell of the smallest local mine probability."""

    moves = heuristic_moves


class ExactAgent(SolverAgent):
    """Exact probabilities, and the strongest guess that can be found from them."""

    moves = exact_moves
