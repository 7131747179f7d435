"""Scenarios: their parts, what is refused on loading, hexes and sight, and composing them on the command line."""

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf, open_dict

from src.config import schema
from src.config.build import build
from src.config.compose import validate
from src.config.load import load_config
from src.core.errors import UserError
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules import hexgrid
from src.envs.deployment.rules import scenario as scenarios
from src.envs.deployment.rules.scenario import Board
from tests.envs.deployment import oracle
from tests.envs.deployment.making import (
    COVER_MAP,
    SMALL_MAP,
    begin,
    conf,
    full_game,
    position,
    random_game,
    settings,
    small_game,
)
from tests.lab import ROOT, Lab, read_json
from tests.marks import mostly_slow
from tests.test_compositions import composed, options

MISSING = object()
KEYS = (
    *("deployment_type", "deployment_order_mode", "post_deployment_start_phase", "on_deadlock", "min_enemy_distance"),
    *("deployment_max_unit_slots", "deployment_max_hex_slots", "debug", "board", "zones", "profiles", "scenario"),
    *("confirming_players", "activation", "first_turn", "rounds", "victory_points", "charge_reach"),
)
BY_COLUMN_AND_ROW = ("agent@env.opponent=tactical", "agent/placement@env.opponent.placement=deterministic")
GAMES = {"small": small_game(), "cover": small_game(board={"map": COVER_MAP}), "full": full_game()}


def with_change(path: str, value: Any) -> dict[str, Any]:
    """Return the settings of a small game with one value changed or, for MISSING, one key removed."""
    changed: dict[str, Any] = copy.deepcopy(settings())
    *parents, last = path.split(".")
    node: Any = changed
    for name in parents:
        node = node[int(name) if name.isdigit() else name]
    if value is MISSING:
        del node[last]
    else:
        node[last] = value
    return changed


@pytest.mark.parametrize(
    "path",
    [
        *("board.map", "zones.player_2", "zones.player_1.0.rows", "profiles.brute.move", "profiles.brute.ranged"),
        *("profiles.brute.melee.hit", "scenario.player_1", "scenario.player_1.0.id", "scenario.player_1.0.position"),
        *("scenario.deployment_type", "scenario.first_turn", "scenario.charge_reach"),
    ],
)
def test_a_missing_key_is_named(path: str):
    named = re.escape(re.sub(r"\.(\d+)", r"[\1]", path))
    with pytest.raises(UserError, match=f"{named} is required and missing"):
        small_game(**with_change(path, MISSING))


def test_missing_settings_are_named():
    """The keys of the game itself, without an implicit default for any of them."""
    assert settings().keys() == {*KEYS}
    for key in KEYS:
        with pytest.raises(TypeError, match=key):
            DeploymentGame(**with_change(key, MISSING))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("profiles.brute.speed", 3, r"profiles\.brute\.speed is unknown"),
        ("profiles.brute.save", 1, r"profiles\.brute\.save=1 must be a whole number in \[2, 7\]"),
        ("profiles.brute.melee.attacks", "many", r"attacks=many must be a whole number"),
        ("profiles.brute.hp", True, r"hp=true must be a whole number"),
        ("scenario.player_1.0.profile", "dragon", "profile 'dragon' is unknown: expected one of rifleman"),
        ("scenario.player_1.0.profile", ["brute"], "is unknown: expected one of"),
        ("scenario.player_1.0.id", "a2", "unit id a2 is given 2 times: ids are unique"),
        ("scenario.player_1.0.id", "b1", "unit id b1 is given 2 times"),
        *(
            ("scenario.player_1.0.id", wrong, r"scenario\.player_1\[0\]\.id=.*: expected a word")
            for wrong in ("", " ", "a b", "a:b", 3, None)
        ),
        ("scenario.player_1", [], r"scenario\.player_1 has no units"),
        ("scenario.player_1", 7, r"scenario\.player_1=7: expected a list of units"),
        ("scenario.player_2", None, r"scenario\.player_2=None: expected a list of units"),
        ("zones.player_1", "turned", "expected a list of boxes"),
        ("zones.player_2", None, r"zones\.player_2=None: expected a list of boxes"),
        ("zones.player_1", [3], r"zones\.player_1\[0\] is 3: expected the keys"),
        ("zones.player_1.0.cols", [0, 9], r"zones\.player_1\[0\]\.cols=9 must be a whole number in \[0, 8\]"),
        ("zones.player_1.0.cols", [0], r"expected \[first, last\]"),
        ("zones.player_1.0.cols", [3, 2], r"zones\.player_1\[0\]\.cols=\[3, 2\]: the first comes before the last"),
        ("zones.player_1.0.cols", 3, r"zones\.player_1\[0\]\.cols=3: expected \[first, last\]"),
        ("scenario.player_1.0.position", 5, r"scenario\.player_1\[0\]\.position=5: expected \[col, row\]"),
        ("scenario.player_1.0.position", "41", r"position='41': expected \[col, row\]"),
        ("scenario.player_1.0.position", [2.7, 5], r"player_1\[0\]\.position=2\.7 must be a whole number"),
        ("scenario.player_1.0.position", ["4", 1], r"position=4 must be a whole number in \[0, 8\]"),
        ("scenario.player_1.0.position", [2, 7], r"position=7 must be a whole number in \[0, 6\]"),
        ("board.map", 5, r"board\.map is 5"),
        ("profiles", [], r"profiles=\[\] must be a mapping"),
        *((key, None, f"{key}=null must be a mapping") for key in ("profiles", "board", "zones", "scenario")),
        ("min_enemy_distance", None, "min_enemy_distance=null must be a whole number"),
        ("min_enemy_distance", -1, "min_enemy_distance=-1 must be a whole number"),
        ("min_enemy_distance", 1.5, r"min_enemy_distance=1\.5 must be a whole number"),
        ("deployment_max_hex_slots", 14.0, r"deployment_max_hex_slots=14\.0 must be a whole number"),
        ("deployment_max_unit_slots", 2, "deployment_max_unit_slots=2 is too few: player 2 has 3 units"),
        ("deployment_max_hex_slots", 13, "deployment_max_hex_slots=13 is too few: player 1 has 14 hexes"),
        ("debug", "no", "debug=no must be true or false"),
        ("debug", 1, "debug=1 must be true or false"),
        ("rounds", 1, r"rounds=1 must be a whole number in \[2, 100\]"),
        ("victory_points", 0, r"victory_points=0 must be a whole number in \[1, 1000\]"),
        ("charge_reach", 13, r"charge_reach=13 must be a whole number in \[1, 12\]"),
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
        (".#..o....", ".#o.o.o..", r"objectives \(2, 3\) and \(4, 3\) share \[\(3, 2\), \(3, 3\)\]"),
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


def test_objectives_that_share_no_hexes_are_accepted():
    apart = SMALL_MAP.replace(".#..o....", "o#..o...o")
    assert len(small_game(board={"map": apart}).scenario.board.objectives) == 3


@pytest.mark.parametrize(("cols", "rows", "what"), [(101, 3, "columns"), (3, 101, "rows")])
def test_a_board_that_the_tables_cannot_hold_is_refused(cols: int, rows: int, what: str):
    """Distances have one byte: on 301 columns a rifle of range 24 would shoot 258 hexes."""
    lines = ["." * cols] * (rows - 1) + ["".join(".x"[col % 2] for col in range(cols))]
    middle = rows // 2
    lines[middle] = lines[middle][: cols // 2] + "o" + lines[middle][cols // 2 + 1 :]
    with pytest.raises(UserError, match=f"101 {what}: at most 99"):
        Board.load({"map": "\n".join(lines)})


def test_positions_matter_only_where_they_are_used():
    """A scenario's positions may lie outside a zone it is not written for, unless the deployment is fixed."""
    full_game("classic_skirmish", "trench")
    with pytest.raises(UserError, match=r"unit R1: .*\(10, 13\)"):
        full_game("classic_skirmish", "trench", deployment_type="fixed")
    twice = with_change("scenario.player_1.0.position", [4, 5]) | {"deployment_type": "fixed"}
    with pytest.raises(UserError, match=r"2 units have the position \(4, 5\)"):
        small_game(**twice)


def test_fixed_positions_keep_their_distance():
    small_game(deployment_type="fixed", min_enemy_distance=4)
    with pytest.raises(UserError, match=r"a1 on \(2, 5\) and b1 on \(2, 1\) are 4 hexes apart"):
        small_game(deployment_type="fixed", min_enemy_distance=5)
    small_game(min_enemy_distance=5)


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


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_distance_leaves_each_army_enough_hexes(seed: int):
    rng = np.random.default_rng(seed)
    apart, own, others = rng.integers(0, 9, (5, 7)), int(rng.integers(1, 6)), int(rng.integers(1, 8))
    fits = [((apart >= kept).sum(axis=1) >= others).sum() >= own for kept in range(10)]
    assert scenarios._farthest(apart, own, others) == max(kept for kept in range(10) if fits[kept])


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
    found = {}
    for name, node in conf("profiles/warriors").items():
        profile = scenarios.Profile.load(name, node)
        arms = [arm and tuple(vars(arm).values()) for arm in (profile.ranged, profile.melee)]
        found[name] = (tuple(vars(profile).values())[1:8], *arms)
    assert found == table


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
    game = full_game(f"{kind}{scenario}", zones, debug=False, **parts)
    state = next(one for one in random_game(game, np.random.default_rng(0)) if one.phase != "deployment")
    assert len({position(state, unit) for unit in state.units}) == len(state.units)
    for unit in state.units.values():
        assert (unit.col, unit.row) in game.scenario.pools[unit.player - 1]


def test_the_geometry_of_the_plane_gives_the_same_hexes():
    """Distances, neighbors and the turned board, by centers in the plane."""
    cells = hexgrid.cells_of(9, 7)
    table, far = hexgrid.distances_between(cells, cells), [(98, 98), (0, 98)]
    assert hexgrid.distances_between([(0, 0)], far).tolist() == [[oracle.distance((0, 0), one) for one in far]]
    board, near = GAMES["small"].scenario.board, GAMES["small"].world.near
    for a, one in enumerate(cells):
        assert sorted(oracle.neighbors(one)) == sorted(hexgrid.neighbors(*one))
        assert oracle.turned(one, 9, 7) == hexgrid.turned(*one, 9, 7)
        assert [oracle.distance(one, other) for other in cells] == table[a].tolist()
        assert [hexgrid.distance(one, other) for other in cells] == table[a].tolist()
        around = {r * 9 + c for c, r in oracle.neighbors(one) if board.is_open(one) and board.is_open((c, r))}
        assert {int(n) for n in near[a] if n >= 0} == around


@pytest.mark.parametrize("name", GAMES)
def test_sight_is_a_line_free_of_walls_and_cover(name: str):
    game, rng, blocked = GAMES[name], np.random.default_rng(0), 0
    state, cells = begin(game), hexgrid.cells_of(game.scenario.board.cols, game.scenario.board.rows)
    for a, b in rng.integers(len(cells), size=(2000, 2)):
        expected = oracle.sees(state, cells[a], cells[b])
        assert game.world.sight[a, b] == expected
        blocked += not expected
    assert 50 < blocked < 1950


@pytest.mark.parametrize("name", GAMES)
def test_the_board_is_the_same_from_both_sides(name: str):
    """Turned by 180 degrees: walls, objectives, distances, neighbors and sight."""
    world = GAMES[name].world
    turned, inside = world.seen["turned"][1], np.flatnonzero(world.cells["is_open"])
    assert set(turned[inside]) == set(inside), "walls lie opposite walls, free hexes opposite free ones"
    assert (turned[turned] == np.arange(turned.size)).all()
    assert ((world.cells["objective"] >= 0) == (world.cells["objective"][turned] >= 0))[inside].all()
    pairs, images = np.ix_(inside, inside), np.ix_(turned[inside], turned[inside])
    assert (world.distance[pairs] == world.distance[images]).all()
    assert (world.sight[pairs] == world.sight[images]).all()
    assert (world.sight == world.sight.T).all()


@pytest.mark.parametrize("zones", ["trench", "redoubt", "corners", "pincer"])
def test_zones_are_fair_to_the_hex(zones: str):
    first, second = full_game(zones=zones).scenario.pools
    assert {hexgrid.turned(*one, 25, 21) for one in first} == set(second)
    assert not set(first) & set(second)


def test_hammer_is_the_zone_it_is_said_to_be():
    """Odd columns give player 2 one row more."""
    first, second = full_game(zones="hammer").scenario.pools
    assert {row for _, row in first} == set(range(13, 21))
    assert {row for _, row in second} == set(range(8))
    assert len(second) - len(first) == 12


def test_the_map_is_as_described():
    board, woods = (full_game(board=conf(f"board/{name}")).scenario.board for name in ("ruins", "woods"))
    assert (board.cols, board.rows, len(board.walls), len(board.cover)) == (25, 21, 70, 0)
    assert board.objectives == ((2, 10), (12, 1), (12, 10), (12, 19), (22, 10))
    assert board.forbidden == {(col, 20) for col in range(1, 25, 2)}
    assert all(len(board.objective_hexes(center)) == 7 for center in board.objectives)
    assert (woods.walls, woods.objectives, len(woods.cover)) == (board.walls, board.objectives, 72)


def test_mirrored_rosters_stand_opposite_each_other():
    for one, other in zip(*full_game("classic_mirror").scenario.rosters, strict=True):
        assert hexgrid.turned(*one.position, 25, 21) == other.position
        assert one.profile == other.profile


@pytest.mark.parametrize("key", KEYS)
def test_a_required_key_that_is_missing_is_named(key: str):
    """There are no implicit defaults: no key may be missing or unset."""
    cfg = composed("env=deployment")
    with open_dict(cfg):
        for chosen_by_scenario in ("deployment_type", "first_turn", "charge_reach"):
            cfg.env.game[chosen_by_scenario] = cfg.env.game[chosen_by_scenario]  # no longer the scenario's
        del cfg.env.game[key]
    with pytest.raises(UserError, match=rf"env\.game .*'{key}'"):
        build(cfg.env, "env")
    if key == "on_deadlock":
        with pytest.raises(UserError, match="missing a required argument: 'on_deadlock'"):
            build(composed("env=deployment", "~env.game.on_deadlock").env, "env")
        with pytest.raises(UserError, match=rf"required and not set: env\.game\.{key}"):
            validate(composed("env=deployment", f"env.game.{key}=???"), schema.Train)


@pytest.mark.parametrize(
    "run", sorted((ROOT / "experiments").glob("deployment_*/**/config.yaml")), ids=lambda path: path.parent.name
)
def test_the_games_of_shipped_runs_have_every_key(run: Path):
    config = load_config(run.parent)
    for env in (config.env, *config.curriculum.get("others", {}).values()):
        build(env.game, "env.game")


def test_the_game_of_a_shipped_run_is_that_of_the_configuration():
    saved = build(load_config(ROOT / "experiments" / "deployment_value" / "deployment_classic").env.game, "env.game")
    now = build(composed("env=deployment_classic").env.game, "env.game")
    assert saved.num_actions == now.num_actions
    for name, value in now.world._asdict().items():
        other = getattr(saved.world, name)
        for one, its in zip(value, other, strict=True) if isinstance(value, tuple) else [(value, other)]:
            np.testing.assert_array_equal(one, its, err_msg=name)


@pytest.mark.parametrize(
    ("scenario", "zones"),
    [
        *(("skirmish", "redoubt"), ("mirror", "trench"), ("siege", "trench")),
        *(("classic_skirmish", "hammer"), ("classic_mirror", "trench"), ("classic_siege", "hammer")),
    ],
)
def test_a_scenario_names_its_parts_and_deployment_type(scenario: str, zones: str):
    game = composed("env=deployment", f"env/deployment/scenario@env.game.scenario={scenario}").env.game
    classic = scenario.startswith("classic")
    assert OmegaConf.to_container(game.board) == conf("board/ruins" if classic else "board/woods")
    assert OmegaConf.to_container(game.profiles) == conf("profiles/warriors" if classic else "profiles/veterans")
    assert OmegaConf.to_container(game.zones) == conf(f"zones/{zones}")
    assert game.deployment_type == game.scenario.deployment_type == "active"
    assert game.first_turn == ("player_1" if classic else "roll_off")
    assert game.charge_reach == (11 if scenario == "skirmish" else 12)
    typed = composed("env=deployment", "env.game.scenario.deployment_type=fixed").env.game
    assert typed.deployment_type == "fixed"


DOCUMENTED = {  # values of the documents that differ from the defaults, by the words that choose them
    ("env=deployment_classic",): {
        "first_turn": "player_1",
        "charge_reach": 12,
        "board": conf("board/ruins"),
        "zones": conf("zones/hammer"),
        "profiles": conf("profiles/warriors"),
        "scenario": conf("scenario/classic_skirmish"),
    },
    ("env=deployment_alternated",): {"deployment_order_mode": "alternated_p1_start"},
    ("env=deployment", "env.game.activation=choice"): {"activation": "choice"},
    ("env=deployment", "env.game.first_turn=player_1"): {"first_turn": "player_1"},
    ("env=deployment", "env.game.charge_reach=12"): {"charge_reach": 12},
    ("env=deployment", "env/deployment/zones@env.game.zones=hammer"): {"zones": conf("zones/hammer")},
}


@pytest.mark.parametrize("words", DOCUMENTED)
def test_the_values_of_the_documents_are_one_option_away(words: tuple[str, ...]):
    chosen, usual = composed(*words).env.game, composed("env=deployment").env.game
    for key, value in DOCUMENTED[words].items():
        assert (OmegaConf.to_container(chosen[key]) if OmegaConf.is_config(chosen[key]) else chosen[key]) == value
        assert chosen[key] != usual[key], "it is no option but the default"


def test_the_other_values_of_the_documents_are_the_defaults():
    game = composed("env=deployment").env.game
    expected: dict[str, Any] = {
        "deployment_type": "active",
        "deployment_order_mode": "player_by_player",
        "on_deadlock": "raise",
    }
    expected |= {"post_deployment_start_phase": "command", "rounds": 5, "victory_points": 5, "min_enemy_distance": 0}
    assert {key: game[key] for key in expected} == expected
    reward = composed("env=deployment").reward
    assert (reward.win, reward.draw, reward.loss, reward.objective_placement) == (1.0, 0.0, -1.0, 0.0)


def test_a_training_run_can_have_the_algorithm_and_placement_of_the_documents():
    """MaskablePPO, against an opponent that places its units by id on hexes by (col, row)."""
    cfg = composed("env=deployment", "algo=maskable_ppo", *BY_COLUMN_AND_ROW)
    assert cfg.algo._target_ == "src.algos.maskable_ppo.MaskablePPO"
    env = build(cfg.env, "env")
    state = begin(env.game)
    while state.phase == "deployment":
        env.game.play(state, env.opponent.decide(env.game, state, np.random.default_rng(0)).action)
    for pool, army in zip(env.game.scenario.pools, env.game.scenario.rosters, strict=True):
        assert [position(state, unit.id) for unit in army] == list(pool[: len(army)])


@pytest.mark.parametrize("zones", mostly_slow(["redoubt", "hammer", "trench", "corners", "pincer"], fast=2))
def test_zones_are_a_choice(zones: str):
    """The command line overrides the zones of the scenario; units are placed in the chosen ones."""
    node = composed("env=deployment", f"env/deployment/zones@env.game.zones={zones}").env.game
    assert OmegaConf.to_container(node.zones) == conf(f"zones/{zones}")
    pools = full_game("skirmish", zones, board=conf("board/woods"), profiles=conf("profiles/veterans")).scenario.pools
    assert build(node, "env.game").scenario.pools == pools


@pytest.mark.parametrize(
    "name", mostly_slow([name for name in options("env") if name.startswith("deployment")], fast=2)
)
def test_every_scenario_plays_against_its_baselines(name: str):
    env = build(composed(f"env={name}").env, "env")
    assert isinstance(env, DeploymentEnv)
    assert list(env.baselines) == ["tactical", "defensive", "greedy", "random"]
    for opponent in env.baselines.values():
        batch = DeploymentEnv(env.game, opponent, env.reward, "random", {}).vectorize(2)
        _, info = batch.reset(seed=0)
        for _ in range(30):
            *_, info = batch.step(info["action_mask"].argmax(axis=1))


def test_bots_are_scored_from_the_command_line(lab: Lab):
    out = lab.folder / "score.json"
    done = lab.run("evaluate", "env=deployment", "agent=tactical", "opponent=random", "episodes=6", f"json={out}")
    assert done.returncode == 0, done.stderr
    result = read_json(out)
    assert result["episodes"] == 6
    assert result["wins"] >= 5
    assert result["metrics"]["deployment_steps_mean"] == 17


def test_the_table_of_the_readme_names_tests_that_exist():
    readme = (ROOT / "src" / "envs" / "deployment" / "README.md").read_text()
    sources = {path.name: path.read_text() for path in Path(__file__).parent.glob("*.py")}
    named = [
        (file, test) for file, test in re.findall(r"`(?:(test_\w+\.py)(?:::)?)?(test_\w+)?`", readme) if file or test
    ]
    assert len(named) > 5
    for file, test in named:
        assert not file or file in sources, file
        assert not test or any(f"def {test}(" in text for name, text in sources.items() if file in ("", name)), test
