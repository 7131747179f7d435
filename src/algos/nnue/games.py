"""Games of a search against itself, whose positions are labeled with the score of the search and the outcome."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ...core.play.capabilities import LearnedEvaluation
from ...core.play.game import Game, TwoPlayerGame, outcome_for_seat
from ...core.play.search_interface import DECIDED
from ...core.ranges import Count, Fraction, Plies, check_fields
from ...core.seeding import draw, generator
from ..alphabeta import AlphaBetaAgent

PROVEN = 32_000  # the stored score of a proven win; other scores are of smaller magnitude
NARROWED = 0.5  # fraction of the random moves that are drawn from the candidates of the search, not from all moves

Search = Callable[[Any], tuple[int, int]]  # returns score and action


@dataclass(frozen=True)
class SelfPlayConfig:
    nodes: Count
    opening_plies: Plies
    random_moves: Fraction

    def __post_init__(self) -> None:
        check_fields(self)


class PlayedGame(NamedTuple):
    records: np.ndarray  # of the positions that were searched, labeled
    outcome: int  # for the player who moves first
    plies: int


@dataclass(frozen=True)
class GamePlan:
    """Everything that a game depends on, besides its number: which process plays it makes no difference."""

    game: TwoPlayerGame
    first_player: AlphaBetaAgent
    network: Any  # of the search, see `LearnedEvaluation.quantized`; None: `first_player` plays
    config: SelfPlayConfig
    seed: int
    generation: int

    def play(self, number: int) -> PlayedGame:
        rng = generator(self.seed, "nnue", self.generation, number)
        return play_game(self.game, self._search(rng), self.config, rng)

    def _search(self, rng: np.random.Generator) -> Search:
        if self.network is not None:
            return evaluation_of(self.game).search(self.network, self.config.nodes)

        def search(state: Any) -> tuple[int, int]:
            found = self.first_player.search(self.game, state, rng)
            return found.score, found.line[0]

        return search


def evaluation_of(game: Game) -> LearnedEvaluation:
    """Return `learned_evaluation(game)` of the module beside the game, which need not know its search."""
    package = type(game).__module__.rpartition(".")[0]
    evaluation: LearnedEvaluation = import_module(f"{package}.learned_evaluation").learned_evaluation(game)
    return evaluation


def play_game(game: TwoPlayerGame, search: Search, config: SelfPlayConfig, rng: np.random.Generator) -> PlayedGame:
    """Play a game, which ends when a search proves its result.

    The result of a position is the outcome of the game, or, if a random move follows, the score of the position before
    that move: the outcome would say more about the random move than about the position.
    """
    state, opening, plies = game.initial(rng), int(rng.integers(config.opening_plies + 1)), 0
    states: list[Any] = []
    scores: list[int] = []
    results: list[int] = []

    def add_results(mover: int, score: int) -> None:
        """Label the positions without a result; `score` is from the view of `mover`."""
        results.extend(score if game.to_move(state) == mover else -score for state in states[len(results) :])

    while (outcome := game.outcome(state)) is None:
        if plies < opening:
            state, plies = game.play(state, random_move(game, state, rng)), plies + 1
            continue
        score, action = search(state)
        states.append(state)
        scores.append(stored_score(score))
        if abs(score) > DECIDED:
            outcome = outcome_for_seat(game.to_move(state), 1 if score > 0 else -1)
            break
        if rng.random() < config.random_moves:
            add_results(game.to_move(state), scores[-1])
            action = random_move(game, state, rng)
        state, plies = game.play(state, action), plies + 1
    add_results(0, PROVEN * outcome)
    records = evaluation_of(game).records(states)
    records["score"], records["result"] = scores, results
    return PlayedGame(records, outcome, plies)


def random_move(game: TwoPlayerGame, state: Any, rng: np.random.Generator) -> int:
    """Return a random move: of all legal ones, or of the candidates of the search."""
    return draw(rng, game.candidates(state, False) if rng.random() < NARROWED else game.legal_actions(state))


def stored_score(score: int) -> int:
    if abs(score) > DECIDED:
        return PROVEN if score > 0 else -PROVEN
    return max(1 - PROVEN, min(PROVEN - 1, score))
