"""By what a learner of networks chooses its best weights."""

import pytest

from src.algos.minimax import MinimaxAgent
from src.algos.network import selection_score
from src.core.agent import Agent, Decision, RandomAgent
from src.core.exhaustive import walk_replies
from src.envs.tictactoe.rules import TicTacToe
from src.envs.versus import OutcomeReward, VersusEnv
from tests.algos.test_ppo import ppo

REWARD = OutcomeReward(1.0, 0.0, -1.0)


class Lowest(Agent):
    deterministic = True

    def decide(self, game, view, rng):
        return Decision(game.legal_actions(view)[0])


def test_where_every_line_can_be_walked_the_share_not_lost_counts():
    game = TicTacToe(symmetric=True)
    env = VersusEnv(game, RandomAgent(), REWARD, "random", {"random": RandomAgent()})
    assert selection_score(env, MinimaxAgent(), 2, seed=0) == 1.0
    lines = [walk_replies(game, Lowest(), seat) for seat in (0, 1)]
    lost, total = sum(tally.losses for tally in lines), sum(tally.games for tally in lines)
    assert 0 < lost < total
    assert selection_score(env, Lowest(), 2, seed=0) == 1 - lost / total


@pytest.mark.parametrize("plies", [0, 3])
def test_ppo_opens_its_evaluations_with_random_moves(plies, monkeypatch, tmp_path):
    from src.algos.ppo import learning
    from src.core.curriculum import Curriculum
    from src.core.run import Run

    asked = []

    def score(env, agent, episodes, seed, opening_plies):
        asked.append(opening_plies)
        return 0.5

    monkeypatch.setattr(learning, "selection_score", score)
    env = VersusEnv(TicTacToe(symmetric=True), RandomAgent(), REWARD, "random", {"random": RandomAgent()})
    with Run(tmp_path, {"seed": 0, "checkpoint_seconds": 1e9, "composition": {}}, None) as run:
        ppo(total_steps=64, eval_opening_plies=plies).fit(env, Curriculum({}, None), run)
    assert set(asked) == {plies}
