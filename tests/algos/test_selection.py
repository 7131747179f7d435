"""Selection of the best checkpoint."""

import pytest

from src.algos.minimax import MinimaxAgent
from src.algos.selection import Selection, selection_error, selection_metrics, selection_score
from src.core.play.agent import Agent, Decision, RandomAgent
from src.core.play.arena import walk_replies
from src.core.play.curriculum import Curriculum
from src.core.runs.run import Run
from src.envs.tictactoe.game import TicTacToe
from src.envs.two_player_env import OutcomeReward, VersusEnv
from tests.algos.test_imitation import imitation
from tests.algos.test_maskable_ppo import learner as maskable_ppo
from tests.algos.test_ppo import PLAIN_WEIGHTS, minesweeper, ppo, run_in

REWARD = OutcomeReward(1.0, 0.0, -1.0)


class Lowest(Agent):
    deterministic = True

    def decide(self, game, view, rng):
        return Decision(game.legal_actions(view)[0])


def test_where_every_line_can_be_walked_the_share_not_lost_counts():
    game = TicTacToe(symmetric=True)
    env = VersusEnv(game, RandomAgent(), REWARD, "random", {"random": RandomAgent()})
    lines = [walk_replies(game, Lowest(), seat) for seat in (0, 1)]
    lost, total = sum(tally.losses for tally in lines), sum(tally.games for tally in lines)
    assert 0 < lost < total
    metrics = selection_metrics(env, Lowest(), 2, seed=0)
    assert selection_score(metrics) == metrics["eval/not_lost_share"] == 1 - lost / total
    assert metrics["eval/episodes"] == 2, "the win rate is logged as well"
    assert metrics["eval/elo_low"] < metrics["eval/elo"] < metrics["eval/elo_high"]
    drawn = selection_metrics(env, RandomAgent(), 4, seed=0)
    assert selection_score(drawn) == drawn["eval/win_rate"], "a player that draws its moves has no lines to walk"
    assert selection_error(metrics) == 0, "exact"
    assert selection_error({"eval/win_rate": 0.9, "eval/episodes": 100}) == pytest.approx(0.03)


@pytest.mark.parametrize("learner", [ppo, maskable_ppo, imitation])
def test_the_best_checkpoint_allows_for_the_noise_of_its_evaluation(learner, monkeypatch, tmp_path):
    found, save_best = [], Run.save_best

    def spy(run, score, weights, error=0.0, *, keep=False):
        found.append((score, error))
        return save_best(run, score, weights, error, keep=keep)

    monkeypatch.setattr(Run, "save_best", spy)
    with run_in(tmp_path) as run:
        learner(eval_episodes=20).fit(minesweeper(), Curriculum({}, None), run)
    assert all(error == pytest.approx((score * (1 - score) / 20) ** 0.5) for score, error in found)
    assert any(error > 0 for _, error in found)


@pytest.mark.parametrize("plies", [0, 3])
def test_ppo_opens_its_evaluations_with_random_moves(plies, monkeypatch, tmp_path):
    from src.algos import trainer

    asked = []

    def spy(env, agent, episodes, seed, opening_plies):
        asked.append(opening_plies)
        return selection_metrics(env, agent, episodes, seed, opening_plies)

    monkeypatch.setattr(trainer, "selection_metrics", spy)
    env = VersusEnv(TicTacToe(symmetric=True), RandomAgent(), REWARD, "random", {"random": RandomAgent()})
    with Run(tmp_path, {"seed": 0, "checkpoint_seconds": 1e9, "composition": {}}, None) as run:
        ppo(total_steps=64, losses=PLAIN_WEIGHTS, eval_opening_plies=plies).fit(env, Curriculum({}, None), run)
    assert set(asked) == {plies}


def test_elo_counts_a_draw_as_half_and_one_player_has_none():
    game = TicTacToe(symmetric=True)
    env = VersusEnv(game, RandomAgent(), REWARD, "random", {"best": MinimaxAgent()})
    drawn = selection_metrics(env, MinimaxAgent(), 10, seed=0)
    assert (drawn["eval/win_rate"], drawn["eval/elo"]) == (0.0, pytest.approx(0.0)), "equals draw all their games"
    alone = selection_metrics(minesweeper(), RandomAgent(), 4, seed=0)
    assert not any("elo" in name for name in alone)


class Fixed(Agent):
    """Play the given move while it is legal."""

    deterministic = True

    def __init__(self, move):
        self.move = move

    def decide(self, game, view, rng):
        legal = game.legal_actions(view)
        return Decision(self.move if self.move in legal else legal[0])


@pytest.mark.parametrize("moves", [(0, 7), (7, 0), (7, 7, 0, 7)], ids=str)
def test_equal_scores_are_decided_by_the_mean_over_the_baselines(moves, tmp_path):
    """None wins against the first baseline; against a random player cell 0 wins 60% of the games, cell 7 32%."""
    game = TicTacToe(symmetric=True)
    env = VersusEnv(game, RandomAgent(), REWARD, "random", {"best": MinimaxAgent(), "random": RandomAgent()})
    with run_in(tmp_path) as run:
        selection = Selection(env, run, lambda saved: Fixed(saved["move"]), episodes=100)
        for move in moves:
            selection.save({"eval/win_rate": 0.0, "eval/episodes": 100}, {"move": move})
        assert run.best()["move"] == 0


def test_of_equal_learners_the_later_one_is_kept(tmp_path):
    env = VersusEnv(TicTacToe(symmetric=True), RandomAgent(), REWARD, "random", {"a": RandomAgent(), "b": Lowest()})
    with run_in(tmp_path) as run:
        selection = Selection(env, run, lambda saved: Fixed(4), episodes=4)
        for number in range(3):
            selection.save({"eval/win_rate": 0.5, "eval/episodes": 4}, {"number": number})
        assert run.best()["number"] == 2
        selection.save({"eval/win_rate": 0.9, "eval/episodes": 4}, {"number": 3})
        selection.save({"eval/win_rate": 0.1, "eval/episodes": 4}, {"number": 4})
        assert run.best()["number"] == 3


def test_baselines_are_not_played_unless_scores_are_equal(tmp_path):
    env = VersusEnv(TicTacToe(symmetric=True), RandomAgent(), REWARD, "random", {"a": RandomAgent(), "b": Lowest()})
    with run_in(tmp_path) as run:
        selection = Selection(env, run, lambda saved: pytest.fail("no game is needed"), episodes=4)
        for rate in (0.25, 0.5, 0.25):
            selection.save({"eval/win_rate": rate, "eval/episodes": 4}, {})
        alone = Selection(minesweeper(), run, lambda saved: pytest.fail("no game is needed"), episodes=4)
        alone.save({"eval/win_rate": 0.5, "eval/episodes": 4}, {"equal": True})
        alone.save({"eval/win_rate": 0.5, "eval/episodes": 4}, {"equal": True})
