"""Control of objectives and victory points, with every number of objectives and mixed control values."""

import numpy as np
import pytest

from src.envs.deployment.rules.battle import max_victory_points, score, surviving_points, take_objectives
from tests.envs.deployment import geometry
from tests.envs.deployment.making import battle, begin, conf, number, roster, small_game

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
    scenario={
        "player_1": roster(**{name: (profile, (0, 14)) for name, profile in UNITS.items() if name[0] == "a"}),
        "player_2": roster(**{name: (profile, (0, 3)) for name, profile in UNITS.items() if name[0] == "b"}),
    },
    profiles=PROFILES,
    deployment_max_unit_slots=10,
    deployment_max_hex_slots=176,
)


@pytest.mark.parametrize("own", range(6))
@pytest.mark.parametrize("theirs", range(6))
def test_points_for_one_for_two_and_for_more_than_the_other(own: int, theirs: int):
    if own + theirs > 5:
        return
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
    """Random units on and beside the five objectives, against sums by hand."""
    rng, owners = np.random.default_rng(0), set()
    near = [one for center in CENTERS for one in (center, *geometry.neighbors(center))]
    beside = [one for one in ((5, 10), (12, 4), (12, 16), (19, 10)) if one not in near]
    outnumbered = 0
    for _ in range(150):
        names = rng.permutation(list(UNITS))[: rng.integers(4, 17)]
        hexes = [(near + beside)[k] for k in rng.permutation(len(near + beside))[: len(names)]]
        placed = dict(zip(map(str, names), hexes, strict=True))
        state = begin(GAME)
        state.games.units["cell"][0] = -1
        for name, one in placed.items():
            state.games.units["cell"][0, number(state, name)] = state.cell_of(one)
        before = rng.integers(-1, 2, size=5)
        state.games.control[0] = before
        take_objectives(GAME.world, state.games, 0)
        for k, center in enumerate(CENTERS):
            around = {center, *geometry.neighbors(center)}
            there = [name for name, one in placed.items() if one in around]
            sums = {side: sum(int(name[1]) for name in there if name[0] == side) for side in "ab"}
            heads = {side: sum(name[0] == side for name in there) for side in "ab"}
            held = before[k] if sums["a"] == sums["b"] else 0 if sums["a"] > sums["b"] else 1
            assert state.games.control[0, k] == held
            owners.add(int(held))
            outnumbered += (sums["a"] > sums["b"]) != (heads["a"] > heads["b"])
    assert owners == {-1, 0, 1}
    assert outnumbered > 20


def test_survivors_are_worth_their_points():
    state = begin(GAME)
    whole = sum(10 + int(name[1]) for name in UNITS if name[0] == "a")
    assert [surviving_points(GAME.world, state.games, 0, seat) for seat in (0, 1)] == [whole, whole]
    state.games.units["hp"][0, number(state, "a50")] = 0
    state.games.units["hp"][0, number(state, "a30")] = 1
    state.games.units["hp"][0, number(state, "b00")] = 0
    assert [surviving_points(GAME.world, state.games, 0, seat) for seat in (0, 1)] == [whole - 15, whole - 10]


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
