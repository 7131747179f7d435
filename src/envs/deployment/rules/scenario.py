"""Boards, zones, unit profiles and rosters: parsing and validation of their configuration."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Annotated, Any, TypeVar, get_type_hints

import numpy as np

from ....core.errors import require
from ....core.ranges import Bounds, check
from .hexgrid import distance, distances_between, neighbors, turned

Hex = tuple[int, int]  # col, row

MAX_SIDE = 99  # columns and rows: tables of distances have one byte for each pair of hexes
MAX_MOVE = 99  # hexes
FREE, WALL, COVER, FORBIDDEN, OBJECTIVE = ".", "#", "*", "x", "o"  # in the drawing of a board
TURNED = "turned"  # the other player's zone, rotated by 180 degrees
BOX = ("cols", "rows")
Stat = Annotated[int, Bounds(ge=1, le=99)]
Kind = TypeVar("Kind")


def read(node: Any, where: str, keys: Sequence[str]) -> list[Any]:
    """Return the values of these keys in order; raise `UserError` if one is missing, or another one is there."""
    require(isinstance(node, Mapping), f"{where} is {node!r}: expected the keys {', '.join(keys)}")
    for key in keys:
        require(key in node, f"{where}.{key} is required and missing: give it a value")
    for key in node:
        require(key in keys, f"{where}.{key} is unknown: expected {', '.join(keys)}")
    return [node[key] for key in keys]


def is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def listed(value: Any, where: str, what: str, length: int | None = None) -> list[Any]:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    require(is_list and length in (None, len(value)), f"{where}={value!r}: expected {what}")
    return list(value)


def whole(value: Any, where: str, most: int) -> int:
    check(value, Annotated[int, Bounds(ge=0, le=most)], where)
    return int(value)


def load(kind: type[Kind], node: Any, where: str, **given: Any) -> Kind:
    """Build a dataclass; the keys of the node are its fields, except the given ones, and in their ranges."""
    hints = {key: hint for key, hint in get_type_hints(kind, include_extras=True).items() if key not in given}
    values = dict(zip(hints, read(node, where, list(hints)), strict=True))
    for key, hint in hints.items():
        check(values[key], hint, f"{where}.{key}")
    return kind(**given, **values)


@dataclass(frozen=True)
class Board:
    cols: int
    rows: int
    walls: frozenset[Hex]
    cover: frozenset[Hex]  # hexes on which units save better against shooting; nobody sees through them
    forbidden: frozenset[Hex]
    objectives: tuple[Hex, ...]  # their centers; an objective includes the hexes around its center

    @staticmethod
    def load(node: Any) -> "Board":
        (drawing,) = read(node, "board", ["map"])
        require(isinstance(drawing, str), f"board.map is {drawing!r}: expected lines of text")
        lines = drawing.split()
        require(bool(lines) and len({len(line) for line in lines}) == 1, "board.map: its lines must be of one length")
        known: dict[str, set[Hex]] = {sign: set() for sign in (FREE, WALL, COVER, FORBIDDEN, OBJECTIVE)}
        unknown = sorted({*"".join(lines)} - {*known})
        require(not unknown, f"board.map holds {unknown}: expected {' '.join(known)}")
        for row, line in enumerate(lines):
            for col, sign in enumerate(line):
                known[sign].add((col, row))
        walls, cover, forbidden = (frozenset(known[sign]) for sign in (WALL, COVER, FORBIDDEN))
        board = Board(len(lines[0]), len(lines), walls, cover, forbidden, tuple(sorted(known[OBJECTIVE])))
        board._check()
        return board

    def _check(self) -> None:
        odd = self.cols % 2 == 1
        require(odd, f"board.map has {self.cols} columns: an even number cannot be turned by 180 degrees")
        for name, size in (("columns", self.cols), ("rows", self.rows)):
            fits = size <= MAX_SIDE
            require(fits, f"board.map has {size} {name}: at most {MAX_SIDE} are possible, draw a smaller map")
        require(bool(self.objectives), f"board.map has no objective: mark at least one center with {OBJECTIVE}")
        off_edge = {(col, self.rows - 1) for col in range(1, self.cols, 2)}
        missing = sorted(off_edge - self.forbidden)
        require(not missing, f"board.map: {missing} fall off the lower edge and have to be {FORBIDDEN}")
        kinds = {"wall": self.walls, "cover": self.cover, "objective": self.objectives}
        for name, hexes in {**kinds, "forbidden": self.forbidden - off_edge}.items():
            for one in hexes:
                other = self.turned(one)
                require(other in hexes, f"board.map: {name} {one} has no counterpart at {other}: the map is unfair")
        for one, other in combinations(self.objectives, 2):
            shared = sorted({*self.objective_hexes(one)} & {*self.objective_hexes(other)})
            require(not shared, f"board.map: objectives {one} and {other} share {shared}: draw them farther apart")

    def turned(self, one: Hex) -> Hex:
        return turned(*one, self.cols, self.rows)

    def contains(self, one: Hex) -> bool:
        return 0 <= one[0] < self.cols and 0 <= one[1] < self.rows

    def cell_of(self, one: Hex) -> int:
        return one[1] * self.cols + one[0]

    def hex_of(self, cell: int) -> Hex:
        return cell % self.cols, cell // self.cols

    def is_open(self, one: Hex) -> bool:
        return self.contains(one) and one not in self.walls and one not in self.forbidden

    def objective_hexes(self, center: Hex) -> list[Hex]:
        return [one for one in (center, *neighbors(*center)) if self.is_open(one)]


def load_zones(node: Any, board: Board) -> tuple[tuple[Hex, ...], tuple[Hex, ...]]:
    """Return the pool of each player: the open hexes of its zone, ordered by (col, row)."""
    first, second = read(node, "zones", ["player_1", "player_2"])
    hexes = _hexes_of(first, "zones.player_1", board)
    others = {board.turned(one) for one in hexes} if second == TURNED else _hexes_of(second, "zones.player_2", board)
    pools = [tuple(sorted(one for one in zone if board.is_open(one))) for zone in (hexes, others)]
    return pools[0], pools[1]


def _hexes_of(boxes: Any, where: str, board: Board) -> set[Hex]:
    hexes: set[Hex] = set()
    for number, box in enumerate(listed(boxes, where, "a list of boxes")):
        spans = []
        for key, edges, size in zip(BOX, read(box, f"{where}[{number}]", BOX), (board.cols, board.rows), strict=True):
            name = f"{where}[{number}].{key}"
            first, last = (whole(edge, name, size - 1) for edge in listed(edges, name, "[first, last]", 2))
            require(first <= last, f"{name}=[{first}, {last}]: the first comes before the last")
            spans.append(range(first, last + 1))
        hexes |= {(col, row) for col in spans[0] for row in spans[1]}
    return hexes


@dataclass(frozen=True)
class Weapon:
    range: Stat  # hexes; 1 for melee
    attacks: Stat
    hit: Annotated[int, Bounds(ge=2, le=6)]  # required on a D6: 3 means 3+
    strength: Stat
    ap: Annotated[int, Bounds(ge=0, le=6)]  # armor penetration: added to the required armor save
    damage: Stat


@dataclass(frozen=True)
class Profile:
    name: str
    move: Annotated[int, Bounds(ge=0, le=MAX_MOVE)]
    toughness: Stat
    save: Annotated[int, Bounds(ge=2, le=7)]  # required on a D6
    invulnerable: Annotated[int, Bounds(ge=2, le=6)] | None  # likewise, not modified by ap
    hp: Stat
    control: Annotated[int, Bounds(ge=0, le=99)]
    points: Annotated[int, Bounds(ge=0, le=9999)]
    ranged: Weapon | None
    melee: Weapon | None

    @staticmethod
    def load(name: str, node: Any) -> "Profile":
        where, arms = f"profiles.{name}", dict[str, Any]()
        profile = load(Profile, node, where, name=name)
        for kind, given in (("ranged", {}), ("melee", {"range": 1})):
            arm = getattr(profile, kind)
            arms[kind] = None if arm is None else load(Weapon, arm, f"{where}.{kind}", **given)
        return replace(profile, **arms)


@dataclass(frozen=True)
class UnitSpec:
    id: str
    profile: Profile
    position: Hex  # in a fixed or scripted deployment


@dataclass(frozen=True)
class Scenario:
    board: Board
    pools: tuple[tuple[Hex, ...], tuple[Hex, ...]]  # of each player, by (col, row)
    rosters: tuple[tuple[UnitSpec, ...], tuple[UnitSpec, ...]]  # of each player, by id

    @staticmethod
    def load(board: Any, zones: Any, profiles: Any, scenario: Any) -> "Scenario":
        loaded = Board.load(board)
        require(isinstance(profiles, Mapping), f"profiles is {profiles!r}: expected a profile for each name")
        known = {str(name): Profile.load(str(name), node) for name, node in profiles.items()}
        of_game = ("deployment_type", "first_turn", "charge_reach")  # which takes them as arguments
        players = read(scenario, "scenario", ("player_1", "player_2", *of_game))[:2]
        rosters = [_roster(node, f"scenario.player_{i + 1}", known, loaded) for i, node in enumerate(players)]
        result = Scenario(loaded, load_zones(zones, loaded), (rosters[0], rosters[1]))
        result._check()
        return result

    def _check(self) -> None:
        ids = [unit.id for roster in self.rosters for unit in roster]
        for one in ids:
            require(ids.count(one) == 1, f"scenario: unit id {one} is given {ids.count(one)} times: ids are unique")
        for player, (pool, roster) in enumerate(zip(self.pools, self.rosters, strict=True), 1):
            require(bool(roster), f"scenario.player_{player} has no units")
            has = f"the zone of player {player} has {len(pool)} hexes for {len(roster)} units"
            require(len(pool) >= len(roster), f"{has}: choose a larger zone or a smaller roster")
        room, units = len({*self.pools[0], *self.pools[1]}), len(self.rosters[0]) + len(self.rosters[1])
        require(
            room >= units,
            f"the zones of both players have {room} different hexes for {units} units: choose zones that overlap less",
        )

    def require_room_apart(self, minimum: int) -> None:
        """Raise `UserError` if it is clear from the zones that no deployment keeps `min_enemy_distance`.

        Each army needs enough hexes that are far enough from as many hexes of the other zone as that army has units.
        This is necessary, not sufficient: other distances that cannot be kept are deadlocks.
        """
        if minimum == 0:
            return
        apart, (first, second) = distances_between(*self.pools), (len(roster) for roster in self.rosters)
        farthest = min(_farthest(apart, first, second), _farthest(apart.T, second, first))
        require(
            farthest >= minimum,
            f"min_enemy_distance={minimum} is more than the zones allow: set at most {farthest}, or choose other zones",
        )

    def require_positions(self, min_enemy_distance: int = 0) -> None:
        """Raise `UserError` unless positions are unique, in the zone of their player and far enough from enemies."""
        for pool, roster in zip(self.pools, self.rosters, strict=True):
            for unit in roster:
                require(unit.position in pool, f"unit {unit.id}: position {unit.position} is not in its player's zone")
        taken = [unit.position for roster in self.rosters for unit in roster]
        for one in taken:
            require(taken.count(one) == 1, f"scenario: {taken.count(one)} units have the position {one}")
        for own, other in product(*self.rosters):
            apart = distance(own.position, other.position)
            require(
                apart >= min_enemy_distance,
                f"scenario: {own.id} on {own.position} and {other.id} on {other.position} are {apart} hexes apart, "
                f"which is less than min_enemy_distance={min_enemy_distance}",
            )


def _farthest(apart: np.ndarray, own: int, others: int) -> int:
    """Return the largest distance at which `own` hexes (rows) have at least `others` hexes (columns) each."""
    of_each_hex = np.partition(apart, -others, axis=1)[:, -others]
    return int(np.partition(of_each_hex, -own)[-own])


def _roster(node: Any, where: str, profiles: Mapping[str, Profile], board: Board) -> tuple[UnitSpec, ...]:
    units = []
    for number, entry in enumerate(listed(node, where, "a list of units")):
        name, profile, position = read(entry, f"{where}[{number}]", ["id", "profile", "position"])
        is_word = isinstance(name, str) and re.fullmatch(r"[\w-]+", name) is not None
        require(is_word, f"{where}[{number}].id={name!r}: expected a word of letters, digits, _ and -")
        known = isinstance(profile, str) and profile in profiles
        require(known, f"{where}: profile {profile!r} is unknown: expected one of {', '.join(profiles)}")
        at = f"{where}[{number}].position"
        col, row = listed(position, at, "[col, row]", 2)
        place = whole(col, at, board.cols - 1), whole(row, at, board.rows - 1)
        units.append(UnitSpec(name, profiles[profile], place))
    return tuple(sorted(units, key=lambda unit: unit.id))
