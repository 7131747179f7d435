"""The shipped scenarios are fair: a bot that plays itself wins about half of the games as player 1."""

import pytest

from experiments.bench.deployment_balance import BOTS, balance
from experiments.bench.deployment_bots import player
from src.envs.deployment.bots import Bot
from src.envs.deployment.game import DeploymentGame

GAMES = 400  # the standard error of a share is at most 2.5 points


@pytest.mark.parametrize("name", BOTS)
@pytest.mark.parametrize("env", ["deployment", "deployment_mirror", "deployment_siege"])
def test_a_bot_that_plays_itself_wins_half_of_the_games(env: str, name: str):
    game, bot = player(f"env={env}", f"agent={name}")
    assert isinstance(game, DeploymentGame)
    assert isinstance(bot, Bot)
    found = balance(game, bot, GAMES, seed=5)
    assert 0.4 < found.first < 0.6
    assert found.on_points > 0.45, "victory points decide most games, not the loss of all units"
    assert found.rounds > 4.5
