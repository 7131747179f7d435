"""Exact inference for certain cells, and a network to choose the best guess.

The value of a guess is the expectation over the numbers it may show: the exact probability of each number times the
network's win probability after it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ...core.errors import UserError, require
from ...core.parallel import map_in_threads
from ...core.play.agent import Decision
from ...core.play.game import Game
from ...core.ranges import Size, checked
from .agents import SolverAgent, first_reveal
from .game import Minesweeper, View
from .solver import choice
from .solver.constraints import kernel, propagate_from
from .solver.exact import prove
from .solver.guess import list_guesses
from .solver.local import GUESSED, STUCK
from .solver.probability import CONSISTENT, Engine, flatten, solve, with_room

NUMBERS = 9  # that a cell may show


@runtime_checkable
class ValueNetwork(Protocol):
    """A network that predicts the outcome of a game."""

    def values(self, observations: np.ndarray) -> np.ndarray:
        """Return values (B,) from -1, a certain loss, to 1, a certain win."""


class Options(NamedTuple):
    """The result of exact inference: certain cells, or guesses and their successors for the network."""

    certain: np.ndarray  # cells to reveal: all safe ones, or the best one of a searched endgame; may be empty
    reason: str
    risk: np.ndarray  # (cells,) float64: mine probabilities
    guesses: np.ndarray  # (G,) candidate cells if nothing is certain
    boards: np.ndarray  # (M, cells) int8: successors of the guesses
    chances: np.ndarray  # (M,) their probabilities
    owner: np.ndarray  # (M,) index of the guess that leads there


class HybridAgent(SolverAgent):
    """`info` is that of a solver; for a guess also the win probability after it."""

    counters = ("guess",)
    games_in_step = 512

    @checked
    def __init__(self, value_net: ValueNetwork, candidates: Size) -> None:
        """`candidates` is the number of guesses to evaluate."""
        is_network = isinstance(value_net, ValueNetwork)
        require(is_network, "agent.value_net must be a trained network: it predicts the outcome of games")
        self.value_net, self.candidates = value_net, candidates

    def check(self, game: Game) -> None:
        super().check(game)
        assert isinstance(game, Minesweeper)
        try:
            self.value_net.values(np.full((1, game.rows, game.cols), -1, np.int8))
        except RuntimeError as error:
            raise UserError(
                f"agent.value_net needs extra planes, but only the board is given to it: {error}"
            ) from error

    def decide(self, game: Game, view: View, rng: np.random.Generator) -> Decision:
        return self.decide_batch(game, [view], [rng])[0]

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        """Decide for all games; the network evaluates the positions after all guesses in one batch."""
        options = map_in_threads(self._options, views)
        boards = np.concatenate([one.boards for one in options])
        shape = (len(boards), *views[0].visible.shape)
        wins = (self.value_net.values(boards.reshape(shape)) + 1) / 2 if len(boards) else np.zeros(0)
        decisions, first = [], 0
        for one in options:
            last = first + len(one.boards)
            decisions.append(self._decision(one, wins[first:last]))
            first = last
        return decisions

    def _options(self, view: View) -> Options:
        if (view.visible < 0).all():
            middle = np.array([first_reveal(*view.visible.shape)])
            return _without_guesses(middle, "the first reveal is safe", view.visible.size)
        flat, known = flatten(view.visible), np.zeros(view.visible.size, np.int8)
        risk, moves = np.zeros(flat.size), np.zeros(flat.size, np.int32)

        def attempt(engine: Engine) -> tuple[int, Options]:
            status, count, reason, log_completions = prove(flat, known, view.mines, engine, risk, moves)
            if status != CONSISTENT or reason != GUESSED:
                return status, _without_guesses(moves[:count], REASONS[reason], flat.size, risk)
            ahead = look_ahead(flat, known, view.mines, engine, risk, log_completions, self.candidates)
            return status, Options(moves[:0], REASONS[reason], risk, *ahead)

        return with_room(view.visible.shape, view.mines, attempt)

    def _decision(self, options: Options, wins: np.ndarray) -> Decision:
        if options.certain.size:
            action, *plan = options.certain.tolist()
            risk = float(options.risk[action])
            return Decision(action, {"guess": risk > 0, "risk": risk, "reason": options.reason}, plan)
        if options.guesses.size == 0:
            return Decision(None, {"guess": False, "risk": 1.0, "reason": options.reason})
        win_chances = np.bincount(options.owner, options.chances * wins, minlength=options.guesses.size)
        action = int(options.guesses[win_chances.argmax()])
        info = {"guess": True, "risk": float(options.risk[action]), "reason": options.reason}
        return Decision(action, {**info, "win_chance": float(win_chances.max())})


REASONS = choice.REASONS | {STUCK: "every hidden cell is a mine", GUESSED: "the guess with the best win probability"}


def _without_guesses(cells: np.ndarray, reason: str, size: int, risk: np.ndarray | None = None) -> Options:
    none = np.zeros(0, np.int64)
    risk = np.zeros(size) if risk is None else risk
    return Options(cells, reason, risk, none, np.zeros((0, size), np.int8), np.zeros(0), none)


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
    """Return the most promising guesses, all boards they may lead to, their probabilities, and the guess of each."""
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
