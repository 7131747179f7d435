"""The action space: indices, their meaning, and legality."""

import numpy as np
import pytest

from src.envs.deployment.rules import hexgrid
from src.envs.deployment.rules.deployment import DeploymentError, why_not_deploy
from tests.envs.deployment import oracle
from tests.envs.deployment.making import SMALL_SCENARIO, begin, full_game, random_action, roster, small_game


def test_the_dimensions_are_those_of_the_contract():
    """5.2: fixed by the two keys, independent of the scenario."""
    game = full_game(deployment_max_unit_slots=10, deployment_max_hex_slots=180)
    actions = game.actions
    assert actions.deployment_action_dim == 10 * 180 + 1
    assert actions.pass_action == 10 * 180
    assert game.num_actions == (10 * 180 + 1) + 525 + 10 + 1
    assert actions.wait_action == game.num_actions - 1
    state, highest = begin(game), 0
    for slot, unit in enumerate(game.scenario.rosters[0]):
        for hex_slot, (col, row) in enumerate(game.scenario.pools[0]):
            cell = state.cell_of((col, row))
            assert actions.deploy(slot, cell) == slot * 180 + hex_slot, unit.id
            highest = max(highest, slot * 180 + hex_slot)
    legal = [slot * 180 + hex_slot for slot in range(5) for hex_slot in range(len(game.scenario.pools[0]))]
    assert game.legal_actions(state) == legal, "slots without a unit or a hex are masked"
    assert highest == legal[-1] < actions.pass_action
    other = full_game("classic_mirror", "trench", deployment_max_unit_slots=10, deployment_max_hex_slots=180)
    assert other.num_actions == game.num_actions, "whatever the scenario and its zones"


def test_units_are_ordered_by_id_and_hexes_by_column_and_row():
    """5.1: lexicographic ids, independent of their order in the scenario, and hexes by (col, row)."""
    shuffled = {
        "player_1": roster(u10=("rifleman", (2, 5)), u2=("sergeant", (4, 5)), U3=("brute", (6, 5))),
        "player_2": SMALL_SCENARIO["player_2"],
    }
    game = small_game(scenario=shuffled)
    state, actions = begin(game), game.actions
    assert [unit.id for unit in game.scenario.rosters[0]] == ["U3", "u10", "u2"]
    pool = state.deployment_state.deployment_pools_by_player[1]
    assert list(pool) == sorted(pool)
    for action in range(actions.pass_action):
        unit_slot, hex_slot = actions.slots_of(action)
        col, row = pool[hex_slot]
        unit = ("U3", "u10", "u2")[unit_slot]
        assert actions.describe(state, action) == f"deploy_unit {unit} ({col}, {row})"


def test_the_mapping_is_stable():
    """10.2.1: an index means the same tuple in every episode and after every placement."""
    game, rng = small_game(), np.random.default_rng(0)
    meanings: dict[tuple[int, int], str] = {}
    for _ in range(20):
        state = game.initial(rng)
        while state.phase == "deployment":
            player = state.deployment_state.current_deployer
            for action in game.legal_actions(state):
                name = game.actions.describe(state, action)
                assert meanings.setdefault((player, action), name) == name
            game.play(state, random_action(game, state, rng))
    assert len(meanings) == 14 * 2 + 14 * 3


def test_an_action_places_its_unit_on_its_hex():
    game, rng = small_game(), np.random.default_rng(1)
    for _ in range(20):
        state = game.initial(rng)
        while state.phase == "deployment":
            action = random_action(game, state, rng)
            player = state.deployment_state.current_deployer
            unit_slot, hex_slot = game.actions.slots_of(action)
            unit_id = state.scenario.rosters[player - 1][unit_slot].id
            expected = state.deployment_state.deployment_pools_by_player[player][hex_slot]
            game.play(state, action)
            assert (state.units[unit_id].col, state.units[unit_id].row) == expected


def test_the_mask_allows_legal_placements_only():
    """10.2.2: every action agrees with the engine's own validation."""
    game, rng = small_game(min_enemy_distance=5, on_deadlock="truncate"), np.random.default_rng(2)
    for _ in range(5):
        state = game.initial(rng)
        while state.phase == "deployment" and game.outcome(state) is None:
            player = state.deployment_state.current_deployer
            for action in range(game.actions.pass_action):
                unit_slot, hex_slot = game.actions.slots_of(action)
                units = state.scenario.rosters[player - 1]
                if unit_slot >= len(units):
                    assert not state.games.mask[0, action]
                    continue
                probe = (units[unit_slot].id, *state.deployment_state.deployment_pools_by_player[player][hex_slot])
                assert state.games.mask[0, action] == (why_not_deploy(state, *probe) is None)
            game.play(state, random_action(game, state, rng))


def test_passing_is_legal_only_where_nothing_else_is():
    """10.2.3, over many games of which some are stuck."""
    game, rng, seen = small_game(min_enemy_distance=8, on_deadlock="truncate"), np.random.default_rng(3), set()
    for _ in range(60):
        state = game.initial(rng)
        while state.phase == "deployment" and game.outcome(state) is None:
            mask = state.games.mask[0]
            placements = bool(mask[: game.actions.pass_action].any())
            assert mask[game.actions.pass_action] == (not placements)
            assert mask.any()
            seen.add(placements)
            game.play(state, random_action(game, state, rng))
    assert seen == {True, False}


def test_destinations_are_numbered_as_the_player_sees_the_board():
    """The board is rotated for player 2: the hex in front of its unit has the same index as for player 1."""
    game, rng = small_game(), np.random.default_rng(4)
    for player in (1, 2):
        state = game.initial(rng)
        while not (state.phase == "move" and game.to_move(state) + 1 == player):
            game.play(state, random_action(game, state, rng))
        assert state.active_unit_id is not None
        unit = state.units[state.active_unit_id]
        for action in game.legal_actions(state)[:-1]:
            row, col = divmod(action - game.actions.world.first_move, 9)
            place = (col, row) if player == 1 else hexgrid.turned(col, row, 9, 7)
            assert game.actions.describe(state, action) == f"{unit.id} goes to ({place[0]}, {place[1]})"
            assert place in oracle.steps_to(state, unit, unit.profile.move)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (-1, r"action -1 does not exist: they are 0\.\.109"),
        (110, r"action 110 does not exist"),
        (2 * 14, "unit slot 2 of player 1 is empty"),
        (42, "player 1 has a legal placement"),
        (50, "the phase is deployment: deploy a unit first"),
        (109, "the phase is deployment"),
    ],
)
def test_an_illegal_action_is_rejected_with_a_reason(action: int, message: str):
    game = small_game()
    with pytest.raises(DeploymentError, match=message):
        game.play(begin(game), action)


def test_an_empty_hex_slot_is_refused():
    game = small_game(deployment_max_hex_slots=16)
    with pytest.raises(DeploymentError, match="hex slot 15 of player 1 is empty"):
        game.play(begin(game), 15)
