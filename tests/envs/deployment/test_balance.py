"""How fair the scenarios are: the benchmark counts games of a bot against itself, and finds the shipped ones fair."""

import numpy as np
import pytest
import torch
from torch import nn

from experiments.bench.deployment_balance import BOTS, ENVS, Balance, balance, network_balance
from experiments.bench.deployment_bots import player
from src.algos.compute import Compute
from src.algos.network_agent import InferenceConfig, NetworkAgent
from src.core.play.agent import Agent
from src.envs.deployment.bots import Bot
from src.envs.deployment.game import DeploymentGame
from src.nets.boards import Heads
from tests.envs.deployment.making import begin, bot, small_game

pytestmark = pytest.mark.slow  # its kernel takes longer to compile than all other tests of this folder

GAMES, SEED = 4000, 2027  # the standard error of a share is 0.8 points


@pytest.mark.parametrize("name", BOTS)
@pytest.mark.parametrize("env", [*ENVS, "deployment_alternated"])
def test_a_bot_that_plays_itself_wins_half_of_the_games(env: str, name: str):
    game, bot = player(f"env={env}", f"agent={name}")
    assert isinstance(game, DeploymentGame)
    assert isinstance(bot, Bot)
    found = balance(game, bot, GAMES, SEED)
    assert 0.45 < found.first < 0.55
    assert found.on_points > 0.5, "victory points decide most games, not the loss of all units"
    assert found.rounds > 4.5


def test_it_counts_what_the_same_games_give_one_by_one():
    game, player = small_game(rounds=2), bot()
    found = balance(game, player, 30, seed=3)
    assert 0 < found.on_points < 1
    assert_same(found, game, player)


class Preferences(nn.Module):
    """Prefers actions by the round, the units and a bit more of the observation, computed row by row."""

    def __init__(self, game: DeploymentGame) -> None:
        super().__init__()
        numbers = np.random.default_rng(1).normal(size=(game.num_actions, game.observation_size))
        self.weights = torch.from_numpy(numbers.astype(np.float32))

    def forward(self, observations: torch.Tensor) -> Heads:
        policy = torch.stack([self.weights @ row for row in observations])
        return Heads(policy, policy[:, 0], policy[:, :0])


def test_the_games_of_a_network_in_step_are_those_one_by_one():
    game = small_game(rounds=2)
    agent = NetworkAgent(Preferences(game), Compute("cpu", "float32", compile=False), InferenceConfig(symmetries=False))
    assert_same(network_balance(game, agent, 30, seed=3), game, agent)


def assert_same(found: Balance, game: DeploymentGame, player: Agent) -> None:
    """Check what 30 games gave, whose seeds are drawn with seed 3."""
    outcomes: list[int] = []
    alive: list[bool] = []
    rounds: list[int] = []
    rng = np.random.default_rng(3)
    for seed in rng.integers(2**64, size=30, dtype=np.uint64):
        state = begin(game)
        state.game["random"] = seed
        while game.outcome(state) is None:
            action = player.decide(game, state, rng).action
            assert action is not None
            game.play(state, action)
        outcomes.append(int(state.game["outcome"]))
        alive.append({unit.player for unit in state.units.values() if unit.hp > 0} == {1, 2})
        rounds.append(state.round)
    assert found.first == pytest.approx((np.mean(outcomes) + 1) / 2)
    assert found.drawn == pytest.approx(outcomes.count(0) / 30)
    assert (found.on_points, found.rounds) == pytest.approx((np.mean(alive), np.mean(rounds)))
    assert 0 < found.first < 1
