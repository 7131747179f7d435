"""Control of objectives, victory points, and who begins the rounds."""

import numpy as np
import pytest

from src.envs.deployment.bots.planner import final_points, turn_number
from src.envs.deployment.observation import GLOBAL
from src.envs.deployment.rules.battle import max_victory_points, score, take_objectives
from tests.envs.deployment import oracle
from tests.envs.deployment.making import armies, battle, begin, conf, full_game, number, roster, small_game

CENTERS = ((2, 10), (12, 1), (12, 10), (12, 19), (22, 10))
# Control values from 0 to 5, and several units of each side.
PROFILES = {
    f"of_{control}": conf("profiles/warriors")["rifleman"] | {"control": control, "points": 10 + control}
    for control in (0, 1, 2, 3, 5)
}
UNITS = {f"{side}{control}{k}": f"of_{control}" for side in "ab" for control in (0, 1, 2, 3, 5) for k in (0, 1)}
GAME = small_game(
    board=conf("board/ruins"),
    zones=conf("zones/hammer"),
    scenario=armies(
        roster(**{name: (profile, (0, 14)) for name, profile in UNITS.items() if name[0] == "a"}),
        roster(**{name: (profile, (0, 3)) for name, profile in UNITS.items() if name[0] == "b"}),
    ),
    profiles=PROFILES,
    deployment_max_unit_slots=10,
    deployment_max_hex_slots=176,
)
HELD = (0, 0, 1, 1, -1)  # two objectives each: 10 points whenever a player scores
ROLLED = full_game(deployment_type="fixed", first_turn="roll_off")


@pytest.mark.parametrize(("own", "theirs"), [(own, theirs) for own in range(6) for theirs in range(6 - own)])
def test_points_for_one_for_two_and_for_more_than_the_other(own: int, theirs: int):
    state = begin(GAME)
    for seat in (0, 1):
        holders = [seat] * own + [1 - seat] * theirs + [-1] * (5 - own - theirs)
        state.games.control[0] = np.random.default_rng(own).permutation(holders)
        state.games.sides["victory_points"][0] = (3, 4)
        score(GAME.world, state.games, 0, seat)
        earned = {0: 0, 1: 5}.get(own, 10) + (5 if own > theirs else 0)
        assert state.games.sides["victory_points"][0, seat] == (3, 4)[seat] + earned
        assert state.games.sides["victory_points"][0, 1 - seat] == (3, 4)[1 - seat]


def test_objectives_are_held_by_control_values_not_by_heads():
    """Random units on and beside the five objectives, against sums by hand; a tie changes nothing."""
    rng, owners, outnumbered = np.random.default_rng(0), set(), 0
    near = [one for center in CENTERS for one in (center, *oracle.neighbors(center))]
    hexes = near + [one for one in ((5, 10), (12, 4), (12, 16), (19, 10)) if one not in near]
    for _ in range(150):
        names = rng.permutation(list(UNITS))[: rng.integers(4, 17)]
        placed = dict(zip(map(str, names), (hexes[k] for k in rng.permutation(len(hexes))), strict=False))
        state = begin(GAME)
        state.games.units["cell"][0] = -1
        for name, one in placed.items():
            state.games.units["cell"][0, number(state, name)] = state.cell_of(one)
        before = rng.integers(-1, 2, size=5)
        state.games.control[0] = before
        take_objectives(GAME.world, state.games, 0)
        for k, center in enumerate(CENTERS):
            there = [name for name, one in placed.items() if one in {center, *oracle.neighbors(center)}]
            sums = {side: sum(int(name[1]) for name in there if name[0] == side) for side in "ab"}
            heads = {side: sum(name[0] == side for name in there) for side in "ab"}
            held = before[k] if sums["a"] == sums["b"] else 0 if sums["a"] > sums["b"] else 1
            assert state.games.control[0, k] == held
            owners.add(int(held))
            outnumbered += (sums["a"] > sums["b"]) != (heads["a"] > heads["b"])
    assert owners == {-1, 0, 1}
    assert outnumbered > 20


def test_the_constants_are_those_of_the_configuration():
    game = small_game(deployment_type="fixed", rounds=3, victory_points=7, charge_reach=4)
    assert max_victory_points(game.world) == 3 * 7 * 2
    state = battle(game, a1=(4, 3), b1=(8, 0))
    state.games.units["hp"][0] = np.where(state.games.units["cell"][0] >= 0, 99, 0)
    rounds = set()
    while game.outcome(state) is None:
        rounds.add(state.round)
        game.play(state, game.actions.wait_action)
    assert rounds == {1, 2, 3}
    assert state.victory_points == {1: 2 * 14, 2: 0}, "one objective, and more than the opponent, in two rounds"


@pytest.mark.parametrize("first", [1, 2])
def test_the_second_player_scores_once_more_at_the_end(first: int):
    """Every unit waits. The planner counts the turns and expects the points as they are played and scored."""
    seed = next(seed for seed in range(20) if begin(ROLLED, seed).current_player == first)
    state, own_turn, second = begin(ROLLED, seed), GLOBAL.index("own_turn"), GLOBAL.index("second")
    state.games.control[0] = HELD
    seen, turns = [], []
    while ROLLED.outcome(state) is None:
        observed = ROLLED.observe(state)
        if observed[own_turn]:  # it may fight in the other player's turn
            assert observed[second] == (state.current_player != first)
        assert [final_points(ROLLED.world, state.games, 0, seat) for seat in (0, 1)] == [40, 40]
        own, theirs = state.victory_points[first], state.victory_points[3 - first]
        seen.append((state.round, state.current_player == first, own, theirs))
        turns.append(turn_number(state.games, 0))
        ROLLED.play(state, ROLLED.actions.wait_action)
    assert list(dict.fromkeys(turns)) == list(range(2, 12))
    assert list(dict.fromkeys(seen)) == [
        *((1, True, 0, 0), (1, False, 0, 0), (2, True, 10, 0), (2, False, 10, 10), (3, True, 20, 10)),
        *((3, False, 20, 20), (4, True, 30, 20), (4, False, 30, 30), (5, True, 40, 30), (5, False, 40, 30)),
    ]
    assert set(state.victory_points.values()) == {40}


def test_the_dice_choose_each_player_equally_often():
    firsts = [begin(ROLLED, seed).current_player for seed in range(400)]
    assert 160 < firsts.count(1) < 240
    fixed = full_game(deployment_type="fixed")
    assert {begin(fixed, seed).current_player for seed in range(20)} == {1}, "player 1, unless the dice decide"


def test_nothing_is_rolled_before_the_deployment_ends():
    game, plain = full_game(first_turn="roll_off"), full_game()
    for seed in range(6):
        state, other = begin(game, seed), begin(plain, seed)
        while state.phase == "deployment":
            assert state.game["first"] == 0
            assert state.game["random"] == other.game["random"]
            action = int(np.flatnonzero(state.games.mask[0])[0])
            game.play(state, action)
            plain.play(other, action)
        assert state.game["random"] != other.game["random"], "one number for the roll-off"
