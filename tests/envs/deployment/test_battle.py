"""The battle, rule by rule, on positions made for each."""

import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules import dice
from src.envs.deployment.rules.battle import can_shoot, is_eligible, take_objectives
from src.envs.deployment.rules.reach import charge_path, find_charges
from src.envs.deployment.rules.state import GameState
from src.envs.deployment.rules.world import CHARGE
from tests.envs.deployment.making import (
    COVER_MAP,
    aim,
    battle,
    begin,
    conf,
    contents,
    copied,
    go,
    number,
    random_action,
    small_game,
    wait_until,
)

# a1 rifleman, a2 sergeant against b1 brute, b2 skitterer, b3 spitter; the invariants are checked after every action
GAME = small_game(deployment_type="fixed")
COVERED = small_game(deployment_type="fixed", board={"map": COVER_MAP})
PROFILES = conf("profiles/warriors")
PEACEFUL = small_game(
    deployment_type="fixed", profiles={name: {**profile, "ranged": None} for name, profile in PROFILES.items()}
)


def legal(state: GameState, action: int) -> bool:
    return bool(state.games.mask[0, action])


def set_dice(state: GameState, wanted: list[int]) -> None:
    """Set a generator state whose next rolls are these."""
    source = state.games.games.copy()
    for word in range(200_000):
        source["random"] = word
        if all(dice.d6(source[0]) == roll for roll in wanted):
            state.games.games["random"] = word
            return
    raise AssertionError(f"no generator state rolls {wanted}")


def test_a_turn_has_its_phases_in_order_and_ends_by_eligibility():
    game, rng = GAME, np.random.default_rng(0)
    order = ["command", "move", "shoot", "charge", "fight"]
    for seed in range(10):
        state = begin(game, seed)
        previous, turns = "move", [(1, 1)]
        while game.outcome(state) is None:
            game.play(state, random_action(game, state, rng))
            for phase in state.phases_entered:
                assert phase == order[(order.index(previous) + 1) % 5]
                previous = phase
            if turns[-1] != (state.round, state.current_player):
                turns.append((state.round, state.current_player))
        everything = [(number, player) for number in range(1, 6) for player in (1, 2)]
        assert turns == everything[: len(turns)]


def test_nobody_moves_through_walls_units_or_beside_enemies():
    state = battle(GAME, a1=(4, 5), a2=(5, 4), b1=(4, 2), b2=(8, 0))
    assert state.active_unit_id == "a1"
    assert not legal(state, go(GAME, state, (6, 4))), "a wall"
    assert not legal(state, go(GAME, state, (5, 4))), "a friend"
    for beside in ((4, 3), (3, 2), (5, 2), (4, 1)):
        assert not legal(state, go(GAME, state, beside)), "beside an enemy"
    assert legal(state, go(GAME, state, (4, 4)))
    assert not legal(state, go(GAME, state, (4, 5))), "staying is waiting"


def test_who_has_fled_neither_shoots_nor_charges():
    state = battle(GAME, a1=(4, 4), b1=(4, 3), b3=(8, 0))
    GAME.play(state, go(GAME, state, (4, 6)))
    assert state.phases_entered == ["shoot", "charge", "fight", "command", "move"], "nothing was left to do for a1"
    assert state.current_player == 2
    two = battle(GAME, a1=(4, 4), a2=(8, 6), b1=(4, 3), b3=(8, 0))
    GAME.play(two, go(GAME, two, (4, 6)))
    assert two.units["a1"].fled
    assert not two.units["a2"].fled
    stays = battle(GAME, a1=(4, 6), b1=(4, 2), b3=(8, 0))
    GAME.play(stays, go(GAME, stays, (4, 5)))
    assert not stays.units["a1"].fled
    assert stays.phase == "shoot"


def test_fleeing_is_forgotten_in_the_next_turn():
    state = battle(GAME, a1=(4, 4), b1=(4, 3), b3=(8, 0))
    GAME.play(state, go(GAME, state, (4, 6)))
    wait_until(GAME, state, "move", "a1")
    assert not state.units["a1"].fled


@pytest.mark.parametrize(
    ("where", "allowed"),
    [
        ({"a1": (4, 6), "b1": (4, 1)}, True),
        ({"a1": (2, 4), "b1": (2, 0)}, False),  # a wall at (2, 2)
        ({"a1": (4, 4), "b1": (4, 3)}, False),  # beside the shooter
        ({"a1": (4, 6), "a2": (4, 2), "b1": (4, 1)}, False),  # beside a friend of the shooter
        ({"a1": (4, 6), "b3": (4, 2), "b1": (4, 1)}, True),  # units block no sight
    ],
)
def test_shooting_needs_sight_and_a_target_out_of_contact(where, allowed: bool):
    state = battle(GAME, **where)
    assert can_shoot(GAME.world, state.games, 0, number(state, "a1"), number(state, "b1")) == allowed


@pytest.mark.parametrize(("game", "lost"), [(GAME, 1), (COVERED, 0)])
def test_cover_improves_the_save_against_shooting(game: DeploymentGame, lost: int):
    """A shot that hits and wounds a brute on (4, 4), which rolls a 4: 5+ to save in the open, 4+ in cover."""
    state = battle(game, a1=(4, 6), b1=(4, 4))
    wait_until(game, state, "shoot")
    set_dice(state, [3, 5, 4, 2, 2, 2])
    game.play(state, aim(game, state, "b1"))
    assert state.units["b1"].hp == 3 - lost


@pytest.mark.parametrize("game", [GAME, COVERED])
def test_cover_is_no_help_in_a_fight(game: DeploymentGame):
    """A brute on (4, 4) saves 4+ against the AP0 of a rifleman beside it."""
    state = battle(game, a1=(4, 5), b1=(4, 4))
    wait_until(game, state, "fight", "a1")
    set_dice(state, [3, 5, 3, 2, 2])
    game.play(state, aim(game, state, "b1"))
    assert state.units["b1"].hp == 2


def test_shooting_needs_range():
    pistol = {**PROFILES["sergeant"]["ranged"], "range": 3}
    game = small_game(
        deployment_type="fixed", profiles={**PROFILES, "rifleman": {**PROFILES["rifleman"], "ranged": pistol}}
    )
    for row, allowed in ((2, True), (1, False)):
        state = battle(game, a1=(4, 5), b1=(4, row))
        assert can_shoot(game.world, state.games, 0, number(state, "a1"), number(state, "b1")) == allowed


@pytest.mark.parametrize(
    ("rolls", "lost"),
    [
        ([3, 5, 4, 2], 1),
        ([3, 5, 5, 2], 0),
        ([3, 4, 2], 0),
        ([2, 2], 0),
        ([3, 5, 1, 6, 6, 5], 1),
        ([6, 6, 1, 6, 6, 1], 2),
    ],
)
def test_shots_hit_wound_and_are_saved(rolls: list[int], lost: int):
    """Two shots at a brute: 3+ to hit, 5+ to wound (S4 on T5), 5+ to save (4+ worsened by one)."""
    two_shots = {**PROFILES["rifleman"]["ranged"], "attacks": 2}
    profiles = {**PROFILES, "rifleman": {**PROFILES["rifleman"], "ranged": two_shots}}
    game = small_game(deployment_type="fixed", profiles=profiles)
    state = battle(game, a1=(4, 6), b1=(4, 1))
    wait_until(game, state, "shoot", "a1")
    set_dice(state, rolls)
    game.play(state, aim(game, state, "b1"))
    assert state.units["b1"].hp == 3 - lost
    assert state.games.units["dealt"][0, number(state, "a1")] == lost


def test_the_dead_leave_the_board():
    state = battle(GAME, a1=(4, 6), b3=(4, 1), b1=(8, 1))
    wait_until(GAME, state, "shoot", "a1")
    set_dice(state, [6, 6, 1])
    GAME.play(state, aim(GAME, state, "b3"))
    assert state.units["b3"].hp == 0
    assert (state.units["b3"].col, state.units["b3"].row) == (-1, -1)
    assert state.games.occupants[0, state.cell_of((4, 1))] == -1


def charging(rolls: list[int], game: DeploymentGame = GAME, **where) -> GameState:
    state = battle(game, **where)
    wait_until(game, state, "charge", "a1")
    set_dice(state, rolls)
    return state


def test_a_charge_must_cover_the_path_to_a_hex_beside_its_target():
    """Three steps from (4, 6) to a hex beside (4, 2)."""
    for rolls, reached in (([1, 1], False), ([1, 2], True)):
        state = charging(rolls, a1=(4, 6), b1=(4, 2), b3=(8, 0))
        GAME.play(state, aim(GAME, state, "b1"))
        beside = GAME.world.distance[state.cell_of((4, 2)), state.games.units["cell"][0, 0]] == 1
        assert beside == reached
        assert state.units["a1"].charged == reached
        assert state.phase == ("fight" if reached else "move"), "a charge that fell short ended player 1's turn"


def test_both_sides_charge_alike():
    """Among equally near hexes the same one is taken when the board is rotated by 180 degrees."""
    both = {
        side: [{"id": f"{name}{k}", "profile": "rifleman", "position": [2 * k, row]} for k in range(3)]
        for side, name, row in (("player_1", "a", 5), ("player_2", "b", 1))
    }
    game, rng = small_game(deployment_type="fixed", scenario=both), np.random.default_rng(0)
    board, several = game.scenario.board, 0
    cells = [(col, row) for col in range(9) for row in range(7) if board.is_open((col, row))]
    for _ in range(150):
        drawn = [cells[k] for k in rng.choice(len(cells), 6, replace=False)]
        ours = dict(zip(("a0", "a1", "a2", "b0", "b1", "b2"), drawn, strict=True))
        theirs = {name.translate(str.maketrans("ab", "ba")): board.turned(one) for name, one in ours.items()}
        ends = []
        for where, charger, target in ((ours, 0, 3), (theirs, 3, 0)):
            state = battle(game, **where)
            find_charges(game.world, state.games, 0, charger, first_only=False)
            cell, steps = charge_path(game.world, state.games, 0, charger, target)
            ends.append((state.hex_of(cell), steps))
        (first, steps), (second, again) = ends
        assert steps == again
        assert first == (-1, -1) == second or first == board.turned(second)
        several += first != (-1, -1)
    assert several > 50


def test_a_charge_does_not_rest_on_what_was_looked_at_before():
    """b1 is the farther one of two targets."""
    state = charging([6, 6], a1=(4, 6), b1=(4, 2), b3=(7, 3))
    other = copied(GAME, state)
    other.games.sets[:] = 0
    for one in (state, other):
        GAME.play(one, aim(GAME, one, "b1"))
    assert state.units["a1"].charged
    assert state.units == other.units


@pytest.mark.parametrize(("reach", "eligible"), [(4, True), (3, False)])
def test_an_enemy_out_of_reach_makes_nobody_eligible(reach: int, eligible: bool):
    """b3 is three hexes from a1, behind a wall and a2; the sides of b1 are three steps away, b1 itself four."""
    game = small_game(deployment_type="fixed", charge_reach=reach)
    state = battle(game, a1=(4, 4), a2=(2, 3), b1=(3, 0), b3=(1, 2))
    state.games.games["phase"] = CHARGE
    assert is_eligible(game.world, state.games, 0, number(state, "a1")) == eligible


def test_chargers_fight_first_then_sides_alternate():
    """a1 charged; a2 and both enemies stand in contact too."""
    state = battle(GAME, a1=(4, 6), a2=(8, 5), b1=(4, 4), b2=(8, 4), b3=(7, 3))
    state.games.units["charged"][0, number(state, "a2")] = True
    state.games.units["hp"][0] = 90
    wait_until(GAME, state, "fight")
    order = []
    while state.phase == "fight" and state.current_player == 1:
        order.append(state.active_unit_id)
        assert state.active_unit_id is not None
        assert GAME.to_move(state) + 1 == state.units[state.active_unit_id].player
        GAME.play(state, GAME.actions.wait_action)
    assert order == ["a2", "b2"]


def test_fights_alternate():
    state = battle(GAME, a1=(4, 5), a2=(4, 3), b1=(4, 4), b2=(5, 4), b3=(5, 3))
    state.games.units["hp"][0] = 90
    wait_until(GAME, state, "fight")
    order = []
    while state.phase == "fight" and state.current_player == 1:
        order.append(state.active_unit_id)
        GAME.play(state, GAME.actions.wait_action)
    assert order == ["b1", "a1", "b2", "a2", "b3"]


def test_only_adjacent_units_fight():
    state = battle(GAME, a1=(4, 5), b1=(4, 4), b3=(4, 2))
    wait_until(GAME, state, "fight", "a1")
    assert legal(state, aim(GAME, state, "b1"))
    assert not legal(state, aim(GAME, state, "b3"))
    before = contents(state)
    with pytest.raises(UserError, match="a1 cannot fight b3 from where they stand"):
        GAME.play(state, aim(GAME, state, "b3"))
    with pytest.raises(UserError, match="cannot go anywhere"):
        GAME.play(state, go(GAME, state, (4, 6)))
    assert contents(state) == before


def test_objectives_score_from_round_two_and_stick_until_taken():
    """One objective here: 5 for holding one, 5 for more than the opponent, none for two."""
    state = battle(GAME, a1=(4, 3), b1=(8, 0))
    state.games.units["hp"][0] = np.where(state.games.units["cell"][0] >= 0, 99, 0)
    points = {}
    while GAME.outcome(state) is None:
        points[state.round, state.current_player] = (state.victory_points[1], state.victory_points[2])
        if (state.round, state.current_player, state.phase) == (3, 1, "move") and state.active_unit_id == "a1":
            GAME.play(state, go(GAME, state, (0, 6)))
        else:
            GAME.play(state, GAME.actions.wait_action)
    assert points[1, 1] == points[1, 2] == (0, 0)
    assert points[2, 1] == points[2, 2] == (10, 0)
    assert points[3, 2] == (20, 0)
    assert points[4, 1] == (30, 0), "it left the objective in round 3 and still holds it"
    assert state.victory_points == {1: 40, 2: 0}
    assert GAME.outcome(state) == 1


def test_the_larger_control_takes_and_a_tie_changes_nothing():
    state = battle(GAME, a1=(4, 3), b1=(4, 2), b3=(8, 0))
    for holder in (-1, 0, 1):
        state.games.control[0] = holder
        take_objectives(GAME.world, state.games, 0)
        assert state.games.control[0, 0] == holder, "2 against 2"
    state = battle(GAME, a1=(4, 3), b1=(4, 2), b3=(5, 3))
    state.games.control[0] = 0
    take_objectives(GAME.world, state.games, 0)
    assert state.objectives == {(4, 3): 2}


def test_the_second_player_scores_round_five_at_its_end():
    """It holds the objective from its fifth turn on only: at its command phase there was nothing to score."""
    state = battle(GAME, a1=(0, 6), b1=(4, 1))
    state.games.units["hp"][0] = np.where(state.games.units["cell"][0] >= 0, 99, 0)
    while GAME.outcome(state) is None:
        late = (state.round, state.current_player, state.phase) == (5, 2, "move")
        GAME.play(state, go(GAME, state, (4, 2)) if late else GAME.actions.wait_action)
    assert state.victory_points == {1: 0, 2: 10}
    assert GAME.outcome(state) == -1


def test_who_has_no_units_left_loses_at_once():
    state = battle(GAME, a1=(4, 6), b3=(4, 1))
    wait_until(GAME, state, "shoot", "a1")
    set_dice(state, [6, 6, 1])
    GAME.play(state, aim(GAME, state, "b3"))
    assert GAME.outcome(state) == 1
    assert GAME.legal_actions(state) == []
    assert state.round == 1
    with pytest.raises(UserError, match="the game is over"):
        GAME.play(state, GAME.actions.wait_action)


@pytest.mark.parametrize(
    ("alive", "outcome"), [("a1 a2 b1 b2 b3", 1), ("a1 b1 b2 b3", -1), ("a1 a2 b1", 1), ("a1 b3", 1), ("a1 b1", -1)]
)
def test_without_points_survivors_decide(alive: str, outcome: int):
    """Rifleman 18 and sergeant 21 against brute 24, skitterer 7 and spitter 6."""
    places = {"a1": (0, 6), "a2": (2, 6), "b1": (8, 0), "b2": (6, 0), "b3": (4, 0)}
    state = battle(PEACEFUL, 0, **{unit: places[unit] for unit in alive.split()})
    while PEACEFUL.outcome(state) is None:
        PEACEFUL.play(state, PEACEFUL.actions.wait_action)
    assert state.victory_points == {1: 0, 2: 0}
    assert PEACEFUL.outcome(state) == outcome


def test_equal_points_and_survivors_are_a_draw():
    profiles = {name: {**profile, "points": 10} for name, profile in PROFILES.items()}
    game = small_game(deployment_type="fixed", profiles=profiles)
    state = battle(game, a1=(0, 6), b1=(8, 0))
    while game.outcome(state) is None:
        game.play(state, game.actions.wait_action)
    assert game.outcome(state) == 0


def test_units_that_are_not_placed_enter_no_distance():
    """An enemy at (-1, -1), whose cell as an index would be a real hex, does not affect anything."""
    game = small_game(deployment_order_mode="alternated_p1_start", min_enemy_distance=8)
    state = begin(game)
    unplaced = len(game.legal_actions(state))
    assert unplaced == 2 * 14, "no enemy is placed, so none is near"
    dead = battle(GAME, a1=(8, 5), b1=(8, 0))
    assert dead.units["b2"].col == -1, "cell -1 taken as an index is (8, 6), right beside a1"
    assert dead.cell_of((8, 6)) == 62 == GAME.world.cells.size - 1
    wait_until(GAME, dead, "shoot", "a1")
    assert GAME.legal_actions(dead) == [aim(GAME, dead, "b1"), GAME.actions.wait_action]
    wait_until(GAME, dead, "charge", "a1")
    assert not any(unit.fled for unit in dead.units.values())
