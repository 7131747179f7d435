"""Agents: the solvers, and exact inference with a network to choose among guesses."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ...core.errors import UserError, require
from ...core.parallel import map_in_threads
from ...core.play.agent import Agent, Decision
from ...core.play.game import Game, Trait
from ...core.ranges import Size, checked
from .game import Minesweeper, View
from .solver import choose, exact_moves, heuristic_moves, rules_moves
from .solver.engine import CONSISTENT, GUESSED, STUCK, Engine, flatten, kernel, run_with_engine
from .solver.exact import REASONS, prove
from .solver.guess import list_guesses
from .solver.probability import solve
from .solver.single_point import propagate_from

NUMBERS = 9  # that a cell may show
HYBRID_REASONS = REASONS | {STUCK: "every hidden cell is a mine", GUESSED: "the guess with the best win probability"}


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
            rows, cols = view.visible.shape  # in the middle of the board a cascade has the most room
            info = {"guess": False, "risk": 0.0, "reason": "the first reveal is safe"}
            return Decision(rows // 2 * cols + cols // 2, info)
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


@runtime_checkable
class ValueNetwork(Protocol):
    """A network that predicts the outcome of a game."""

    def values(self, observations: np.ndarray) -> np.ndarray:
        """Return values (B,) from -1, a certain loss, to 1, a certain win."""


class Guesses(NamedTuple):
    """Candidates where nothing is certain, and the boards that they may lead to, for the network."""

    risk: np.ndarray  # (cells,) float64: mine probabilities
    cells: np.ndarray  # (G,)
    boards: np.ndarray  # (M, cells) int8: successors of the guesses
    chances: np.ndarray  # (M,) their probabilities
    owner: np.ndarray  # (M,) index of the guess that leads there


class HybridAgent(SolverAgent):
    """Reveals certain cells, and chooses guesses by a network; `info` also has the win probability after a guess.

    The value of a guess is the expectation over the numbers it may show: the exact probability of each number times the
    win probability that the network predicts for the board with it.
    """

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
        found = map_in_threads(lambda view: self._infer(game, view, rngs[0]), views)
        boards, wins = [one.boards for one in found if isinstance(one, Guesses)], np.zeros(0)
        if boards:
            wins = (self.value_net.values(np.concatenate(boards).reshape(-1, *views[0].visible.shape)) + 1) / 2
        decisions: list[Decision] = []
        for one in found:
            if isinstance(one, Decision):
                decisions.append(one)
                continue
            here, wins = wins[: len(one.boards)], wins[len(one.boards) :]
            win_chances = np.bincount(one.owner, one.chances * here, minlength=one.cells.size)
            action = int(one.cells[win_chances.argmax()])
            info = {"guess": True, "risk": float(one.risk[action]), "reason": HYBRID_REASONS[GUESSED]}
            decisions.append(Decision(action, {**info, "win_chance": float(win_chances.max())}))
        return decisions

    def _infer(self, game: Game, view: View, rng: np.random.Generator) -> Decision | Guesses:
        """Return the reveal of certain cells, or of the best cell of a searched endgame, or the guesses to compare."""
        if (view.visible < 0).all():
            return super().decide(game, view, rng)
        flat = flatten(view.visible)

        def attempt(engine: Engine) -> tuple[int, Decision | Guesses]:
            status, count, reason, log_completions = prove(flat, view.mines, engine)
            if status == CONSISTENT and reason == GUESSED:
                ahead = look_ahead(flat, view.mines, engine, log_completions, self.candidates)
                return status, Guesses(engine.probability.copy(), *ahead)
            if count == 0:
                return status, Decision(None, {"guess": False, "risk": 1.0, "reason": HYBRID_REASONS[reason]})
            action, *plan = engine.moves[:count].tolist()
            risk = float(engine.probability[action])
            return status, Decision(action, {"guess": risk > 0, "risk": risk, "reason": HYBRID_REASONS[reason]}, plan)

        return run_with_engine(view.visible.shape, view.mines, attempt)


@kernel
def look_ahead(
    visible: np.ndarray, mines: int, e: Engine, log_completions: float, candidates: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the most promising guesses, all boards they may lead to, their probabilities, and the guess of each."""
    guesses = e.guess.shortlist[: min(list_guesses(visible, e), candidates)].copy()
    boards = np.empty((guesses.size * NUMBERS, visible.size), np.int8)
    chances, owner = np.empty(boards.shape[0]), np.empty(boards.shape[0], np.int64)
    after, count = e.guess.after, 0
    for g in range(guesses.size):
        cell = guesses[g]
        before, highest = visible[cell], 0
        for n in e.near[cell]:
            highest += n >= 0 and visible[n] < 0
        for number in range(highest + 1):
            visible[cell] = number
            after[:] = e.known
            if not propagate_from(visible, after, e, cell):
                continue
            status, log_after = solve(visible, after, mines, e, e.guess.chance)
            if status == CONSISTENT:
                boards[count], chances[count], owner[count] = visible, np.exp(log_after - log_completions), g
                count += 1
        visible[cell] = before
    return guesses, boards[:count].copy(), chances[:count].copy(), owner[:count].copy()
