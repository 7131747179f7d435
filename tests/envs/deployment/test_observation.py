"""Observations agree with the game state and the action mask."""

import numpy as np
import pytest

from src.envs.deployment import observation, rules
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.observation import GLOBAL, PLANES, UNIT
from src.envs.deployment.rules import hexgrid
from src.envs.deployment.rules.state import GameState
from tests.envs.deployment import observation_oracle
from tests.envs.deployment.making import (
    COVER_MAP,
    DEADLOCK,
    begin,
    conf,
    copied,
    full_game,
    random_action,
    roster,
    small_game,
)

GAMES = {
    "small": small_game(),
    "full": full_game("classic_siege"),
    "cover": small_game(board={"map": COVER_MAP}),
    "alternated": small_game(deployment_order_mode="alternated_p1_start"),
}


def seen(game: DeploymentGame, state: GameState):
    facts, units, planes = observation.parts(game.world, game.observe(state))
    named = dict(zip(GLOBAL, facts, strict=True))
    return named, units, dict(zip(PLANES, planes, strict=True))


def seen_hex(game: DeploymentGame, player: int, col: int, row: int) -> tuple[int, int]:
    """Return a hex from a player's point of view, as (row, col) of a plane."""
    if player == 2:
        col, row = hexgrid.turned(col, row, game.scenario.board.cols, game.scenario.board.rows)
    return row, col


def positions(game: DeploymentGame, count: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        state = game.initial(rng)
        while game.outcome(state) is None:
            yield state
            game.play(state, random_action(game, state, rng))


def test_the_layout_is_the_documented_one():
    assert (len(GLOBAL), len(UNIT), len(PLANES)) == (17, 31, 10)
    game = GAMES["small"]
    assert game.observation_size == 17 + 2 * 3 * 31 + 10 * 63


@pytest.mark.parametrize("name", [*GAMES, "choice"])
def test_every_value_is_that_of_the_state(name: str):
    """Against an implementation without tables, of both players, over random games with wounds, flights and charges."""
    game = GAMES.get(name) or small_game(activation="choice", rounds=4, victory_points=3)
    out, varied = np.zeros(game.observation_size, np.float32), []
    for number, state in enumerate(positions(game, 4 if name != "full" else 2, seed=11)):
        if name == "full" and number % 7:  # the reference is slow on the full board
            continue
        for player in (1, 2) if number % 3 == 0 else (game.to_move(state) + 1,):
            observation.observe(game.world, game.static_features, state.games, state.i, player - 1, out)
            np.testing.assert_allclose(out, observation_oracle.observe(game, state, player), atol=1e-6)
            varied.append(out.copy())
    facts, units, planes = zip(*(observation.parts(game.world, values) for values in varied), strict=True)
    assert not (np.ptp(facts, axis=0)[[GLOBAL.index(n) for n in GLOBAL if n != "phase_command"]] == 0).any()
    if name == "full":
        assert (np.ptp(np.array(units), axis=(0, 1)) > 0).all(), "every feature differs between units or moments"
    assert (np.array(planes).any(axis=(0, 2, 3))).all()


@pytest.mark.parametrize("name", GAMES)
def test_it_stays_within_its_space(name: str):
    game = GAMES[name]
    for state in positions(game, 2):
        values = game.observe(state)
        assert values.shape == (game.observation_size,)
        assert values.dtype == np.float32
        assert values.min() >= 0
        assert values.max() <= 1


@pytest.mark.parametrize("name", GAMES)
def test_candidates_are_exactly_what_the_mask_is_for(name: str):
    """A former bug: the observation described another unit than the mask, without candidate hexes."""
    game = GAMES[name]
    actions, phases = game.actions, set()
    for state in positions(game, 2):
        player, mask = game.to_move(state) + 1, state.games.mask[0]
        _, units, planes = seen(game, state)
        expected = np.zeros_like(planes["candidate"])
        if state.phase == "deployment":
            for action in np.flatnonzero(mask[: actions.pass_action]):
                pool = state.deployment_state.deployment_pools_by_player[player]
                expected[seen_hex(game, player, *pool[actions.slots_of(int(action))[1]])] = 1
            assert planes["active"].sum() == 0
        else:
            expected += mask[actions.world.first_move : actions.world.first_target].reshape(expected.shape)
            enemies = [unit for unit in state.units.values() if unit.player != player]
            for slot, enemy in enumerate(enemies):
                targeted = mask[actions.world.first_target + slot]
                assert units[actions.unit_slots + slot, UNIT.index("candidate")] == targeted
                if targeted:
                    expected[seen_hex(game, player, enemy.col, enemy.row)] = 1
            assert state.active_unit_id is not None
            active = state.units[state.active_unit_id]
            assert active.player == player
            assert np.argwhere(planes["active"]).tolist() == [list(seen_hex(game, player, active.col, active.row))]
            own = [unit.id for unit in state.units.values() if unit.player == player]
            assert np.flatnonzero(units[:, UNIT.index("active")]).tolist() == [own.index(active.id)]
        np.testing.assert_array_equal(planes["candidate"], expected)
        phases.add(state.phase)
    assert phases == {"deployment", "move", "shoot", "charge", "fight"}


@pytest.mark.parametrize("name", GAMES)
def test_deployment_shows_what_the_contract_asks_for(name: str):
    """6: who deploys, which units are left, occupation, the zone, and whether a legal placement exists."""
    game = GAMES[name]
    for state in positions(game, 2):
        if state.phase != "deployment":
            continue
        deployment, player = state.deployment_state, state.deployment_state.current_deployer
        facts, units, planes = seen(game, state)
        assert facts["second"] == player - 1
        assert facts["is_deployer"] == 1
        left = deployment.deployable_units_by_player
        for offset, who in ((0, player), (game.actions.unit_slots, 3 - player)):
            for slot, unit in enumerate(state.scenario.rosters[who - 1]):
                row = units[offset + slot]
                assert row[UNIT.index("exists")] == 1
                assert row[UNIT.index("to_deploy")] == (unit.id in left[who])
                assert row[UNIT.index("on_board")] == (unit.id in deployment.deployed_units)
        zone = {seen_hex(game, player, *one) for one in deployment.deployment_pools_by_player[player]}
        assert {(int(row), int(col)) for row, col in np.argwhere(planes["own_zone"])} == zone
        for plane, who in (("own_hp", player), ("their_hp", 3 - player)):
            there = {
                seen_hex(game, player, u.col, u.row) for u in state.units.values() if u.player == who and u.col >= 0
            }
            assert {(int(row), int(col)) for row, col in np.argwhere(planes[plane])} == there
        assert facts["placement_exists"] == (not state.games.mask[0, game.actions.pass_action])
        assert facts["placement_exists"] == planes["candidate"].any()


def test_extreme_profiles_stay_within_the_space():
    """Features of a huge unit are 1 at most; an army worth a single point is whole, one worth nothing has none."""
    huge = {"move": 99, "toughness": 99, "hp": 99, "control": 99, "points": 1}
    arms = {"attacks": 99, "hit": 2, "strength": 99, "ap": 6, "damage": 99}
    giant = conf("profiles/warriors")["rifleman"] | huge | {"ranged": arms | {"range": 99}, "melee": arms}
    scenario = {"player_1": roster(a=("giant", (2, 5))), "player_2": roster(b=("ghost", (2, 1)))}
    game = small_game(scenario=scenario, profiles={"giant": giant, "ghost": giant | {"points": 0}})
    facts, units, _ = seen(game, begin(game))
    wide = [UNIT.index(name) for name in ("move", "toughness", "hp", "control", "ranged_reach", "melee_damage")]
    assert (units[0, wide] == 1).all()
    assert (facts["own_points"], facts["their_points"]) == (1, 0)


def test_a_deadlock_is_visible_in_the_observation():
    game = small_game(**DEADLOCK)
    state = begin(game)
    while not state.games.mask[0, game.actions.pass_action]:
        assert seen(game, state)[0]["placement_exists"] == 1
        game.play(state, game.legal_actions(state)[0])
    facts, _, planes = seen(game, state)
    assert facts["placement_exists"] == 0
    assert planes["candidate"].sum() == 0


def test_units_off_the_board_have_no_position_and_no_expectations():
    game = GAMES["full"]
    columns = [UNIT.index(name) for name in ("on_board", "active", "candidate", "col", "row")]
    columns += [UNIT.index(name) for name in UNIT if name.startswith("damage_expected")]
    absent = 0
    for state in positions(game, 2):
        _, units, _ = seen(game, state)
        own = game.to_move(state) * game.actions.unit_slots
        for row, values in enumerate(units):
            u = (own + row) % (2 * game.actions.unit_slots)
            if state.games.units["cell"][0, u] < 0:
                assert not values[columns].any()
                absent += 1
    assert absent > 100


def test_battle_facts_are_those_of_the_state():
    game = GAMES["full"]
    scored = False
    for state in positions(game, 3):
        player = game.to_move(state) + 1
        facts, _, planes = seen(game, state)
        assert facts[f"phase_{state.phase}"] == 1
        assert (
            sum(facts[f"phase_{name}"] for name in ("deployment", "command", "move", "shoot", "charge", "fight")) == 1
        )
        assert facts["own_victory_points"] == pytest.approx(state.victory_points[player] / 60)
        assert facts["their_victory_points"] == pytest.approx(state.victory_points[3 - player] / 60)
        assert facts["own_turn"] == (state.phase != "deployment" and state.current_player == player)
        for name, owner in (("own_objective", player), ("their_objective", 3 - player)):
            held = [centre for centre, holder in state.objectives.items() if holder == owner]
            assert planes[name].sum() == 7 * len(held)
            for centre in held:
                assert planes[name][seen_hex(game, player, *centre)] == 1
        scored |= max(state.victory_points.values()) > 0
    assert scored


def test_both_players_see_the_same_of_mirrored_positions():
    """In a mirrored game the other player has the same observation after a rotation by 180 degrees."""
    game = full_game("classic_mirror", "trench", deployment_type="fixed", deployment_max_unit_slots=5)
    state = begin(game)
    first, slots = game.observe(state), game.actions.unit_slots
    other = copied(game, state)
    other.games.games["turn"], other.games.games["to_move"] = 1, 1
    other.games.games["active"] = state.games.games["active"][0] + slots
    rules.write_mask(game.world, other.games, 0)
    second = game.observe(other)
    differing = np.flatnonzero(first[: len(GLOBAL)] != second[: len(GLOBAL)])
    assert [GLOBAL[k] for k in differing] == ["second"]
    np.testing.assert_array_equal(first[len(GLOBAL) :], second[len(GLOBAL) :])
    np.testing.assert_array_equal(state.games.mask, other.games.mask)
