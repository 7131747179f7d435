"""Deployments that cannot be finished are reported and never repaired silently."""

import logging

import numpy as np
import pytest

from src.config.build import build
from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.core.play.arena import Tally, evaluate, watch
from src.core.play.past_selves import PastSelves
from src.envs.deployment.rules.deployment import DeploymentDeadlockError, DeploymentError
from src.envs.deployment.rules.scenario import Hex
from src.envs.pettingzoo_env import GameAEC
from tests.envs.deployment.making import DEADLOCK, begin, bot, contents, deployed, make_env, random_action, small_game
from tests.test_compositions import composed


def stuck(**changes):
    """Return a game in which player 2 has units left and only the pass is legal."""
    game = small_game(**DEADLOCK, **changes)
    state = begin(game)
    while not state.games.mask[0, game.actions.pass_action]:
        game.play(state, game.legal_actions(state)[0])
    return game, state


@pytest.mark.parametrize(
    ("hexes", "message"),
    [
        ([(0, 0), (1, 0)], "zone of player 2 has 2 hexes for 3 units"),  # 10.4.1
        ([(2, 2), (7, 2), (0, 0)], "zone of player 2 has 1 hexes for 3 units"),  # 10.4.2: two of them are walls
    ],
)
def test_a_zone_too_small_for_its_units_is_refused_on_loading(hexes: list[Hex], message: str):
    boxes = [{"cols": [col, col], "rows": [row, row]} for col, row in hexes]
    with pytest.raises(UserError, match=message):
        small_game(zones={"player_1": [{"cols": [0, 8], "rows": [5, 6]}], "player_2": boxes})


def test_insufficient_zones_raise_a_detailed_deadlock():
    """10.4.1 and 7.3: active player, units left, pool sizes and occupation are in the message."""
    game, state = stuck()
    assert game.legal_actions(state) == [game.actions.pass_action]
    with pytest.raises(DeploymentDeadlockError) as error:
        game.pass_deployment(state)
    for part in (
        "player 2 has units left and no legal placement",
        "units left: player 1: none, player 2: b3",
        "hexes in the pools: player 1: 3, player 2: 4",
        "a1 on (0, 0)",
        "b2 on (8, 1)",
    ):
        assert part in str(error.value)


def test_occupation_can_block_every_hex():
    """10.4.2: hexes are free, but all of them are too near to placed enemies."""
    beside = {"player_1": [{"cols": [0, 8], "rows": [0, 0]}], "player_2": [{"cols": [3, 5], "rows": [1, 1]}]}
    game = small_game(zones=beside, min_enemy_distance=3)
    state = deployed(game, a1=(3, 0), a2=(5, 0))
    with pytest.raises(DeploymentDeadlockError, match=r"a1 on \(3, 0\), a2 on \(5, 0\)"):
        game.pass_deployment(state)


def test_nothing_is_placed_dropped_or_ended_in_a_deadlock():
    """10.4.3: no fallback hides the failure."""
    game, state = stuck(on_deadlock="truncate")
    before = state.units, state.deployment_state.deployed_units
    game.pass_deployment(state)
    assert (state.units, state.deployment_state.deployed_units) == before
    assert state.phase == "deployment"
    assert state.deployment_state.deployment_complete is False
    assert state.deployment_state.deployable_units_by_player[2] == ["b3"]
    assert game.is_aborted(state)
    with pytest.raises(DeploymentError, match="deadlocked"):
        game.deploy_unit(state, "b3", 0, 1)


def test_raising_leaves_the_state_as_it_was():
    """7.3: the error changes nothing, so the pass can be tried again, and a unit taken back instead."""
    game, state = stuck()
    before, legal = contents(state), game.legal_actions(state)
    for _ in range(2):
        with pytest.raises(DeploymentDeadlockError):
            game.pass_deployment(state)
        assert contents(state) == before
        assert game.outcome(state) is None
        assert not game.is_aborted(state)
        assert game.legal_actions(state) == legal == [game.actions.pass_action]
    game.undeploy_unit(state, "b2")
    assert game.actions.pass_action not in game.legal_actions(state)


def test_passing_is_refused_while_a_placement_is_legal():
    """10.2.3 and 5.3."""
    game, rng = small_game(), np.random.default_rng(0)
    state = begin(game)
    while state.phase == "deployment":
        before = contents(state)
        with pytest.raises(DeploymentError, match="has a legal placement: deploy a unit instead"):
            game.pass_deployment(state)
        assert contents(state) == before
        game.play(state, random_action(game, state, rng))
    with pytest.raises(DeploymentError, match="deployment is over"):
        game.pass_deployment(state)


def test_with_alternation_a_pass_lets_the_other_player_continue():
    """It is a deadlock only if no player can place; until then a pass switches players, and is counted."""
    zones = {"player_1": [{"cols": [0, 1], "rows": [5, 5]}], "player_2": [{"cols": [0, 4], "rows": [5, 5]}]}
    game = small_game(zones=zones, deployment_order_mode="alternated_p1_start")
    state = deployed(game, a1=(0, 5), b1=(1, 5))
    assert game.legal_actions(state) == [game.actions.pass_action]
    game.pass_deployment(state)
    assert state.deployment_state.current_deployer == 2
    assert state.phase == "deployment"
    game.deploy_unit(state, "b2", 2, 5)
    game.pass_deployment(state)
    game.deploy_unit(state, "b3", 3, 5)
    with pytest.raises(DeploymentDeadlockError, match="player 1 has units left"):
        game.pass_deployment(state)
    assert game.episode_metrics(state)["deployment_pass_count"] == 2, "the third was refused"


def test_truncation_ends_the_episode_counts_it_and_logs_it(caplog: pytest.LogCaptureFixture):
    env = make_env(small_game(**DEADLOCK, on_deadlock="truncate"), seat="second")
    _, info = env.reset(seed=0)
    over, step = False, None
    while not over:
        with caplog.at_level(logging.WARNING):
            step = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
        info, over = step[4], step[2] or step[3]
    assert step is not None
    assert step[2:4] == (False, True)
    assert info["rewards"]["outcome"] == 0.0, "a deadlock is no result"
    assert info["deployment_deadlock_count"] == 1
    assert info["deployment_pass_count"] == 1
    assert info["aborted"]
    assert len(caplog.records) == 1
    for part in ("player 2 has units left", "player 2: b", "pools: player 1: 3, player 2: 4", "a2 on ("):
        assert part in caplog.text, "a truncation has the message of the error"
    assert env.episode_stats.episode_metrics()["deployment_deadlock_count"] == 1
    with pytest.raises(UserError, match="call reset"):
        env.action_masks()


@pytest.mark.parametrize("opponent", [bot(1.0), RandomAgent()])
@pytest.mark.parametrize("seat", ["first", "second"])
def test_environments_raise_it_whoever_is_stuck(seat: str, opponent):
    env = make_env(small_game(**DEADLOCK, on_deadlock="raise"), opponent, seat)
    batch = env.vectorize(3)
    for one, draw in ((env, lambda mask: int(mask.argmax())), (batch, lambda masks: masks.argmax(axis=1))):

        def play_on(one=one, draw=draw) -> None:
            _, info = one.reset(seed=0)
            for _ in range(10):
                *_, info = one.step(draw(info["action_mask"]))

        with pytest.raises(DeploymentDeadlockError, match="no legal placement"):
            play_on()
        for ask in (one.action_masks, lambda one=one: one.step(np.zeros(3, int) if one is batch else 0)):
            with pytest.raises(UserError, match="call reset"):
                ask()


def test_a_truncated_game_is_aborted_and_no_draw_in_the_arena(caplog: pytest.LogCaptureFixture):
    game = small_game(**DEADLOCK, on_deadlock="truncate")
    with caplog.at_level(logging.WARNING):
        score = evaluate(game, RandomAgent(), RandomAgent(), 4, seed=0)
    assert score.outcomes == [None] * 4
    assert score.total == Tally(0, 0, 0, aborted=4)
    assert score.metrics["deployment_deadlock_count"] == 1
    assert caplog.text.count("hexes in the pools: player 1: 3, player 2: 4") == 4
    seat, outcome = watch(game, RandomAgent(), RandomAgent(), 0, 0, lambda state: None)
    assert (seat, outcome) == (0, None)


def test_a_deadlock_ends_an_evaluation():
    env = build(composed("env=deployment", "env.game.min_enemy_distance=19").env, "env")
    with pytest.raises(DeploymentDeadlockError, match="player 2 has units left and no legal placement"):
        evaluate(env.game, env.baselines["greedy"], env.baselines["tactical"], 1, seed=0)


def test_both_players_of_a_truncated_game_are_truncated():
    env = GameAEC(small_game(**DEADLOCK, on_deadlock="truncate"))
    env.reset(seed=0)
    while env.agents and not any(env.truncations.values()):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    assert set(env.truncations.values()) == {True}
    assert set(env.terminations.values()) == {False}
    assert set(env.rewards.values()) == {0.0}
    assert not env.observe(env.agent_selection)["action_mask"].any()
    env.step(None)
    env.step(None)
    assert env.agents == []


def test_past_selves_have_no_result_of_a_truncated_game(caplog: pytest.LogCaptureFixture):
    pool = PastSelves(size=2, snapshot_every=1, current_share=0.0, priority=0.0, memory=1.0)
    pool.set_agent(RandomAgent())
    pool.add_snapshot(dict, lambda weights: RandomAgent())
    batch = make_env(small_game(**DEADLOCK, on_deadlock="truncate"), pool, seat="second").vectorize(2)
    _, info = batch.reset(seed=0)
    with caplog.at_level(logging.WARNING):
        for _ in range(6):
            *_, info = batch.step(info["action_mask"].argmax(axis=1))
    assert batch.episode_stats.run_counts()["deadlocks"] == 4
    assert info["final_info"]["aborted"].all()
    assert pool.recent_results().tolist() == [0, 0]
    assert caplog.text.count("units left: player 1: none, player 2: b3") == 4, "a warning of each"
