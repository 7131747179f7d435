"""A batch against a pool equals the batches against its members."""

from typing import Any

import numpy as np
import pytest

from src import api
from src.algos.minimax import MinimaxAgent
from src.core.errors import UserError
from src.core.play.agent import Agent, OpponentPool, RandomAgent, SelfPlay
from src.core.play.capabilities import SupportsEpisodeStats
from src.envs.opponent_pool_vec_env import OpponentPoolVectorEnv, join_infos
from src.envs.quoridor.agents import RunnerAgent
from src.envs.quoridor.vec_env import VecQuoridor
from src.envs.tictactoe.game import TicTacToe
from src.envs.two_player_env import Episode, OutcomeReward, VersusEnv
from tests.envs.deployment.making import bot
from tests.envs.test_vector_envs import REWARD, Extreme, assert_same, drawn, pool, quoridor, versus, wargame
from tests.marks import mostly_slow

CASES: dict[str, tuple[Any, list[Agent]]] = {
    "wargame": (wargame, [bot(0.2), RandomAgent(), bot(1.0)]),
    "tictactoe": (versus, [RandomAgent(), MinimaxAgent()]),
    "quoridor, compiled": (quoridor, [RunnerAgent(), RunnerAgent(0.5)]),
    "quoridor, in part": (quoridor, [RunnerAgent(), Extreme()]),
}


@pytest.mark.parametrize("case", mostly_slow(list(CASES), fast=1))
def test_a_pool_equals_the_batches_against_its_members(case: str):
    make, members = CASES[case]
    sizes = [3, *[2] * (len(members) - 1)]  # shares differ by one at most
    whole = make(pool(*members)).vectorize(sum(sizes))
    parts = [make(member).vectorize(size) for member, size in zip(members, sizes, strict=True)]
    edges = np.cumsum([0, *sizes]).tolist()
    rng, ends = np.random.default_rng(0), 0
    observations, info = whole.reset(seed=5)
    theirs = [part.reset(seed=5 + first) for part, first in zip(parts, edges[:-1], strict=True)]
    np.testing.assert_array_equal(observations, np.concatenate([one[0] for one in theirs]))
    assert_same(info, join_infos([one[1] for one in theirs], sizes))
    for step in range(150):
        actions = drawn(rng, whole.action_masks())
        *results, info = whole.step(actions)
        theirs = [part.step(share) for part, share in zip(parts, np.split(actions, edges[1:-1]), strict=True)]
        for k, result in enumerate(results):
            np.testing.assert_array_equal(result, np.concatenate([one[k] for one in theirs]))
        assert_same(info, join_infos([one[4] for one in theirs], sizes))
        np.testing.assert_array_equal(info["action_mask"], whole.action_masks())
        ends += int((results[2] | results[3]).sum())
        if step in (74, 149) and isinstance(whole, SupportsEpisodeStats):
            assert_summed(whole.episode_stats, [part.episode_stats for part in parts], metrics=step == 74)
    assert ends > sum(sizes)


def assert_summed(whole: Any, parts: list[Any], metrics: bool) -> None:
    """Assert that statistics are summed over the parts; recent ones are of the games since they were last asked for."""
    recent = [part.recent() for part in parts]
    summed = {name: sum(one[name] for one in recent) for name in recent[0]}
    assert summed["episodes"] > 0
    if metrics:
        assert whole.episode_metrics() == parts[0].episode_metrics(summed)
    else:
        assert whole.recent() == summed
    assert whole.episode_metrics() == {}
    for name, records in whole.records().items():
        np.testing.assert_array_equal(records, sum(part.records()[name] for part in parts))
    hexes = "units placed on each hex, first player"
    diagnostics, counts = whole.diagnostics()
    assert diagnostics
    np.testing.assert_array_equal(counts[hexes], sum(part.diagnostics()[1][hexes] for part in parts))


def test_games_without_statistics_have_none_and_a_state_has_all_parts():
    batch = versus(pool(RandomAgent(), MinimaxAgent())).vectorize(2)
    assert not isinstance(batch, SupportsEpisodeStats)
    batch.reset(seed=0)
    with pytest.raises(UserError, match="the saved state has 1 parts, this batch 2"):
        batch.load_state(batch.state()[:1])


def assert_refused(batch: Any, cases: list[tuple[np.ndarray, str]]) -> None:
    """Assert that illegal actions are refused before any part has played one."""
    before = [part.games.mask.copy() for part in batch.parts]
    for actions, message in cases:
        with pytest.raises(UserError, match=message):
            batch.step(actions)
        assert_same(before, [part.games.mask for part in batch.parts])


WRONG = [(np.array([0, 0]), r"shape \(4,\)"), (np.full(4, 0.5), "must be integers")]


def test_one_illegal_action_stops_all_parts_and_is_counted():
    batch = wargame(pool(bot(), bot(1.0)), seat="first").vectorize(4)
    batch.reset(seed=0)
    assert len(batch.render()) == 4
    actions = batch.action_masks().argmax(axis=1)
    actions[3] = batch.parts[0].game.actions.wait_action
    assert_refused(batch, [(actions, "among envs 2 to 3: env 1, action 109: the phase is deployment")])
    assert [part.buffers.results["invalid"].tolist() for part in batch.parts] == [[0, 0], [0, 1]]
    assert_refused(batch, [*WRONG, (np.full(4, 10**6), "does not exist")])


def test_each_part_penalizes_its_illegal_actions():
    """Also in the default environment, whose opponent is a pool."""
    batch = api.make_vec("deployment", num_envs=4, invalid_action_penalty=0.01)
    assert isinstance(batch, OpponentPoolVectorEnv)
    assert batch.penalizes_illegal
    observations, info = batch.reset(seed=0)
    actions = info["action_mask"].argmax(axis=1)
    actions[1] = batch.num_actions - 1  # to wait, which is illegal in the deployment phase
    after, _, _, _, info = batch.step(actions)
    assert info["rewards"]["invalid_action"].tolist() == [0.0, -0.01, 0.0, 0.0]
    assert [np.array_equal(*pair) for pair in zip(observations, after, strict=True)] == [False, True, False, False]
    beyond = np.array([*actions[:3], batch.num_actions])
    assert_refused(batch, [*WRONG, (beyond, "among envs 3 to 3: .*does not exist")])


def test_the_runners_of_the_default_pool_are_compiled():
    batch = api.make_vec("quoridor", num_envs=5)
    assert isinstance(batch, OpponentPoolVectorEnv)
    assert [(type(part), part.num_envs) for part in batch.parts] == [(VecQuoridor, 3), (VecQuoridor, 2)]


def test_a_pool_needs_an_env_for_each_member():
    with pytest.raises(UserError, match="num_envs=2 is too small for a pool of 3 opponents"):
        wargame(pool(bot(), bot(0.5), bot(1.0))).vectorize(2)
    assert not isinstance(wargame(pool(bot())).vectorize(1), OpponentPoolVectorEnv)  # a pool of one is that one


@pytest.mark.parametrize("make", [versus, wargame])
def test_a_single_env_draws_a_member_for_each_game_from_its_seed(make):
    def faced(seed: int) -> list[int]:
        members = [Extreme(), Extreme()]
        env = make(pool(*members), "second")
        env.reset(seed=seed)
        counts = []
        for _ in range(12):
            before = members[0].decisions, members[1].decisions
            env.reset()
            moved = [member.decisions - count for member, count in zip(members, before, strict=True)]
            assert min(moved) == 0 < max(moved)
            counts.append(moved.index(0))
        return counts

    assert set(faced(0)) == {0, 1}
    assert faced(0) == faced(0)
    assert faced(0) != faced(1)


def test_a_saved_episode_keeps_its_member():
    game, faced = TicTacToe(symmetric=True), set()
    opponents = pool(Extreme(), MinimaxAgent())
    for seed in range(8):
        episode, other = (Episode(game, opponents, (0, 1), OutcomeReward(1.0, 0.0, -1.0, gamma=1.0)) for _ in range(2))
        episode.rng, other.rng = np.random.default_rng(seed), np.random.default_rng(99)
        episode.start()
        other.restore(episode.saved())
        assert other.opponent is episode.opponent
        faced.add(type(episode.opponent))
    assert faced == {Extreme, MinimaxAgent}


def test_pools_are_for_training_only():
    member = bot()
    with pytest.raises(UserError, match="members is empty"):
        OpponentPool({})
    for wrong in (SelfPlay(), pool(member)):
        with pytest.raises(UserError, match=r"members\.other must be a fixed agent"):
            OpponentPool({"one": member, "other": wrong})
    with pytest.raises(UserError, match=r"for training only .*: choose one of its members, member0"):
        pool(member).decide(TicTacToe(symmetric=True), None, np.random.default_rng(0))
    with pytest.raises(UserError, match="plays the deployment wargame only"):
        pool(RandomAgent(), member).check(TicTacToe(symmetric=True))
    with pytest.raises(UserError, match=r"env\.baselines: an opponent pool is for training"):
        VersusEnv(TicTacToe(symmetric=True), RandomAgent(), REWARD, "first", {"pool": pool(RandomAgent())})


def test_keys_that_a_part_lacks_are_zero_or_none_there():
    objects = np.array([None, np.ones(2)], object)
    joined = join_infos([{}, {"a": np.ones((2, 3)), "b": {"c": np.array([True, True])}, "d": objects}], [1, 2])
    assert joined["a"].tolist() == [[0, 0, 0], [1, 1, 1], [1, 1, 1]]
    assert joined["b"]["c"].tolist() == [False, True, True]
    assert joined["b"]["c"].dtype == bool
    assert [one is None for one in joined["d"]] == [True, True, False]
