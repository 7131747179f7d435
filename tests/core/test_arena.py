import numpy as np
import pytest

from src.core.agent import Agent, Decision, RandomAgent
from src.core.arena import Tally, evaluate, wilson_interval
from src.envs.tictactoe.rules import TicTacToe

GAME = TicTacToe()


class Quitter(Agent):
    tallies = ("guess",)

    def decide(self, game, view, rng):
        return Decision(None, {"guess": 2})


class InStep(RandomAgent):
    games_in_step = 7


@pytest.mark.parametrize(
    ("wins", "games", "low", "high"),
    [(5, 10, 0.2366, 0.7634), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (90, 100, 0.8256, 0.9448)],
)
def test_wilson_interval_matches_published_values(wins, games, low, high):
    assert wilson_interval(wins, games) == pytest.approx((low, high), abs=1e-4)


def test_wilson_interval_of_no_games_says_nothing():
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert Tally(0, 0, 0).as_dict()["win_rate"] is None


def test_the_same_seed_gives_the_same_games():
    first = evaluate(GAME, RandomAgent(), RandomAgent(), 50, seed=4)
    assert first.outcomes == evaluate(GAME, RandomAgent(), RandomAgent(), 50, seed=4).outcomes
    assert first.outcomes != evaluate(GAME, RandomAgent(), RandomAgent(), 50, seed=5).outcomes


def test_a_game_depends_on_its_number_alone():
    few, many = (evaluate(GAME, RandomAgent(), RandomAgent(), n, seed=1).outcomes for n in (20, 60))
    in_step = evaluate(GAME, InStep(), RandomAgent(), 60, seed=1).outcomes
    assert many[:20] == few
    assert in_step == many


def test_seats_alternate_and_are_counted_apart():
    score = evaluate(GAME, RandomAgent(), RandomAgent(), 2001, seed=0)
    assert (score.of_seat(0).games, score.of_seat(1).games) == (1001, 1000)
    assert score.of_seat(0).wins + score.of_seat(1).wins == score.total.wins
    # Random play wins 58.5% of games for the first player and 28.8% for the second.
    assert 0.53 < score.of_seat(0).win_rate < 0.64
    assert 0.24 < score.of_seat(1).win_rate < 0.34


def test_stopping_is_losing_in_either_seat():
    score = evaluate(GAME, Quitter(), RandomAgent(), 10, seed=0)
    assert score.outcomes == [-1] * 10
    assert score.figures == {"guess": 2.0}
    assert evaluate(GAME, RandomAgent(), Quitter(), 10, seed=0).outcomes == [1] * 10


def test_only_the_agents_own_tallies_count():
    class Counting(RandomAgent):
        tallies = ("moves",)

        def decide(self, game, view, rng):
            return Decision(super().decide(game, view, rng).action, {"moves": 1})

    both = Counting()
    score = evaluate(GAME, both, both, 200, seed=0)
    assert 3.0 < score.figures["moves"] < 5.0  # about half of a game's seven or eight plies


def test_fixed_starts_are_played_in_order():
    finished = ["XXXOO....", "XOXXOOOXX", "XX.OOOX.."]
    score = evaluate(GAME, RandomAgent(), RandomAgent(), 3, seed=0, starts=finished)
    assert score.outcomes == [1, 0, -1]


def test_progress_reaches_the_end():
    seen: list[int] = []
    evaluate(GAME, InStep(), RandomAgent(), 20, seed=0, on_progress=seen.append)
    assert seen == [7, 14, 20]


def test_evaluation_never_draws_from_a_training_stream():
    from src.core.seeding import generator

    training = generator(0, "training").integers(0, 2**63, 1000)
    evaluation = np.concatenate([generator(0, "evaluation", n).integers(0, 2**63, 10) for n in range(1000)])
    assert not set(training.tolist()) & set(evaluation.tolist())
