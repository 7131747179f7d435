"""Validation of scenarios in YAML; errors name the key."""

import copy
from typing import Any

import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.deployment.rules import scenario as scenarios
from src.envs.deployment.rules.scenario import Board
from tests.envs.deployment.making import SMALL_MAP, begin, conf, full_game, random_action, roster, settings, small_game


def with_change(path: str, value: Any) -> dict[str, Any]:
    """Return the settings of a small game with one value changed or, for `None`, one key removed."""
    changed: dict[str, Any] = copy.deepcopy(settings())
    *parents, last = path.split(".")
    node: Any = changed
    for name in parents:
        node = node[int(name) if name.isdigit() else name]
    if value is None:
        del node[last]
    else:
        node[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("board.map", r"board\.map is required and missing"),
        ("zones.player_2", r"zones\.player_2 is required and missing"),
        ("scenario.player_1", r"scenario\.player_1 is required and missing"),
        ("scenario.player_1.0.id", r"scenario\.player_1\[0\]\.id is required"),
        ("scenario.player_1.0.position", r"scenario\.player_1\[0\]\.position is required"),
        ("zones.player_1.0.rows", r"zones\.player_1\[0\]\.rows is required"),
        ("profiles.brute.move", r"profiles\.brute\.move is required"),
        ("profiles.brute.ranged", r"profiles\.brute\.ranged is required"),
        ("profiles.brute.melee.hit", r"profiles\.brute\.melee\.hit is required"),
    ],
)
def test_a_missing_key_is_named(path: str, message: str):
    with pytest.raises(UserError, match=message):
        small_game(**with_change(path, None))


def test_missing_settings_are_named():
    """The keys of the game itself; those that were added later have the values of earlier versions."""
    later = {"confirming_players", "activation", "rounds", "victory_points", "charge_reach"}
    for key in settings().keys() - later:
        without = {name: value for name, value in settings().items() if name != key}
        with pytest.raises(TypeError, match=key):
            type(small_game())(**without)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("profiles.brute.speed", 3, r"profiles\.brute\.speed is unknown"),
        ("profiles.brute.save", 1, r"profiles\.brute\.save=1: expected a whole number from 2 to 7"),
        ("profiles.brute.melee.attacks", "many", r"attacks='many': expected a whole number"),
        ("profiles.brute.hp", True, r"hp=True: expected a whole number"),
        ("scenario.player_1.0.profile", "dragon", "profile 'dragon' is unknown: expected one of rifleman"),
        ("scenario.player_1.0.id", "a2", "unit id a2 is given 2 times: ids are unique"),
        ("scenario.player_1.0.id", "b1", "unit id b1 is given 2 times"),
        ("scenario.player_1", [], r"scenario\.player_1 has no units"),
        ("zones.player_1", "turned", "expected a list of boxes"),
        ("zones.player_1.0.cols", [0, 9], r"zones\.player_1\[0\]\.cols=9: expected a whole number from 0 to 8"),
        ("zones.player_1.0.cols", [0], r"expected \[first, last\]"),
        ("zones.player_1.0.cols", [3, 2], r"zones\.player_1\[0\]\.cols=\[3, 2\]: the first comes before the last"),
        ("zones.player_1.0.cols", 3, r"zones\.player_1\[0\]\.cols=3: expected \[first, last\]"),
        ("zones.player_1", [3], r"zones\.player_1\[0\] is 3: expected the keys"),
        ("scenario.player_1", 7, r"scenario\.player_1=7: expected a list of units"),
        ("scenario.player_1.0.profile", ["brute"], "is unknown: expected one of"),
        ("scenario.player_1.0.position", 5, r"scenario\.player_1\[0\]\.position=5: expected \[col, row\]"),
        ("scenario.player_1.0.position", "41", r"position='41': expected \[col, row\]"),
        ("scenario.player_1.0.position", [2.7, 5], r"player_1\[0\]\.position=2\.7: expected a whole number"),
        ("scenario.player_1.0.position", ["4", 1], r"position='4': expected a whole number from 0 to 8"),
        ("scenario.player_1.0.position", [2, 7], r"position=7: expected a whole number from 0 to 6"),
        ("profiles", [], r"profiles=\[\] must be a mapping"),
        ("board.map", 5, r"board\.map is 5"),
        ("min_enemy_distance", -1, "min_enemy_distance=-1 must be a whole number"),
        ("min_enemy_distance", 1.5, r"min_enemy_distance=1\.5 must be a whole number"),
        ("deployment_max_hex_slots", 14.0, r"deployment_max_hex_slots=14\.0 must be a whole number"),
        ("deployment_max_unit_slots", 2, "deployment_max_unit_slots=2 is too few: player 2 has 3 units"),
        ("deployment_max_hex_slots", 13, "deployment_max_hex_slots=13 is too few: player 1 has 14 hexes"),
    ],
)
def test_a_wrong_value_is_named(path: str, value: Any, message: str):
    with pytest.raises(UserError, match=message):
        small_game(**with_change(path, value))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("..#....#.", "..#......", r"wall \(1, 3\) has no counterpart at \(7, 2\): the map is unfair"),
        ("..#....#.", "..#*...#.", r"cover \(3, 2\) has no counterpart at \(5, 3\): the map is unfair"),
        (".#..o....", ".#.......", "no objective"),
        (".#..o....", ".#.oo....", r"objective \(3, 3\) has no counterpart"),
        (".x.x.x.x.", ".x.x.x...", r"\[\(7, 6\)\] fall off the lower edge"),
        (".x.x.x.x.", ".x.x.x.x", "of one length"),
        (".#..o....", ".#..o..?.", r"holds \['\?'\]"),
        ("\n", ".\n", "10 columns: an even number"),
    ],
)
def test_an_unfair_or_broken_map_is_refused(old: str, new: str, message: str):
    drawing = "\n".join(line for line in SMALL_MAP.split()) + "\n"
    with pytest.raises(UserError, match=message):
        small_game(board={"map": drawing.replace(old, new)})


def test_positions_matter_only_where_they_are_used():
    """A scenario's positions may lie outside a zone it is not written for, unless the deployment is fixed."""
    full_game("classic_skirmish", "trench")
    with pytest.raises(UserError, match=r"unit R1: .*\(10, 13\)"):
        full_game("classic_skirmish", "trench", deployment_type="fixed")
    twice = {
        "player_1": roster(a1=("rifleman", (2, 5)), a2=("rifleman", (2, 5))),
        "player_2": roster(b=("brute", (2, 1))),
    }
    with pytest.raises(UserError, match=r"2 units have the position \(2, 5\)"):
        small_game(deployment_type="fixed", scenario=twice)


def test_nothing_given_where_something_is_needed_is_named():
    for key, message in (
        ("profiles", "profiles=null must be a mapping"),
        ("board", "board=null must be a mapping"),
        ("zones", "zones=null must be a mapping"),
        ("scenario", "scenario=null must be a mapping"),
        ("min_enemy_distance", "min_enemy_distance=null must be a whole number"),
    ):
        with pytest.raises(UserError, match=message):
            small_game(**{key: None})
    for player in ("player_1", "player_2"):
        with pytest.raises(UserError, match=rf"scenario\.{player}=None: expected a list of units"):
            small_game(scenario=settings()["scenario"] | {player: None})
        with pytest.raises(UserError, match=rf"zones\.{player}=None: expected a list of boxes"):
            small_game(zones=settings()["zones"] | {player: None})


def test_fixed_positions_keep_their_distance():
    small_game(deployment_type="fixed", min_enemy_distance=4)
    with pytest.raises(UserError, match=r"a1 on \(2, 5\) and b1 on \(2, 1\) are 4 hexes apart"):
        small_game(deployment_type="fixed", min_enemy_distance=5)
    small_game(min_enemy_distance=5)


def test_the_units_are_those_described():
    """Move, toughness, save, invulnerable, hp, control, points; then the weapons: range, attacks, hit, S, AP, D."""
    table = {
        "rifleman": ((6, 4, 3, None, 2, 2, 18), (24, 4, 3, 4, 1, 1), (1, 3, 3, 4, 0, 1)),
        "sergeant": ((6, 4, 3, None, 2, 2, 21), (12, 1, 3, 8, 3, 2), (1, 3, 3, 8, 2, 2)),
        "bulwark": ((5, 5, 2, 4, 3, 1, 80), (24, 2, 3, 4, 0, 1), (1, 3, 3, 8, 2, 2)),
        "skitterer": ((10, 3, 5, None, 1, 2, 7), None, (1, 3, 4, 3, 1, 1)),
        "spitter": ((6, 3, 5, None, 1, 2, 6), (18, 1, 4, 5, 0, 1), (1, 1, 4, 3, 0, 1)),
        "brute": ((6, 5, 4, None, 3, 2, 24), (24, 3, 4, 5, 1, 1), (1, 5, 3, 5, 1, 1)),
        "stalker": ((8, 4, 5, 5, 2, 1, 19), None, (1, 4, 2, 4, 2, 1)),
        "behemoth": ((8, 9, 2, None, 8, 3, 125), (24, 6, 4, 7, 2, 1), (1, 6, 4, 9, 2, 3)),
    }
    everyone = [(f"u{k}", name) for k, name in enumerate(table)]
    scenario = {
        "player_1": [{"id": unit, "profile": name, "position": [k, 5]} for k, (unit, name) in enumerate(everyone)],
        "player_2": roster(b=("brute", (2, 1))),
    }
    game = small_game(scenario=scenario, deployment_max_unit_slots=8)
    for unit in game.scenario.rosters[0]:
        profile = unit.profile
        stats = tuple(vars(profile).values())[1:8]
        arms = [None if arm is None else tuple(vars(arm).values()) for arm in (profile.ranged, profile.melee)]
        assert (stats, *arms) == table[profile.name]


def test_the_first_scenario_is_the_one_described():
    first, second = full_game("classic_skirmish").scenario.rosters
    assert [unit.profile.name for unit in first] == ["rifleman"] * 4 + ["sergeant"]
    assert [unit.profile.name for unit in second] == ["brute"] * 2 + ["skitterer"] * 4 + ["spitter"] * 3


@pytest.mark.parametrize("zones", ["hammer", "trench", "redoubt", "corners", "pincer"])
@pytest.mark.parametrize("scenario", ["skirmish", "mirror", "siege"])
@pytest.mark.parametrize(("kind", "board", "profiles"), [("", "woods", "veterans"), ("classic_", "ruins", "warriors")])
def test_every_scenario_fits_every_zone(kind: str, board: str, profiles: str, scenario: str, zones: str):
    """Every unit is placed on a hex of its own, of its player's zone, however the units are placed."""
    parts = {"board": conf(f"board/{board}"), "profiles": conf(f"profiles/{profiles}")}
    game, rng = full_game(f"{kind}{scenario}", zones, debug=False, **parts), np.random.default_rng(0)
    state = begin(game)
    while state.phase == "deployment":
        game.play(state, random_action(game, state, rng))
    assert len({(unit.col, unit.row) for unit in state.units.values()}) == len(state.units)
    for unit in state.units.values():
        assert (unit.col, unit.row) in game.scenario.pools[unit.player - 1]


def test_a_board_that_the_tables_cannot_hold_is_refused():
    """Distances have one byte: on 301 columns a rifle of range 24 would shoot 258 hexes."""
    for cols, rows, message in ((101, 3, "101 columns: at most 99"), (3, 101, "101 rows: at most 99")):
        lines = ["." * cols] * (rows - 1) + ["".join(".x"[col % 2] for col in range(cols))]
        middle = rows // 2
        lines[middle] = lines[middle][: cols // 2] + "o" + lines[middle][cols // 2 + 1 :]
        with pytest.raises(UserError, match=message):
            Board.load({"map": "\n".join(lines)})


def test_objectives_that_share_hexes_are_refused():
    drawing = SMALL_MAP.replace(".#..o....", ".#o.o.o..")
    assert drawing != SMALL_MAP
    with pytest.raises(UserError, match=r"objectives \(2, 3\) and \(4, 3\) share \[\(3, 2\), \(3, 3\)\]"):
        small_game(board={"map": drawing})
    apart = SMALL_MAP.replace(".#..o....", "o#..o...o")
    assert len(small_game(board={"map": apart}).scenario.board.objectives) == 3


def test_zones_that_cannot_hold_both_armies_are_refused():
    shared = [{"cols": [3, 6], "rows": [5, 5]}]
    with pytest.raises(UserError, match="4 different hexes for 5 units"):
        small_game(zones={"player_1": shared, "player_2": shared})
    small_game(zones={"player_1": shared, "player_2": [{"cols": [4, 7], "rows": [5, 5]}]})


def test_a_distance_that_no_deployment_keeps_is_refused():
    with pytest.raises(UserError, match=r"min_enemy_distance=200 .*at most \d+"):
        small_game(min_enemy_distance=200)
    near = {"player_1": [{"cols": [0, 1], "rows": [5, 5]}], "player_2": [{"cols": [0, 2], "rows": [0, 0]}]}
    small_game(zones=near, min_enemy_distance=5)  # both armies fill their zones
    with pytest.raises(UserError, match=r"min_enemy_distance=6 .*at most 5"):
        small_game(zones=near, min_enemy_distance=6)


def test_distances_between_zones_are_computed_if_required(monkeypatch: pytest.MonkeyPatch):
    computed = []

    def distances_between(*zones: Any) -> np.ndarray:
        computed.append(zones)
        return np.full((14, 14), 9)

    monkeypatch.setattr(scenarios, "distances_between", distances_between)
    small_game(min_enemy_distance=0)
    assert not computed
    small_game(min_enemy_distance=1)
    assert len(computed) == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_distance_leaves_each_army_enough_hexes(seed: int):
    rng = np.random.default_rng(seed)
    apart, own, others = rng.integers(0, 9, (5, 7)), int(rng.integers(1, 6)), int(rng.integers(1, 8))
    fits = [((apart >= kept).sum(axis=1) >= others).sum() >= own for kept in range(10)]
    assert scenarios._farthest(apart, own, others) == max(kept for kept in range(10) if fits[kept])


@pytest.mark.parametrize("name", ["", " ", "a b", "a:b", 3, None])
def test_an_id_is_a_word(name: object):
    first = [{"id": name, "profile": "rifleman", "position": [2, 5]}]
    with pytest.raises(UserError, match=r"scenario\.player_1\[0\]\.id=.*: expected a word"):
        small_game(scenario=settings()["scenario"] | {"player_1": first})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("debug", "no", "debug=no must be true or false"),
        ("debug", 1, "debug=1 must be true or false"),
        ("rounds", 1, r"rounds=1 must be a whole number in \[2, 100\]"),
        ("victory_points", 0, r"victory_points=0 must be a whole number in \[1, 1000\]"),
        ("charge_reach", 13, r"charge_reach=13 must be a whole number in \[1, 12\]"),
    ],
)
def test_values_of_the_wrong_type_or_range_are_refused(key: str, value: object, message: str):
    with pytest.raises(UserError, match=message):
        small_game(**{key: value})
