import numpy as np
import pytest

from src.algos.mcts import MctsAgent
from src.algos.minimax import MinimaxAgent
from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.core.play.arena import evaluate
from src.envs.quoridor.search import evaluation
from src.envs.splitmix import hash_word
from src.envs.tictactoe.game import TicTacToe
from tests.envs.quoridor.making import GAME

TICTACTOE = TicTacToe(symmetric=True)


def decide(game, state, simulations=400, seed=0):
    return MctsAgent(simulations, 0.5).decide(game, state, np.random.default_rng(seed))


@pytest.mark.parametrize("state", ["XX.OO....", "X...O...X", ".X..O..X.", "XO.......", "X........"])
def test_it_finds_a_best_move_of_tictactoe(state):
    assert decide(TICTACTOE, state, 2000).action in MinimaxAgent().best_actions(TICTACTOE, state)


def test_it_takes_a_win_and_blocks_a_loss_in_quoridor():
    won = GAME.read_position("e8 a3 3 3 0 -")
    decision = decide(GAME, won)
    assert GAME.move_name(won, decision.action) == "e9"
    assert decision.info["win_rate"] > 0.9
    threatened = GAME.read_position("e4 c2 3 3 0 -")
    name = GAME.move_name(threatened, decide(GAME, threatened, 1000).action)
    assert name in ("b1h", "c1h"), "anything else loses at once"


def test_the_same_generator_gives_the_same_move():
    state = GAME.read_position("e4 e6 8 8 6 d4h,e7v")
    one, other = decide(GAME, state, 50), decide(GAME, state, 50)
    assert one.action == other.action
    np.testing.assert_equal(one.info, other.info)


def test_twenty_of_a_hundred_numbers_place_a_wall_in_a_playout():
    """The first number of a playout follows from its seed; without a wall the pawn steps onto its goal."""
    state = GAME.read_position("e8 a3 3 3 0 -")
    for remainder in (0, 19, 20, 99):
        numbers = (int(hash_word(np.uint64(seed) ^ hash_word(np.uint64(1)))) >> 1 for seed in range(10_000))
        seed = next(seed for seed, number in enumerate(numbers) if number % 100 == remainder)
        board = GAME.board_of(state)
        assert evaluation.play_out(board, np.zeros(GAME.num_actions, np.int64), np.uint64(seed)) == 1
        assert (int(board["ply"]) == 1) is (remainder >= 20)


@pytest.mark.slow
def test_it_beats_random_play():
    score = evaluate(GAME, MctsAgent(40, 0.5), RandomAgent(), 10, seed=0, opening_plies=4)
    assert score.total.wins >= 9
    score = evaluate(TICTACTOE, MctsAgent(100, 0.5), RandomAgent(), 40, seed=0)
    assert score.total.losses <= 4


def test_analysis_ranks_by_visits():
    lines = MctsAgent(300, 0.5).analyze(GAME, GAME.read_position("e8 a3 3 3 0 -"), 3)
    assert GAME.move_name(GAME.read_position("e8 a3 3 3 0 -"), lines[0].actions[0]) == "e9"
    assert float(lines[0].score) > 0.9
    assert len(lines) == 3


@pytest.mark.parametrize(("simulations", "exploration"), [(0, 1.0), (10, -1.0)])
def test_settings_that_cannot_be_are_refused(simulations, exploration):
    with pytest.raises(UserError, match="must be a"):
        MctsAgent(simulations, exploration)
