"""The deployment phase by name: validation, effects, order, end; the clauses are listed in the game's README."""

import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.deployment.rules.deployment import DeploymentError
from tests.envs.deployment.making import (
    SMALL_SCENARIO,
    begin,
    contents,
    full_game,
    make_env,
    number,
    random_action,
    small_game,
)

EVERYWHERE = [{"cols": [0, 8], "rows": [0, 6]}]
ORDERS = ("player_by_player", "alternated_p1_start")


def test_the_state_has_the_fields_of_the_contract():
    state = begin(small_game())
    deployment = state.deployment_state
    assert state.phase == "deployment"
    assert deployment.current_deployer == 1
    assert deployment.deployable_units_by_player == {1: ["a1", "a2"], 2: ["b1", "b2", "b3"]}
    assert deployment.deployed_units == set()
    assert deployment.deployment_complete is False
    assert deployment.active_unit_id is None
    assert deployment.deployment_order_mode == "player_by_player"
    assert all((unit.col, unit.row) == (-1, -1) for unit in state.units.values())


def test_pools_are_built_for_each_player():
    """10.1.1: the open hexes of the zone, by (col, row), without walls and forbidden hexes."""
    game = full_game()
    board = game.scenario.board
    for player, rows in ((1, range(13, 21)), (2, range(8))):
        pool = begin(game).deployment_state.deployment_pools_by_player[player]
        zone = [(col, row) for col in range(25) for row in rows]
        assert list(pool) == [one for one in zone if one not in board.walls and one not in board.forbidden]
        assert not any(row == 20 and col % 2 for col, row in pool)
        assert board.walls & set(zone)


def test_a_valid_placement_is_accepted_with_all_its_effects():
    """10.1.2 and 4.3: position, deployed_units, deployable list, occupation and eligibility, all at once."""
    game = small_game()
    state = begin(game)
    assert game.deploy_unit(state, "a2", 4, 6) is state, "there is one state, changed in place"
    unit, deployment = state.units["a2"], state.deployment_state
    assert (unit.col, unit.row) == (4, 6)
    assert deployment.deployed_units == {"a2"}
    assert deployment.deployable_units_by_player[1] == ["a1"]
    assert state.games.occupants[0, state.cell_of((4, 6))] == number(state, "a2")
    assert deployment.current_deployer == 1
    assert not deployment.deployment_complete
    with pytest.raises(DeploymentError, match="unit a2 stands there"):
        game.deploy_unit(state, "a1", 4, 6)


REFUSED = {
    "not the phase": (("a1", 0, 5), "the phase is move: deployment is over"),
    "unknown unit": (("zz", 0, 5), "unit zz is not player 2's, who deploys now: choose one of b1, b2, b3"),
    "the other player's": (("a2", 0, 0), "unit a2 is not player 2's"),
    "already placed": (("b1", 0, 0), "unit b1 is deployed already: choose one of b2, b3"),
    "off the board": (("b2", 9, 0), r"it is off the board, whose columns are 0\.\.8 and rows 0\.\.6"),
    "negative": (("b2", -1, -1), "off the board"),
    "wall": (("b2", 2, 2), "it is a wall"),
    "outside the zone": (("b2", 4, 3), "it is outside the zone of player 2"),
    "forbidden": (("b2", 1, 6), "outside the zone of player 2, and a forbidden hex"),
    "occupied": (("b2", 4, 1), "unit b1 stands there"),
    "restriction of the scenario": (("b2", 4, 0), "an enemy is nearer than 6 hexes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_invalid_placement_has_its_error_and_changes_nothing(case: str):
    """10.1.3: each condition of 4.2 has its own message; no field is touched and no other unit taken instead."""
    placed = case == "not the phase"
    game = small_game(min_enemy_distance=6 if "restriction" in case else 0)
    state = begin(game)
    game.deploy_unit(state, "a1", 0, 5)
    game.deploy_unit(state, "a2", 4, 5)
    if "restriction" not in case:
        game.deploy_unit(state, "b1", 4, 1)
    if placed:
        game.deploy_unit(state, "b2", 6, 1)
        game.deploy_unit(state, "b3", 8, 1)
    before = contents(state)
    arguments, message = REFUSED[case]
    with pytest.raises(DeploymentError, match=message):
        game.deploy_unit(state, *arguments)
    assert contents(state) == before
    assert state.invalid_attempts == (0 if placed else 1)


def test_conditions_are_checked_in_the_order_of_the_contract():
    """4.2: of several errors the first is reported; after fixing it the next one is."""
    game = small_game(min_enemy_distance=4)
    state = begin(game)
    game.deploy_unit(state, "a1", 4, 5)
    game.deploy_unit(state, "a2", 8, 5)
    game.deploy_unit(state, "b1", 0, 0)
    faults = [
        (("a1", 99, 99), "not player 2's"),
        (("b1", 99, 99), "deployed already"),
        (("b2", 99, 99), "off the board"),
        (("b2", 2, 2), "a wall"),
        (("b2", 4, 3), "outside the zone"),
        (("b2", 0, 0), "stands there"),
    ]
    for arguments, message in faults:
        with pytest.raises(DeploymentError, match=message):
            game.deploy_unit(state, *arguments)
    with pytest.raises(DeploymentError, match="outside the zone"):
        game.deploy_unit(state, "b2", 4, 5)  # where a1 stands, so it is occupied and too near an enemy as well
    both = {"player_1": EVERYWHERE, "player_2": EVERYWHERE}
    crowded = small_game(min_enemy_distance=2, zones=both, deployment_max_hex_slots=60)
    state = begin(crowded)
    crowded.deploy_unit(state, "a1", 4, 5)
    crowded.deploy_unit(state, "a2", 0, 5)
    with pytest.raises(DeploymentError, match="unit a1 stands there"):
        crowded.deploy_unit(state, "b2", 4, 5)  # which is too near an enemy as well
    with pytest.raises(DeploymentError, match="an enemy is nearer than 2"):
        crowded.deploy_unit(state, "b2", 4, 4)
    near = small_game(min_enemy_distance=6)
    state = begin(near)
    near.deploy_unit(state, "a1", 4, 5)
    near.deploy_unit(state, "a2", 8, 5)
    with pytest.raises(DeploymentError, match="nearer than 6"):
        near.deploy_unit(state, "b2", 4, 0)
    near.deploy_unit(state, "b2", 0, 0)


@pytest.mark.parametrize("wrong", [True, 4.0, 4.7, "4", None, np.float64(4), [4]])
def test_what_is_no_whole_number_is_refused(wrong):
    game = small_game()
    state = begin(game)
    before = contents(state)
    for col, row in ((wrong, 5), (4, wrong)):
        with pytest.raises(DeploymentError, match="have to be whole numbers"):
            game.deploy_unit(state, "a1", col, row)
    with pytest.raises(DeploymentError, match="is not a whole number"):
        game.play(state, wrong)
    with pytest.raises(DeploymentError, match="there is no player"):
        game.confirm_deployment(state, wrong)
    assert contents(state) == before


def test_whole_numbers_of_numpy_will_do():
    game = small_game()
    where: tuple = (np.int64(4), np.int32(5))
    state = game.deploy_unit(begin(game), "a1", *where)
    assert (state.units["a1"].col, state.units["a1"].row) == (4, 5)


def test_players_hand_over_when_their_list_is_empty():
    """10.1.4 and 7.1: player by player, and only then."""
    game, rng = small_game(), np.random.default_rng(0)
    state, deployers = begin(game), []
    while state.phase == "deployment":
        deployers.append(state.deployment_state.current_deployer)
        assert game.to_move(state) == deployers[-1] - 1
        game.play(state, random_action(game, state, rng))
    assert deployers == [1, 1, 2, 2, 2]


def test_players_alternate_and_who_has_more_units_ends_alone():
    """Spec 001: player 1 begins, players alternate while both have units, then the other continues alone."""
    game, rng = small_game(deployment_order_mode="alternated_p1_start"), np.random.default_rng(0)
    state, deployers = begin(game), []
    while state.phase == "deployment":
        deployers.append(state.deployment_state.current_deployer)
        game.play(state, random_action(game, state, rng))
    assert deployers == [1, 2, 1, 2, 2]
    turned_round = small_game(
        deployment_order_mode="alternated_p1_start",
        zones={"player_1": [{"cols": [0, 8], "rows": [0, 1]}], "player_2": [{"cols": [0, 8], "rows": [4, 6]}]},
        scenario={"player_1": SMALL_SCENARIO["player_2"], "player_2": SMALL_SCENARIO["player_1"]},
        deployment_max_hex_slots=22,
    )
    state, deployers = begin(turned_round), []
    while state.phase == "deployment":
        deployers.append(state.deployment_state.current_deployer)
        turned_round.play(state, random_action(turned_round, state, rng))
    assert deployers == [1, 2, 1, 2, 1]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("start", ["command", "move"])
def test_the_last_unit_leads_to_the_configured_phase(order: str, start: str):
    """10.1.5 and 7.2: complete only when every unit of both players is placed, then the configured phase at once."""
    game, rng = small_game(deployment_order_mode=order, post_deployment_start_phase=start), np.random.default_rng(1)
    state = begin(game)
    for placed in range(5):
        assert state.phase == "deployment"
        assert not state.deployment_state.deployment_complete
        assert len(state.deployment_state.deployed_units) == placed
        game.play(state, random_action(game, state, rng))
    assert state.deployment_state.deployment_complete
    assert state.phases_entered[0] == start
    assert state.phase == "move"
    assert state.round == 1
    assert not any(unit.acted for unit in state.units.values()), "no unit acts before its action"


def test_a_unit_can_be_taken_back_by_who_deploys():
    game = small_game()
    state = begin(game)
    fresh = contents(state)
    game.deploy_unit(state, "a2", 4, 6)
    game.undeploy_unit(state, "a2")
    assert state.deployment_state.deployable_units_by_player[1] == ["a1", "a2"]
    assert (state.units["a2"].col, state.units["a2"].row) == (-1, -1)
    fresh.pop("trail")  # of the latest action, which is another one
    for name in fresh:
        if name != "games":
            assert contents(state)[name] == fresh[name]
    assert state.game["deployment_steps"] == 0
    game.deploy_unit(state, "a2", 4, 6)
    game.deploy_unit(state, "a1", 4, 5)
    before = contents(state)
    for unit, message in (("a2", "not player 2's"), ("b1", "not deployed"), ("zz", "not player 2's")):
        with pytest.raises(DeploymentError, match=message):
            game.undeploy_unit(state, unit)
    assert contents(state) == before


def test_taking_back_leaves_the_others_in_their_order():
    game = small_game()
    state = begin(game)
    for unit, col in (("a1", 0), ("a2", 2), ("b3", 0), ("b1", 2)):
        game.deploy_unit(state, unit, col, 5 if unit[0] == "a" else 0)
    game.undeploy_unit(state, "b3")
    assert state.game["deployment_steps"] == 3
    game.deploy_unit(state, "b2", 4, 0)
    game.deploy_unit(state, "b3", 6, 0)
    order = {unit: int(state.games.units["order"][0, number(state, unit)]) for unit in state.units}
    assert order == {"a1": 0, "a2": 1, "b1": 0, "b2": 1, "b3": 2}
    assert state.game["deployment_steps"] == 5


@pytest.mark.parametrize("mode", ["player_by_player", "alternated_p1_start"])
def test_the_order_of_placements_counts_own_units_only(mode: str):
    game, rng = small_game(deployment_order_mode=mode), np.random.default_rng(2)
    for _ in range(10):
        state = game.initial(rng)
        placed: dict[int, list[str]] = {1: [], 2: []}
        while state.phase == "deployment":
            player = state.deployment_state.current_deployer
            before = state.deployment_state.deployed_units
            game.play(state, random_action(game, state, rng))
            placed[player] += sorted(state.deployment_state.deployed_units - before)
        for units in placed.values():
            orders = [int(state.games.units["order"][0, number(state, unit)]) for unit in units]
            assert orders == list(range(len(units)))


def test_a_unit_taken_back_leaves_no_trace():
    game = small_game()
    state, other = begin(game), begin(game)
    for one in (state, other):
        game.deploy_unit(one, "a1", 0, 5)
        game.deploy_unit(one, "a2", 2, 5)
        game.deploy_unit(one, "b1", 0, 0)
    game.deploy_unit(state, "b2", 2, 0)
    game.undeploy_unit(state, "b2")
    assert contents(state) == contents(other)


def test_units_answered_by_the_other_side_are_not_taken_back():
    """Otherwise a player could take back and place a unit each turn, and hold back its army until the other is done."""
    game = small_game(deployment_order_mode="alternated_p1_start")
    state = begin(game)
    game.deploy_unit(state, "a1", 0, 5)
    game.deploy_unit(state, "b1", 0, 0)
    before = contents(state)
    with pytest.raises(DeploymentError, match="a1 cannot be taken back"):
        game.undeploy_unit(state, "a1")
    assert contents(state) == before
    game.deploy_unit(state, "a2", 2, 5)
    game.deploy_unit(state, "b2", 2, 0)  # player 1 has no units left, so player 2 goes on alone
    with pytest.raises(DeploymentError, match="b1 cannot be taken back"):
        game.undeploy_unit(state, "b1")
    game.undeploy_unit(state, "b2")
    assert state.deployment_state.deployable_units_by_player[2] == ["b2", "b3"]
    assert state.deployment_state.current_deployer == 2


@pytest.mark.parametrize("order", ["player_by_player", "alternated_p1_start"])
@pytest.mark.parametrize("players", [(), (1,), (2,), (1, 2)])
def test_people_end_the_phase_by_confirming_it(order: str, players: tuple[int, ...]):
    """Whoever places last can confirm too, and until then take units back."""
    game = small_game(deployment_order_mode=order, confirming_players=list(players))
    state, places = begin(game), {1: iter([(0, 5), (2, 5)]), 2: iter([(0, 0), (2, 0), (4, 0)])}
    confirmed: list[int] = []
    while state.phase == "deployment":
        deployment = state.deployment_state
        player = deployment.current_deployer
        assert game.to_move(state) == player - 1
        assert not deployment.deployment_complete
        if deployment.unconfirmed_player is None:
            unit = deployment.deployable_units_by_player[player][0]
            game.deploy_unit(state, unit, *next(places[player]))
            continue
        assert game.legal_actions(state) == []
        with pytest.raises(DeploymentError, match="has placed all units: confirm the deployment"):
            game.pass_deployment(state)
        if player == 2:
            at = state.units["b3"].col, state.units["b3"].row
            game.undeploy_unit(state, "b3")
            with pytest.raises(DeploymentError, match="b3 are still to be deployed"):
                game.confirm_deployment(state, 2)
            game.deploy_unit(state, "b3", *at)
        game.confirm_deployment(state, player)
        confirmed.append(player)
        if state.phase == "deployment":
            with pytest.raises(DeploymentError, match="confirmed already"):
                game.confirm_deployment(state, player)
    assert sorted(confirmed) == list(players)
    assert state.deployment_state.confirmed_players == list(players)
    assert state.deployment_state.deployment_complete
    assert state.phase == "move"


def test_player_1_takes_back_until_it_confirms():
    game = small_game(confirming_players=[1])
    state = begin(game)
    game.deploy_unit(state, "a2", 4, 6)
    for player, message in ((1, "a1 are still to be deployed"), (2, "2 has nothing to confirm"), (3, "no player 3")):
        with pytest.raises(DeploymentError, match=message):
            game.confirm_deployment(state, player)
    game.deploy_unit(state, "a1", 4, 5)
    with pytest.raises(DeploymentError, match="b1 is not player 1's"):
        game.deploy_unit(state, "b1", 0, 0)
    game.undeploy_unit(state, "a2")
    game.deploy_unit(state, "a2", 6, 6)
    game.confirm_deployment(state, 1)
    assert state.deployment_state.current_deployer == 2
    with pytest.raises(DeploymentError, match="a2 is not player 2's"):
        game.undeploy_unit(state, "a2")


def test_who_is_done_first_confirms_while_the_other_places():
    game = small_game(deployment_order_mode="alternated_p1_start", confirming_players=[1, 2])
    state = begin(game)
    for unit, col, row in (("a1", 0, 5), ("b1", 0, 0), ("a2", 2, 5), ("b2", 2, 0)):
        game.deploy_unit(state, unit, col, row)
    game.confirm_deployment(state, 1)
    assert state.deployment_state.current_deployer == 2
    game.deploy_unit(state, "b3", 4, 0)
    game.confirm_deployment(state, 2)
    assert state.phase == "move"


@pytest.mark.parametrize("players", [(1,), (1, 2)])
def test_both_players_place_before_one_is_asked_to_confirm(players: tuple[int, ...]):
    game = full_game(deployment_order_mode="alternated_p1_start", confirming_players=list(players))
    state, (first, second) = begin(game), game.scenario.rosters
    fewer = min(len(first), len(second))
    for pair in zip(first, second, strict=False):
        for unit in pair:
            game.deploy_unit(state, unit.id, *unit.position)
    assert len(first) == fewer < len(second)
    for unit in second[fewer:]:
        assert state.deployment_state.unconfirmed_player is None
        assert state.deployment_state.current_deployer == 2
        game.deploy_unit(state, unit.id, *unit.position)
    for player in sorted(players, reverse=True):  # first who has placed last
        assert state.deployment_state.unconfirmed_player == player
        game.confirm_deployment(state, player)
    assert state.phase == "move"


def test_confirming_is_for_people():
    with pytest.raises(UserError, match=r"confirming_players=\[3\] .*1, 2"):
        small_game(confirming_players=[3])
    with pytest.raises(UserError, match="confirming_players is for people"):
        make_env(small_game(confirming_players=[1]))
    make_env(small_game(confirming_players=[1], deployment_type="fixed"))  # nobody places or confirms


def test_the_deployment_state_has_the_active_unit():
    game = small_game()
    state, seen = begin(game), set()
    while game.outcome(state) is None:
        assert state.deployment_state.active_unit_id == state.active_unit_id
        seen.add((state.phase, state.deployment_state.active_unit_id is None))
        game.play(state, game.legal_actions(state)[-1])
    assert {("deployment", True), ("move", False)} <= seen


def test_a_fixed_deployment_starts_in_battle():
    game = small_game(deployment_type="fixed")
    state = begin(game)
    assert state.phase == "move"
    assert state.deployment_state.deployment_complete
    assert (state.units["b3"].col, state.units["b3"].row) == (6, 1)
    assert game.episode_metrics(state) == {}
    with pytest.raises(DeploymentError, match="deployment is over"):
        game.play(state, 0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("deployment_type", "random"),
        ("deployment_order_mode", "simultaneous"),
        ("post_deployment_start_phase", "shoot"),
        ("on_deadlock", "ignore"),
    ],
)
def test_choices_that_do_not_exist_are_refused(key: str, value: str):
    with pytest.raises(UserError, match=f"{key}={value} must be one of"):
        small_game(**{key: value})


def test_no_placement_is_random():
    """The same actions give the same placement for any seed: deployment uses no dice."""
    game = small_game()
    places = set()
    for seed in range(5):
        state = begin(game, seed)
        while state.phase == "deployment":
            game.play(state, game.legal_actions(state)[0])
        places.add(tuple((unit.id, unit.col, unit.row) for unit in state.units.values()))
    assert len(places) == 1
