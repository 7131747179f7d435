from functools import cache

import numpy as np
import pytest

from src.algos.minimax import MinimaxAgent
from src.core.play.agent import Agent, Decision
from src.core.play.arena import walk_replies
from src.envs.tictactoe.game import TicTacToe
from tests.envs.tictactoe.test_rules import STATES

GAME, ORACLE = TicTacToe(symmetric=True), MinimaxAgent()


class LowestBest(Agent):
    """The oracle with deterministic tie-breaking, so that its lines can be enumerated."""

    deterministic = True

    def decide(self, game, view, rng):
        return Decision(ORACLE.best_actions(game, view)[0])


def test_the_value_of_the_game_is_a_draw():
    assert ORACLE.value(GAME, "." * 9) == 0


def test_perfect_play_loses_no_line():
    for seat in (0, 1):
        tally = walk_replies(GAME, LowestBest(), seat)
        assert (tally.wins, tally.draws, tally.losses) == ((99, 2, 0), (498, 183, 0))[seat]


@pytest.mark.parametrize(("seat", "most"), [(0, 0.9948), (1, 0.9164)])
def test_the_most_a_never_losing_player_wins_against_a_random_one(seat, most):
    @cache
    def chance(state: str) -> float:
        """To win from here without ever giving away the value of the game."""
        outcome = GAME.outcome(state)
        if outcome is not None:
            return float(outcome == (1 if seat == 0 else -1))
        if GAME.to_move(state) == seat:
            safe = [
                action for action in GAME.legal_actions(state) if -ORACLE.value(GAME, GAME.play(state, action)) >= 0
            ]
            return max(chance(GAME.play(state, action)) for action in safe)
        return float(np.mean([chance(GAME.play(state, action)) for action in GAME.legal_actions(state)]))

    assert chance("." * 9) == pytest.approx(most, abs=5e-5)


def test_it_plays_every_best_move_at_times():
    rng = np.random.default_rng(0)
    for state in STATES[:300:7]:
        if GAME.outcome(state) is None:
            played = {ORACLE.decide(GAME, state, rng).action for _ in range(100)}
            assert played == set(ORACLE.best_actions(GAME, state))
