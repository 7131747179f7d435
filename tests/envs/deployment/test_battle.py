"""The battle, rule by rule, on positions made for each, and its dice."""

from typing import Any

import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules import dice
from src.envs.deployment.rules.battle import is_eligible
from src.envs.deployment.rules.reach import charge_path, find_charges
from src.envs.deployment.rules.state import GameState
from src.envs.deployment.rules.world import CHARGE, UNIT, WEAPON
from src.envs.deployment.rules.world import GAME as GAME_RECORD
from tests.envs.deployment.making import (
    COVER_MAP,
    aim,
    armies,
    battle,
    begin,
    conf,
    contents,
    copied,
    go,
    number,
    position,
    random_game,
    roster,
    small_game,
    wait_out,
    wait_until,
)

# a1 rifleman, a2 sergeant against b1 brute, b2 skitterer, b3 spitter; the invariants are checked after every action
GAME = small_game(deployment_type="fixed")
COVERED = small_game(deployment_type="fixed", board={"map": COVER_MAP})
PROFILES = conf("profiles/warriors")
PEACEFUL = {name: {**profile, "ranged": None} for name, profile in PROFILES.items()}


def set_dice(state: GameState, wanted: list[int]) -> None:
    """Set a generator state whose next rolls are these."""
    source = state.games.games.copy()
    for word in range(200_000):
        source["random"] = word
        if all(dice.d6(source[0]) == roll for roll in wanted):
            state.games.games["random"] = word
            return
    raise AssertionError(f"no generator state rolls {wanted}")


def attacking(phase: str, rolls: list[int], game: DeploymentGame = GAME, **where) -> GameState:
    """Return a position in which a1 is about to attack, and the dice that it will roll."""
    state = battle(game, **where)
    wait_until(game, state, phase, "a1")
    set_dice(state, rolls)
    return state


def test_a_turn_has_its_phases_in_order_and_ends_by_eligibility():
    rng, order = np.random.default_rng(0), ["command", "move", "shoot", "charge", "fight"]
    for _ in range(10):
        previous, turns = "fight", [(1, 1)]
        for state in random_game(GAME, rng):
            for phase in state.phases_entered:
                assert phase == order[(order.index(previous) + 1) % 5]
                previous = phase
            if turns[-1] != (state.round, state.current_player):
                turns.append((state.round, state.current_player))
        assert turns == [(number, player) for number in range(1, 6) for player in (1, 2)][: len(turns)]


def test_who_has_fled_neither_shoots_nor_charges():
    state = battle(GAME, a1=(4, 4), b1=(4, 3), b3=(8, 0))
    GAME.play(state, go(GAME, state, (4, 6)))
    assert state.phases_entered == ["shoot", "charge", "fight", "command", "move"], "nothing was left to do for a1"
    assert state.current_player == 2
    wait_until(GAME, state, "move", "a1")
    assert not state.units["a1"].fled, "it is forgotten in the next turn"
    two = battle(GAME, a1=(4, 4), a2=(8, 6), b1=(4, 3), b3=(8, 0))
    GAME.play(two, go(GAME, two, (4, 6)))
    assert (two.units["a1"].fled, two.units["a2"].fled) == (True, False)
    free = battle(GAME, a1=(4, 6), b1=(4, 2), b3=(8, 0))
    GAME.play(free, go(GAME, free, (4, 5)))
    assert (free.units["a1"].fled, free.phase) == (False, "shoot")


@pytest.mark.parametrize(
    ("game", "phase", "row", "rolls", "lost"),
    [
        (GAME, "shoot", 6, [3, 5, 4, 2, 2, 2], 1),  # a brute on (4, 4), shot at with AP1: 5+ to save in the open
        (COVERED, "shoot", 6, [3, 5, 4, 2, 2, 2], 0),  # and 4+ in cover
        (GAME, "fight", 5, [3, 5, 3, 2, 2], 1),  # cover is no help in a fight: 4+ against AP0
        (COVERED, "fight", 5, [3, 5, 3, 2, 2], 1),
    ],
)
def test_cover_improves_the_save_against_shooting(game, phase: str, row: int, rolls: list[int], lost: int):
    state = attacking(phase, rolls, game, a1=(4, row), b1=(4, 4))
    game.play(state, aim(game, state, "b1"))
    assert state.units["b1"].hp == 3 - lost


@pytest.mark.parametrize(
    ("rolls", "lost"),
    [
        *(([3, 5, 4, 2], 1), ([3, 5, 5, 2], 0), ([3, 4, 2], 0), ([2, 2], 0)),
        *(([3, 5, 1, 6, 6, 5], 1), ([6, 6, 1, 6, 6, 1], 2)),
    ],
)
def test_shots_hit_wound_and_are_saved(rolls: list[int], lost: int):
    """Two shots at a brute: 3+ to hit, 5+ to wound (S4 on T5), 5+ to save (4+ worsened by one)."""
    two_shots = {**PROFILES["rifleman"]["ranged"], "attacks": 2}
    profiles = {**PROFILES, "rifleman": {**PROFILES["rifleman"], "ranged": two_shots}}
    game = small_game(deployment_type="fixed", profiles=profiles)
    state = attacking("shoot", rolls, game, a1=(4, 6), b1=(4, 1))
    game.play(state, aim(game, state, "b1"))
    assert state.units["b1"].hp == 3 - lost
    assert state.games.units["dealt"][0, number(state, "a1")] == lost


@pytest.mark.parametrize("others", [{"b1": (8, 1)}, {}])
def test_the_dead_leave_the_board_and_the_last_one_loses(others):
    state = attacking("shoot", [6, 6, 1], a1=(4, 6), b3=(4, 1), **others)
    GAME.play(state, aim(GAME, state, "b3"))
    assert state.units["b3"].hp == 0
    assert position(state, "b3") == (-1, -1)
    assert state.games.occupants[0, state.cell_of((4, 1))] == -1
    assert GAME.outcome(state) == (None if others else 1)
    if not others:
        assert GAME.legal_actions(state) == []
        assert state.round == 1
        with pytest.raises(UserError, match="the game is over"):
            GAME.play(state, GAME.actions.wait_action)


def test_a_charge_must_cover_the_path_to_a_hex_beside_its_target():
    """Three steps from (4, 6) to a hex beside (4, 2)."""
    for rolls, reached in (([1, 1], False), ([1, 2], True)):
        state = attacking("charge", rolls, a1=(4, 6), b1=(4, 2), b3=(8, 0))
        GAME.play(state, aim(GAME, state, "b1"))
        beside = GAME.world.distance[state.cell_of((4, 2)), state.games.units["cell"][0, 0]] == 1
        assert beside == state.units["a1"].charged == reached
        assert state.phase == ("fight" if reached else "move"), "a charge that fell short ended player 1's turn"


def test_both_sides_charge_alike():
    """Among equally near hexes the same one is taken when the board is rotated by 180 degrees."""
    both = (
        roster(**{f"{name}{k}": ("rifleman", (2 * k, row)) for k in range(3)}) for name, row in (("a", 5), ("b", 1))
    )
    game, rng = small_game(deployment_type="fixed", scenario=armies(*both)), np.random.default_rng(0)
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
    state = attacking("charge", [6, 6], a1=(4, 6), b1=(4, 2), b3=(7, 3))
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


@pytest.mark.parametrize(
    ("where", "charged", "expected"),
    [
        ({"a1": (4, 6), "a2": (8, 5), "b1": (4, 4), "b2": (8, 4), "b3": (7, 3)}, "a2", "a2 b2"),
        ({"a1": (4, 5), "a2": (4, 3), "b1": (4, 4), "b2": (5, 4), "b3": (5, 3)}, None, "b1 a1 b2 a2 b3"),
    ],
)
def test_chargers_fight_first_then_sides_alternate(where, charged: str | None, expected: str):
    state, order = battle(GAME, **where), []
    if charged:
        state.games.units["charged"][0, number(state, charged)] = True
    state.games.units["hp"][0] = 90
    wait_until(GAME, state, "fight")
    while state.phase == "fight" and state.current_player == 1:
        assert state.active_unit_id is not None
        order.append(state.active_unit_id)
        assert GAME.to_move(state) + 1 == state.units[state.active_unit_id].player
        GAME.play(state, GAME.actions.wait_action)
    assert order == expected.split()


def test_only_adjacent_units_fight():
    state = battle(GAME, a1=(4, 5), b1=(4, 4), b3=(4, 2))
    wait_until(GAME, state, "fight", "a1")
    before = contents(state)
    assert GAME.legal_actions(state) == [aim(GAME, state, "b1"), GAME.actions.wait_action]
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


def test_the_second_player_scores_round_five_at_its_end():
    """It holds the objective from its fifth turn on only: at its command phase there was nothing to score."""
    state = battle(GAME, a1=(0, 6), b1=(4, 1))
    state.games.units["hp"][0] = np.where(state.games.units["cell"][0] >= 0, 99, 0)
    while GAME.outcome(state) is None:
        late = (state.round, state.current_player, state.phase) == (5, 2, "move")
        GAME.play(state, go(GAME, state, (4, 2)) if late else GAME.actions.wait_action)
    assert state.victory_points == {1: 0, 2: 10}
    assert GAME.outcome(state) == -1


@pytest.mark.parametrize(
    ("alive", "points", "outcome"),
    [
        ("a1 a2 b1 b2 b3", {}, 1),  # rifleman 18 and sergeant 21 against brute 24, skitterer 7 and spitter 6
        ("a1 b1 b2 b3", {}, -1),
        ("a1 a2 b1", {}, 1),
        ("a1 b3", {}, 1),
        ("a1 b1", {}, -1),
        ("a1 b1", {"points": 10}, 0),
    ],
)
def test_without_victory_points_survivors_decide(alive: str, points: dict[str, int], outcome: int):
    places = {"a1": (0, 6), "a2": (2, 6), "b1": (8, 0), "b2": (6, 0), "b3": (4, 0)}
    profiles = {name: {**profile, **points} for name, profile in PEACEFUL.items()}
    game = small_game(deployment_type="fixed", profiles=profiles)
    state = battle(game, 0, **{unit: places[unit] for unit in alive.split()})
    wait_out(game, state)
    assert state.victory_points == {1: 0, 2: 0}
    assert game.outcome(state) == outcome


def test_units_that_are_not_placed_enter_no_distance():
    """An enemy at (-1, -1), whose cell as an index would be a real hex, does not affect anything."""
    game = small_game(deployment_order_mode="alternated_p1_start", min_enemy_distance=8)
    assert len(game.legal_actions(begin(game))) == 2 * 14, "no enemy is placed, so none is near"
    dead = battle(GAME, a1=(8, 5), b1=(8, 0))
    assert dead.units["b2"].col == -1, "cell -1 taken as an index is (8, 6), right beside a1"
    assert dead.cell_of((8, 6)) == 62 == GAME.world.cells.size - 1
    wait_until(GAME, dead, "shoot", "a1")
    assert GAME.legal_actions(dead) == [aim(GAME, dead, "b1"), GAME.actions.wait_action]
    wait_until(GAME, dead, "charge", "a1")
    assert not any(unit.fled for unit in dead.units.values())


@pytest.mark.parametrize(
    ("strength", "toughness", "needed"),
    [(8, 4, 2), (9, 4, 2), (5, 4, 3), (7, 4, 3), (4, 4, 4), (3, 4, 5), (5, 9, 5), (4, 8, 6), (3, 9, 6), (2, 4, 6)],
)
def test_wounding(strength: int, toughness: int, needed: int):
    assert dice.wound_needed(strength, toughness) == needed


@pytest.mark.parametrize(
    ("save", "invulnerable", "ap", "needed", "in_cover"),
    [
        *((3, dice.NEVER, 0, 3, 2), (3, dice.NEVER, 1, 4, 3), (5, dice.NEVER, 1, 6, 5), (5, dice.NEVER, 2, 7, 6)),
        *((2, dice.NEVER, 0, 2, 2), (6, dice.NEVER, 3, 7, 7), (5, 5, 2, 5, 5), (2, 4, 3, 4, 4), (2, 4, 1, 3, 2)),
    ],
)
def test_saving(save: int, invulnerable: int, ap: int, needed: int, in_cover: int):
    assert min(dice.save_needed(save, invulnerable, ap, False), dice.NEVER) == needed
    assert min(dice.save_needed(save, invulnerable, ap, True), dice.NEVER) == in_cover


def weapon(attacks: int = 1, hit: int = 2, strength: int = 8, ap: int = 0, damage: int = 1) -> Any:
    return np.array([(24, attacks, hit, strength, ap, damage)], WEAPON)[0]


def target(toughness: int = 4, save: int = 3, invulnerable: int = dice.NEVER, hp: int = 99) -> Any:
    return np.array([(True, 0, 6, toughness, save, invulnerable, hp, 1, 10)], UNIT)[0]


def rolled(arm: Any, victim: Any, hp: int, times: int = 20_000, covered: bool = False) -> np.ndarray:
    source = np.zeros(1, GAME_RECORD)
    source["random"] = 12345
    return np.array([dice.roll_damage(source[0], arm, victim, hp, covered) for _ in range(times)])


def test_an_impossible_save_fails_on_a_six():
    """AP-2 against 5+ needs a 7: every wound goes through, as without any armor."""
    impossible, naked = rolled(weapon(ap=2), target(save=5), hp=5), rolled(weapon(ap=0), target(save=7), hp=5)
    assert impossible.mean() == naked.mean() == pytest.approx(5 / 6 * 5 / 6, abs=0.015)


def test_excess_damage_is_lost_and_attacks_stop_at_the_dead():
    lost = rolled(weapon(attacks=6, damage=3), target(save=7), hp=2, times=2000)
    assert set(lost) <= {0, 2}
    assert lost.max() == 2


@pytest.mark.parametrize(
    ("arm", "victim", "mean"),
    [
        (weapon(), target(save=2), 25 / 36 / 6),  # ones always fail: to hit, to wound and to save
        (weapon(ap=1), target(save=5), 25 / 36 * 5 / 6),
        (weapon(ap=6), target(save=2, invulnerable=4), 25 / 36 / 2),  # an invulnerable save is not worsened
        (weapon(4, 3, 4, 1), target(5, 4), 4 * 4 / 6 * 2 / 6 * 4 / 6),
        (weapon(1, 3, 8, 3, 2), target(5, 4), 2 * 4 / 6 * 4 / 6),
        (weapon(6, 4, 9, 2, 3), target(4, 3), 18 * 3 / 6 * 5 / 6 * 4 / 6),
        (weapon(3, 4, 3, 1), target(9, 2), 3 * 3 / 6 / 6 * 2 / 6),
    ],
)
def test_expectations_are_what_the_dice_give(arm: Any, victim: Any, mean: float):
    assert dice.expected_damage(arm, victim, False) == pytest.approx(mean)
    for covered in (False, True):
        expected = dice.expected_damage(arm, victim, covered)
        assert rolled(arm, victim, hp=99, covered=covered).mean() == pytest.approx(expected, rel=0.05, abs=0.01)


def test_the_odds_of_a_charge():
    rolls = [a + b for a in range(1, 7) for b in range(1, 7)]
    for steps in range(-3, 15):
        assert dice.charge_chance(steps) == pytest.approx(sum(roll >= steps for roll in rolls) / 36)
