"""Networks as opponents in batches: they get arrays, and play what they would play if asked game by game."""

from collections.abc import Callable

import pytest
import torch

from experiments.bench.deployment_env import ByViews
from src.algos.compute import Compute
from src.algos.network_agent import InferenceConfig, NetworkAgent, sampled
from src.core.errors import UserError
from src.core.play.agent import Agent, SelfPlay, acts_on_arrays
from src.core.play.past_selves import PastSelves
from src.nets.flat import MLP
from tests.envs.deployment.making import make_env, small_game
from tests.envs.deployment.test_past_selves import play

COMPUTE, PLAY = Compute("cpu", "float32", compile=False), InferenceConfig(symmetries=False)


def network(seed: int, *, greedy: bool = False) -> NetworkAgent:
    game = small_game()
    torch.manual_seed(seed)
    net = MLP([16]).build((game.observation_size,), game.num_actions)
    for weight in net.parameters():
        weight.data *= 4  # else it plays nearly at random
    return NetworkAgent(net, COMPUTE, PLAY, greedy=greedy)


Wrap = Callable[[Agent], Agent]


def itself(wrap: Wrap) -> Agent:
    opponent = SelfPlay(explore=0.3)
    opponent.set_agent(wrap(network(1)))
    return opponent


def past_selves(wrap: Wrap) -> Agent:
    opponent = PastSelves(3, 1, current_share=0.3, priority=1.0, memory=0.5, explore=0.1)
    opponent.set_agent(wrap(network(2)))
    for number in range(3):
        opponent.add_snapshot(lambda: {}, lambda _, number=number: wrap(network(10 + number)))  # type: ignore[misc]
    return opponent


@pytest.mark.parametrize(
    "make", [lambda wrap: wrap(network(0, greedy=True)), lambda wrap: wrap(network(0)), itself, past_selves]
)
def test_the_same_games_are_played_with_arrays_and_with_views(make: Callable[[Wrap], Agent]):
    games = []
    for opponent, on_arrays in ((make(lambda agent: agent), True), (make(ByViews), False)):
        assert acts_on_arrays(opponent) == on_arrays
        envs = make_env(opponent=opponent).vectorize(12)
        envs.reset(seed=3)
        games.append(play(envs, 0, 60))
    assert games[0] == games[1]
    assert len(set(games[0][1])) > 1, "games are won and lost"


@pytest.mark.parametrize("greedy", [False, True])
def test_a_network_without_numbers_as_output_is_refused(greedy: bool):
    agent = network(0, greedy=greedy)
    for weight in agent.net.parameters():
        weight.data[:] = torch.nan
    with pytest.raises(UserError, match="the network of the opponent chose an illegal action"):
        make_env(opponent=agent).vectorize(4).reset(seed=3)


class Numbers:
    """In place of a generator."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = iter(numbers)

    def random(self) -> float:
        return next(self._numbers)


def test_an_action_is_drawn_by_its_probability():
    probability = torch.tensor([[0.0, 0.25, 0.0, 0.5, 0.0]])  # as after rounding, the sum need not be one
    below_one = 1 - 2**-53
    for number, action in ((0.0, 1), (0.333, 1), (1 / 3, 3), (0.5, 3), (below_one, 3)):
        assert sampled(probability, [Numbers(number)]).tolist() == [action]  # type: ignore[list-item]
    rows = torch.tensor([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    numbers = [Numbers(0.4), Numbers(0.6), Numbers(below_one)]
    assert sampled(rows, numbers).tolist() == [0, 1, 0]  # type: ignore[arg-type]
