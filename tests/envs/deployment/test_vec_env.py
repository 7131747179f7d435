"""The vector environment equals N single environments; past selves and networks as opponents in batches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from experiments.bench.deployment_env import ByViews
from src.algos.compute import Compute
from src.algos.network_agent import InferenceConfig, NetworkAgent, sampled
from src.core.errors import UserError
from src.core.play.agent import Agent, RandomAgent, SelfPlay, acts_on_arrays
from src.core.play.past_selves import PastSelves
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.game import GAMES_PER_THREAD
from src.envs.two_player_env import Episode, OutcomeReward
from src.nets.flat import MLP
from tests.core.fixed import Fixed, fixed
from tests.envs.deployment.making import DEADLOCK, REWARD, bot, contents, drawn, make_env, small_game

CASES = {
    "bot": (small_game(on_deadlock="truncate"), bot(0.2), 4),
    "random agent": (small_game(on_deadlock="truncate", deployment_order_mode="alternated_p1_start"), RandomAgent(), 4),
    "in threads": (small_game(on_deadlock="truncate", debug=False), bot(0.2), 2 * GAMES_PER_THREAD + 1),
    "choice": (small_game(on_deadlock="truncate", activation="choice"), bot(0.2), 4),
    "choice, random agent": (small_game(on_deadlock="truncate", activation="choice"), RandomAgent(), 4),
    "deadlocks": (small_game(on_deadlock="truncate", **DEADLOCK), bot(1.0), 3),
}


@pytest.mark.parametrize("case", CASES)
def test_batched_equals_single(case: str):
    game, opponent, count = CASES[case]
    batch, singles = make_env(game, opponent).vectorize(count), [make_env(game, opponent) for _ in range(count)]
    rng, ends = np.random.default_rng(0), 0
    observations, info = batch.reset(seed=5)
    for i, env in enumerate(singles):
        observation, single = env.reset(seed=5 + i)
        np.testing.assert_array_equal(observations[i], observation)
        np.testing.assert_array_equal(info["action_mask"][i], single["action_mask"])
    for _ in range(60 if count > 8 else 200):
        actions = drawn(rng, info["action_mask"])
        observations, rewards, terminated, truncated, info = batch.step(actions)
        assert batch.observation_space.contains(observations)
        ended = terminated | truncated
        assert ("final_obs" in info) == ended.any()
        if ended.any():
            np.testing.assert_array_equal(info["_final_obs"], ended)
            np.testing.assert_array_equal(info["_final_info"], ended)
            assert [row is not None for row in info["final_obs"]] == ended.tolist()
            assert not info["final_info"]["steps"][~ended].any()
        for i, env in enumerate(singles):
            observation, *rest, single = env.step(int(actions[i]))
            assert rest == [rewards[i], terminated[i], truncated[i]]
            assert single["rewards"] == {name: values[i] for name, values in info["rewards"].items()}
            if ended[i]:
                np.testing.assert_array_equal(info["final_obs"][i], observation)
                for name in set(info["final_info"]) - {"start", "hp", "dealt"}:
                    assert info["final_info"][name][i] == single[name]
                for name in ("start", "hp", "dealt"):
                    np.testing.assert_array_equal(info["final_info"][name][i], env._batch.games.units[name][0])
                observation, single = env.reset()
                ends += 1
            np.testing.assert_array_equal(observations[i], observation)
            np.testing.assert_array_equal(info["action_mask"][i], single["action_mask"])
    assert ends > count
    assert batch.episode_stats.episodes == sum(env.episode_stats.episodes for env in singles) == ends


def test_arrays_handed_out_are_the_callers_own():
    batch = make_env().vectorize(2)
    observations, info = batch.reset(seed=0)
    kept, masks = observations.copy(), info["action_mask"].copy()
    batch.step(info["action_mask"].argmax(axis=1))
    np.testing.assert_array_equal(observations, kept)
    np.testing.assert_array_equal(info["action_mask"], masks)
    saved = batch.state()
    later, rewards, *_, info = batch.step(batch.action_masks().argmax(axis=1))
    kept_later, kept_rewards, masks = later.copy(), rewards.copy(), info["action_mask"].copy()
    batch.load_state(saved)
    batch.step(batch.action_masks().argmax(axis=1))
    np.testing.assert_array_equal(later, kept_later)
    np.testing.assert_array_equal(rewards, kept_rewards)
    np.testing.assert_array_equal(info["action_mask"], masks)


def test_one_illegal_action_stops_all_and_is_counted():
    batch = make_env(seat="first").vectorize(3)
    _, info = batch.reset(seed=0)
    before, actions = contents(batch.states[0]), info["action_mask"].argmax(axis=1)
    actions[1] = batch.game.actions.wait_action
    with pytest.raises(UserError, match="env 1, action 109: the phase is deployment"):
        batch.step(actions)
    assert contents(batch.states[0]) == before
    assert batch.buffers.results["invalid"].tolist() == [0, 1, 0]
    with pytest.raises(UserError, match=r"env 0, action -1: .*; env 2, action 9999: action 9999 does not exist"):
        batch.step(np.array([-1, actions[0], 9999]))


def past_selves(*numbers: int, current_share: float = 0.0) -> PastSelves:
    made = PastSelves(3, 1, current_share=current_share, priority=1.0, memory=0.5)
    made.set_agent(Fixed(-1))
    for number in numbers:
        add(made, number)
    return made


def add(made: PastSelves, number: int) -> None:
    made.add_snapshot(lambda: {"weights": {}, "number": number}, fixed)


def recorded(made: PastSelves) -> list[float]:
    """Return points and games since the last evaluation."""
    return np.array([[0.0, 0.0], *(counts for _, *counts in made.state()["recent"][0])]).sum(axis=0).tolist()


def play(envs: Any, seed: int, steps: int) -> tuple[list[Any], list[int]]:
    seen, outcomes, rng = [], [], np.random.default_rng(seed)
    for _ in range(steps):
        observations, rewards, *_, info = envs.step(drawn(rng, envs.action_masks()))
        seen.append((observations.tobytes(), rewards.tolist()))
        if "final_info" in info:
            outcomes += info["final_info"]["outcome"][info["_final_info"]].tolist()
    return seen, outcomes


def test_games_of_past_selves_are_counted_and_resumed_exactly():
    made = past_selves(0, 1, 2)
    envs = make_env(opponent=made).vectorize(6)
    envs.reset(seed=1)
    _, outcomes = play(envs, 0, 60)
    assert recorded(made) == [sum((outcome + 1) / 2 for outcome in outcomes), len(outcomes)]
    assert len(outcomes) > 6
    made.current_share = 0.3
    add(made, 3)
    play(envs, 5, 25)
    saved, state = envs.state(), made.state()
    assert len(set(saved["batch"]["numbers"])) > 1
    expected, _ = play(envs, 2, 40)
    again = past_selves(current_share=0.3)
    again.load_state(state, fixed)
    resumed = make_env(opponent=again).vectorize(6)
    resumed.reset(seed=99)
    resumed.load_state(saved)
    assert play(resumed, 2, 40)[0] == expected
    assert again.state() == made.state()


def test_a_single_environment_reports_its_games_too():
    made = past_selves(0)
    env, rng, outcomes = make_env(opponent=made), np.random.default_rng(0), []
    for seed in range(3):
        _, info = env.reset(seed=seed)
        while "outcome" not in info:
            *_, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        outcomes.append(info["outcome"])
    assert recorded(made) == [sum((outcome + 1) / 2 for outcome in outcomes), 3]


def test_an_aborted_episode_is_not_reported():
    game: Any = small_game(on_deadlock="truncate", **DEADLOCK)
    made = past_selves(0)
    episode = Episode(game, made, (0,), OutcomeReward(1.0, 0.0, -1.0, gamma=1.0))
    episode.start()
    while episode.own_outcome is None:
        episode.play(int(episode.action_mask().argmax()))
    episode.report_result()
    assert game.is_aborted(episode.state)
    assert recorded(made) == [0, 0]


Wrap = Callable[[Agent], Agent]


def network(seed: int, *, greedy: bool = False) -> NetworkAgent:
    game = small_game()
    torch.manual_seed(seed)
    net = MLP([16]).build((game.observation_size,), game.num_actions)
    for weight in net.parameters():
        weight.data *= 4  # else it plays nearly at random
    return NetworkAgent(net, Compute("cpu", "float32", compile=False), InferenceConfig(symmetries=False), greedy=greedy)


def networks_itself(wrap: Wrap) -> Agent:
    opponent = SelfPlay(explore=0.3)
    opponent.set_agent(wrap(network(1)))
    return opponent


def past_networks(wrap: Wrap) -> Agent:
    opponent = PastSelves(3, 1, current_share=0.3, priority=1.0, memory=0.5, explore=0.1)
    opponent.set_agent(wrap(network(2)))
    for number in range(3):
        opponent.add_snapshot(lambda: {}, lambda _, number=number: wrap(network(10 + number)))  # type: ignore[misc]
    return opponent


@pytest.mark.parametrize(
    "make",
    [lambda wrap: wrap(network(0, greedy=True)), lambda wrap: wrap(network(0)), networks_itself, past_networks],
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


def test_giving_the_lead_early_adds_nothing_to_the_discounted_return():
    """With gamma 0.9 as with 1.0 the changes of a game sum to its final lead, discounted like the outcome."""
    rewards = REWARD, REWARD._replace(gamma=1.0)
    early, whole = (DeploymentEnv(small_game(), bot(0.5), reward, "random", {}).vectorize(6) for reward in rewards)
    early.reset(seed=0), whole.reset(seed=0)
    rng, sums, weight, leads = np.random.default_rng(0), np.zeros((2, 6)), np.ones(6), []
    for _ in range(150):
        actions = drawn(rng, early.action_masks())
        ours, theirs = (env.step(actions) for env in (early, whole))
        sums += weight * ours[4]["rewards"]["performance"], theirs[4]["rewards"]["performance"]
        for i in np.flatnonzero(ours[2]):
            assert sums[0, i] == pytest.approx(weight[i] * sums[1, i])
            leads.append(sums[1, i])
        weight *= REWARD.gamma
        sums[:, ours[2]], weight[ours[2]] = 0.0, 1.0
    assert min(leads) < 0 < max(leads)
