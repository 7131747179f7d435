"""Which unit acts: the first eligible one by id, or the one that its player chooses (`activation: choice`)."""

import numpy as np
import pytest

from src.config.build import build
from src.core.errors import UserError
from src.envs.deployment import observation
from src.envs.deployment.net import Units
from src.envs.deployment.observation import PLANES, UNIT
from src.envs.deployment.step_report import Command, apply_and_describe
from tests.envs.deployment import oracle
from tests.envs.deployment.making import aim, battle, begin, bot, go, make_env, random_action, small_game
from tests.test_compositions import composed

CHOICE = small_game(activation="choice")
FIXED = small_game(activation="choice", deployment_type="fixed")


def test_no_unit_is_active_before_it_is_chosen():
    rng = np.random.default_rng(1)
    state, chosen = begin(CHOICE, 1), set()
    while CHOICE.outcome(state) is None:
        action, before = random_action(CHOICE, state, rng), state.active_unit_id
        at = CHOICE.actions.target_hex(state, action)
        in_battle = state.phase != "deployment"
        CHOICE.play(state, action)
        if in_battle and before is None:
            assert state.active_unit_id is not None
            unit = state.units[state.active_unit_id]
            assert (unit.col, unit.row) == at
            assert unit.player == CHOICE.to_move(state) + 1
            chosen.add(unit.id)
        else:
            assert state.active_unit_id is None, "an action ends the activation"
    assert {"a1", "a2", "b1", "b2"} <= chosen


def test_units_act_in_the_order_that_their_player_chooses():
    state = battle(FIXED, a1=(2, 5), a2=(4, 5), b1=(2, 1))
    assert FIXED.legal_actions(state) == sorted(go(FIXED, state, at) for at in ((2, 5), (4, 5)))
    FIXED.play(state, go(FIXED, state, (4, 5)))
    assert state.active_unit_id == "a2"
    FIXED.play(state, FIXED.actions.wait_action)
    assert FIXED.legal_actions(state) == [go(FIXED, state, (2, 5))], "a single unit is chosen too"
    assert state.units["a2"].acted


def test_chargers_are_chosen_first_in_fights():
    """a2 has charged b1, beside which a1 stands: a1 fights after the charger, and after b1's answer."""
    state = battle(FIXED, a1=(2, 5), a2=(4, 5), b1=(3, 4))
    u = state.number("a2")
    wait_for_fight(state)
    state.games.units["charged"][0, u] = True
    FIXED.play(state, go(FIXED, state, (2, 5)))  # chosen before the flag was set by hand
    FIXED.play(state, FIXED.actions.wait_action)
    assert {FIXED.actions.target_hex(state, action) for action in FIXED.legal_actions(state)} == {(4, 5)}
    assert set(FIXED.legal_actions(state)) == oracle.legal_actions(FIXED, state)


def wait_for_fight(state) -> None:
    while state.phase != "fight" or state.game["to_move"] != 0:
        choose_and_wait(state)


def choose_and_wait(state) -> None:
    if state.active_unit_id is None:
        FIXED.play(state, FIXED.legal_actions(state)[0])
    FIXED.play(state, FIXED.actions.wait_action)


def test_names_and_errors_speak_of_the_choice():
    state = battle(FIXED, a1=(2, 5), a2=(4, 5), b1=(2, 1))
    action = go(FIXED, state, (2, 5))
    assert FIXED.move_name(state, action) == "unit:a1"
    for illegal in (FIXED.actions.wait_action, aim(FIXED, state, "b1"), go(FIXED, state, (0, 5))):
        with pytest.raises(UserError, match="no unit is active: choose the hex of a1 or a2"):
            FIXED.play(state, illegal)
    report = apply_and_describe(FIXED, state, Command("play", (action,)))
    assert report.action == "player 1 chooses a1"
    assert (report.start, report.end, report.dice) == (None, (2, 5), None)
    with pytest.raises(UserError, match="activation=random must be one of by_id, choice"):
        small_game(activation="random")


def test_bots_choose_by_id_so_that_their_games_are_the_same():
    finals = []
    for game in (small_game(), CHOICE):
        state = begin(game, 5)
        while game.outcome(state) is None:
            action = bot(to_enemy=1.0).decide(game, state, np.random.default_rng(0)).action
            assert action is not None
            game.play(state, action)
        finals.append((state.units, state.victory_points, game.outcome(state), int(state.game["random"])))
    assert finals[0] == finals[1]


@pytest.mark.parametrize("seat", ["first", "second"])
def test_the_observation_shows_which_units_may_be_chosen(seat: str):
    env, rng, seen = make_env(CHOICE, bot(0.5), seat), np.random.default_rng(0), 0
    values, info = env.reset(seed=3)
    over = False
    while not over:
        state, mask = env._batch.states[0], info["action_mask"]
        _, units, planes = observation.parts(env.game.world, values)
        if state.phase != "deployment" and state.active_unit_id is None:
            cells = mask[env.game.actions.world.first_move : env.game.actions.world.first_target]
            np.testing.assert_array_equal(planes[PLANES.index("candidate")].ravel(), cells)
            own = [unit for unit in state.units.values() if unit.player == env.game.to_move(state) + 1]
            able = [float(oracle.choices(env.game, state) >= {go(env.game, state, oracle.at(one))}) for one in own]
            assert units[: len(own), UNIT.index("candidate")].tolist() == [
                possible if one.col >= 0 else 0.0 for one, possible in zip(own, able, strict=True)
            ]
            assert not units[:, UNIT.index("active")].any()
            seen += 1
        legal = np.flatnonzero(mask)
        values, _, terminated, truncated, info = env.step(int(legal[rng.integers(len(legal))]))
        over = terminated or truncated
    assert seen > 5


def test_the_network_for_units_fits_both():
    """Choosing a unit is choosing its hex, so the action space and the weights are the same."""
    cfg = composed("env=deployment", "algo=ppo", "net@algo.net=units", "env.game.activation=choice")
    game, net = build(cfg.env.game, "game"), build(cfg.algo.net, "net")
    assert isinstance(net, Units)
    net.build((game.observation_size,), game.num_actions)  # raises if it does not fit
    assert (CHOICE.num_actions, CHOICE.observation_size) == (small_game().num_actions, small_game().observation_size)
