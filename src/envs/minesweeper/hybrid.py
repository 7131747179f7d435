"""Exact inference for what can be proved, a network for which guess is best.

A guess is worth what it leads to: for every number it may show, the exact chance of that number times the network's
chance to win from there.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from src.core.errors import UserError, require
from src.core.play.agent import Decision
from src.core.play.game import Game
from src.core.ranges import Size, checked
from src.core.threads import map_in_threads
from src.envs.minesweeper.agents import SolverAgent, first_reveal
from src.envs.minesweeper.game import Minesweeper, View
from src.envs.minesweeper.solver import choice
from src.envs.minesweeper.solver.constraints import kernel, propagate_from
from src.envs.minesweeper.solver.exact import prove
from src.envs.minesweeper.solver.guess import list_guesses
from src.envs.minesweeper.solver.local import GUESSED, STUCK
from src.envs.minesweeper.solver.probability import CONSISTENT, Engine, flatten, solve, with_room

NUMBERS = 9  # that a cell may show


@runtime_checkable
class Judge(Protocol):
    """What the network is asked: how a game will end."""

    def values(self, observations: np.ndarray) -> np.ndarray:
        """(B,) from -1, a sure loss, to 1, a sure win."""


class Prospect(NamedTuple):
    """What is known of a position before the network is asked."""

    certain: np.ndarray  # cells to reveal: all that are safe, or the one that wins most of the ending; may be empty
    reason: str
    risk: np.ndarray  # (cells,) float64: mine probabilities
    guesses: np.ndarray  # (G,) cells worth a look where nothing is certain
    boards: np.ndarray  # (M, cells) int8: what a guess may lead to
    chances: np.ndarray  # (M,) the chance of each
    owner: np.ndarray  # (M,) which of the guesses leads there


class HybridAgent(SolverAgent):
    """`why` tells like a solver's, and of a guess the chance to win that it leaves."""

    counters = ("guess",)
    games_in_step = 512

    @checked
    def __init__(self, judge: Judge, candidates: Size) -> None:
        """`candidates` is how many guesses are looked into."""
        require(isinstance(judge, Judge), "agent.judge has to be a trained network: it is asked how games will end")
        self.judge, self.candidates = judge, candidates

    def check(self, game: Game) -> None:
        super().check(game)
        assert isinstance(game, Minesweeper)
        try:
            self.judge.values(np.full((1, game.rows, game.cols), -1, np.int8))
        except RuntimeError as error:
            raise UserError(
                f"agent.judge takes more than the bare board, which is all it is asked about: {error}"
            ) from error

    def decide(self, game: Game, view: View, rng: np.random.Generator) -> Decision:
        return self.decide_batch(game, [view], [rng])[0]

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        """The positions after all guesses in all games are judged in one go."""
        prospects = map_in_threads(self._prospect, views)
        boards = np.concatenate([prospect.boards for prospect in prospects])
        shape = (len(boards), *views[0].visible.shape)
        wins = (self.judge.values(boards.reshape(shape)) + 1) / 2 if len(boards) else np.zeros(0)
        decisions, first = [], 0
        for view, prospect in zip(views, prospects, strict=True):
            last = first + len(prospect.boards)
            decisions.append(self._decision(game, view, prospect, wins[first:last]))
            first = last
        return decisions

    def _prospect(self, view: View) -> Prospect:
        if (view.visible < 0).all():
            middle = np.array([first_reveal(*view.visible.shape)])
            return nothing_to_guess(middle, "the first reveal is safe", view.visible.size)
        flat, known = flatten(view.visible), np.zeros(view.visible.size, np.int8)
        risk, moves = np.zeros(flat.size), np.zeros(flat.size, np.int32)

        def attempt(engine: Engine) -> tuple[int, Prospect]:
            status, count, why, log_completions = prove(flat, known, view.mines, engine, risk, moves)
            if status != CONSISTENT or why != GUESSED:
                return status, nothing_to_guess(moves[:count], REASONS[why], flat.size, risk)
            ahead = look_ahead(flat, known, view.mines, engine, risk, log_completions, self.candidates)
            return status, Prospect(moves[:0], REASONS[why], risk, *ahead)

        return with_room(view.visible.shape, view.mines, attempt)

    def _decision(self, game: Game, view: View, prospect: Prospect, wins: np.ndarray) -> Decision:
        if prospect.certain.size:
            action, *then = prospect.certain.tolist()
            risk = float(prospect.risk[action])
            return Decision(action, {"guess": risk > 0, "risk": risk, "reason": prospect.reason}, then)
        if prospect.guesses.size == 0:
            return Decision(None, {"guess": False, "risk": 1.0, "reason": prospect.reason})
        worth = np.bincount(prospect.owner, prospect.chances * wins, minlength=prospect.guesses.size)
        action = int(prospect.guesses[worth.argmax()])
        info = {"guess": True, "risk": float(prospect.risk[action]), "reason": prospect.reason}
        return Decision(action, {**info, "win_chance": float(worth.max())})


REASONS = choice.REASONS | {STUCK: "every hidden cell is a mine", GUESSED: "leads to the best prospects"}


def nothing_to_guess(cells: np.ndarray, reason: str, size: int, risk: np.ndarray | None = None) -> Prospect:
    none = np.zeros(0, np.int64)
    risk = np.zeros(size) if risk is None else risk
    return Prospect(cells, reason, risk, none, np.zeros((0, size), np.int8), np.zeros(0), none)


@kernel
def look_ahead(
    visible: np.ndarray,
    known: np.ndarray,
    mines: int,
    e: Engine,
    risk: np.ndarray,
    log_completions: float,
    candidates: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The most promising guesses, every board they may lead to, its chance, and which guess leads there."""
    guesses = e.guess.shortlist[: min(list_guesses(visible, e, risk), candidates)].copy()
    boards = np.empty((guesses.size * NUMBERS, visible.size), np.int8)
    chances, owner = np.empty(boards.shape[0]), np.empty(boards.shape[0], np.int64)
    after, then = known.copy(), np.empty(visible.size)
    count = 0
    for g in range(guesses.size):
        cell = guesses[g]
        before, highest = visible[cell], 0
        for n in e.near[cell]:
            highest += n >= 0 and visible[n] < 0
        for number in range(highest + 1):
            visible[cell] = number
            after[:] = known
            if not propagate_from(visible, e.near, after, e.frontier, cell):
                continue
            status, log_after = solve(visible, after, mines, e, then)
            if status == CONSISTENT:
                boards[count], chances[count], owner[count] = visible, np.exp(log_after - log_completions), g
                count += 1
        visible[cell] = before
    return guesses, boards[:count].copy(), chances[:count].copy(), owner[:count].copy()
