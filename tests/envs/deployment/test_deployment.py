"""The deployment phase by name: validation, effects, order, end; the clauses are listed in the game's README."""

import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.deployment import DeploymentError
from tests.envs.deployment.making import (
    SMALL_SCENARIO,
    armies,
    begin,
    contents,
    deployed,
    full_game,
    make_env,
    number,
    position,
    random_action,
    small_game,
)

EVERYWHERE = [{"cols": [0, 8], "rows": [0, 6]}]
ORDERS = ("player_by_player", "alternated_p1_start")


def deployers(game: DeploymentGame) -> list[int]:
    """Return who places, in a deployment at random."""
    state, rng, found = begin(game), np.random.default_rng(0), []
    while state.phase == "deployment":
        found.append(state.deployment_state.current_deployer)
        assert game.to_move(state) == found[-1] - 1
        game.play(state, random_action(game, state, rng))
    return found


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
    assert {position(state, unit) for unit in state.units} == {(-1, -1)}


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
    deployment = state.deployment_state
    assert position(state, "a2") == (4, 6)
    assert deployment.deployed_units == {"a2"}
    assert deployment.deployable_units_by_player[1] == ["a1"]
    assert state.games.occupants[0, state.cell_of((4, 6))] == number(state, "a2")
    assert deployment.current_deployer == 1
    assert not deployment.deployment_complete


# Two units of player 1 are placed, and b1 of player 2, unless the case is about the distance to enemies.
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
    over, restricted = case == "not the phase", "restriction" in case
    game, units = small_game(min_enemy_distance=6 if restricted else 0), {"a1": (0, 5), "a2": (4, 5)}
    units |= {} if restricted else {"b1": (4, 1)}
    state = deployed(game, **units | ({"b2": (6, 1), "b3": (8, 1)} if over else {}))
    before = contents(state)
    arguments, message = REFUSED[case]
    with pytest.raises(DeploymentError, match=message):
        game.deploy_unit(state, *arguments)
    assert contents(state) == before
    assert state.invalid_attempts == (0 if over else 1)


def test_conditions_are_checked_in_the_order_of_the_contract():
    """4.2: of several errors the first is reported; after fixing it the next one is."""
    game = small_game(min_enemy_distance=4)
    state = deployed(game, a1=(4, 5), a2=(8, 5), b1=(0, 0))
    both = {"player_1": EVERYWHERE, "player_2": EVERYWHERE}
    crowded = small_game(min_enemy_distance=2, zones=both, deployment_max_hex_slots=60)
    full = deployed(crowded, a1=(4, 5), a2=(0, 5))
    for one, at, arguments, message in (
        (game, state, ("a1", 99, 99), "not player 2's"),
        (game, state, ("b1", 99, 99), "deployed already"),
        (game, state, ("b2", 99, 99), "off the board"),
        (game, state, ("b2", 2, 2), "a wall"),
        (game, state, ("b2", 4, 5), "outside the zone"),  # where a1 stands, so it is occupied and too near as well
        (game, state, ("b2", 0, 0), "stands there"),
        (crowded, full, ("b2", 4, 5), "unit a1 stands there"),  # which is too near an enemy as well
        (crowded, full, ("b2", 4, 4), "an enemy is nearer than 2"),
    ):
        with pytest.raises(DeploymentError, match=message):
            one.deploy_unit(at, *arguments)
    crowded.deploy_unit(full, "b2", 4, 2)


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
    where: tuple = (np.int64(4), np.int32(5))
    assert position(deployed(small_game(), a1=where), "a1") == (4, 5)


def test_players_hand_over_when_their_list_is_empty():
    """10.1.4 and 7.1: player by player, and only then."""
    assert deployers(small_game()) == [1, 1, 2, 2, 2]


def test_players_alternate_and_who_has_more_units_ends_alone():
    """Spec 001: player 1 begins, players alternate while both have units, then the other continues alone."""
    assert deployers(small_game(deployment_order_mode="alternated_p1_start")) == [1, 2, 1, 2, 2]
    exchanged = small_game(
        deployment_order_mode="alternated_p1_start",
        scenario=armies(SMALL_SCENARIO["player_2"], SMALL_SCENARIO["player_1"]),
    )
    assert deployers(exchanged) == [1, 2, 1, 2, 1]


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
    assert (state.phase, state.round) == ("move", 1)
    assert not any(unit.acted for unit in state.units.values()), "no unit acts before its action"


def test_a_unit_can_be_taken_back_by_who_deploys():
    game = small_game()
    state, other = deployed(game, a2=(4, 6), a1=(4, 5), b1=(0, 0)), deployed(game, a2=(4, 6), a1=(4, 5), b1=(0, 0))
    game.deploy_unit(state, "b2", 2, 0)
    game.undeploy_unit(state, "b2")
    assert state.deployment_state.deployable_units_by_player[2] == ["b2", "b3"]
    assert position(state, "b2") == (-1, -1)
    assert contents(state) == contents(other), "it leaves no trace"
    for unit, message in (("a2", "not player 2's"), ("b2", "not deployed"), ("zz", "not player 2's")):
        with pytest.raises(DeploymentError, match=message):
            game.undeploy_unit(state, unit)
    assert contents(state) == contents(other)


def test_taking_back_leaves_the_others_in_their_order():
    game = small_game()
    state = deployed(game, a1=(0, 5), a2=(2, 5), b3=(0, 0), b1=(2, 0))
    game.undeploy_unit(state, "b3")
    assert state.game["deployment_steps"] == 3
    game.deploy_unit(state, "b2", 4, 0)
    game.deploy_unit(state, "b3", 6, 0)
    order = {unit: int(state.games.units["order"][0, number(state, unit)]) for unit in state.units}
    assert order == {"a1": 0, "a2": 1, "b1": 0, "b2": 1, "b3": 2}
    assert state.game["deployment_steps"] == 5


def test_the_order_of_placements_counts_own_units_only():
    state = deployed(
        small_game(deployment_order_mode="alternated_p1_start"),
        **{"a2": (0, 5), "b3": (0, 0), "a1": (2, 5), "b1": (2, 0), "b2": (4, 0)},
    )
    assert [int(state.games.units["order"][0, u]) for u in state.numbers] == [1, 0, 1, 2, 0]


def test_units_answered_by_the_other_side_are_not_taken_back():
    """Otherwise a player could take back and place a unit each turn, and hold back its army until the other is done."""
    game = small_game(deployment_order_mode="alternated_p1_start")
    state = deployed(game, a1=(0, 5), b1=(0, 0))
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


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("players", [(), (1,), (2,), (1, 2)])
def test_people_end_the_phase_by_confirming_it(order: str, players: tuple[int, ...]):
    """Whoever places last can confirm too, and until then take units back; with alternation both place first."""
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
        assert order == "player_by_player" or not any(deployment.deployable_units_by_player.values())
        assert game.legal_actions(state) == []
        with pytest.raises(DeploymentError, match="has placed all units: confirm the deployment"):
            game.pass_deployment(state)
        if player == 2:
            at = position(state, "b3")
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
    state = deployed(game, a2=(4, 6))
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
    state = deployed(game, a1=(0, 5), b1=(0, 0), a2=(2, 5), b2=(2, 0))
    game.confirm_deployment(state, 1)
    assert state.deployment_state.current_deployer == 2
    game.deploy_unit(state, "b3", 4, 0)
    game.confirm_deployment(state, 2)
    assert state.phase == "move"


def test_a_confirmation_out_of_turn_does_not_begin_the_battle():
    """Player 2 has placed the last unit and can take it back until it confirms, whenever player 1 does so."""
    game = small_game(deployment_order_mode="alternated_p1_start", confirming_players=[1, 2])
    state = deployed(game, a1=(0, 5), b1=(0, 0), a2=(2, 5), b2=(2, 0), b3=(4, 0))
    game.confirm_deployment(state, 1)
    assert state.phase == "deployment"
    assert state.deployment_state.unconfirmed_player == 2
    game.undeploy_unit(state, "b3")
    game.deploy_unit(state, "b3", 6, 0)
    game.confirm_deployment(state, 2)
    assert state.phase == "move"


def test_confirming_is_for_people():
    with pytest.raises(UserError, match=r"confirming_players=\[3\] .*1, 2"):
        small_game(confirming_players=[3])
    with pytest.raises(UserError, match="confirming_players is for people"):
        make_env(small_game(confirming_players=[1]))
    make_env(small_game(confirming_players=[1], deployment_type="fixed"))  # nobody places or confirms


def test_a_fixed_deployment_starts_in_battle():
    game = small_game(deployment_type="fixed")
    state = begin(game)
    assert state.phase == "move"
    assert state.deployment_state.deployment_complete
    assert position(state, "b3") == (6, 1)
    assert game.episode_metrics(state) == {}
    with pytest.raises(DeploymentError, match="deployment is over"):
        game.play(state, 0)


@pytest.mark.parametrize(
    "choice",
    [
        *("deployment_type=random", "deployment_order_mode=simultaneous", "post_deployment_start_phase=shoot"),
        *("on_deadlock=ignore", "activation=random"),
    ],
)
def test_choices_that_do_not_exist_are_refused(choice: str):
    with pytest.raises(UserError, match=f"{choice} must be one of"):
        small_game(**dict([choice.split("=")]))


def test_no_placement_is_random():
    """The same actions give the same placement for any seed: deployment uses no dice."""
    game, places = small_game(), set()
    for seed in range(5):
        state = begin(game, seed)
        while state.phase == "deployment":
            game.play(state, game.legal_actions(state)[0])
        places.add(tuple(position(state, unit) for unit in state.units))
    assert len(places) == 1
