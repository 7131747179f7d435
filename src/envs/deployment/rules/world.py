"""The static data of a scenario as lookup tables for the kernels, which never write to them."""

from dataclasses import astuple
from typing import Any, NamedTuple

import numpy as np

from ....core.kernels import by_reference
from . import hexgrid
from .dice import NEVER, charge_chance, expected_damage
from .scenario import MAX_MOVE, Hex, Scenario

DEPLOYMENT, COMMAND, MOVE_PHASE, SHOOT, CHARGE, FIGHT = range(6)
PHASES = ("deployment", "command", "move", "shoot", "charge", "fight")
RANGED, MELEE = 0, 1
COVERED = 2  # a ranged attack on a target in cover, in `World.expected`
HIDDEN = 256  # more than any distance on a board

# Records instead of an array per field: kernels with few array arguments compile and run faster.
CELL = np.dtype(
    [
        ("is_open", np.bool_),  # neither wall nor forbidden
        ("is_cover", np.bool_),
        ("objective", np.int8),  # the one it belongs to, or -1
        ("word", np.int32),  # its word and bit in a set of hexes
        ("bit", np.uint32),
    ],
    align=True,
)
SEEN = np.dtype(
    [
        ("turned", np.int32),  # the cell from the seat's point of view: rotated by 180 degrees for seat 1
        ("slot", np.int32),  # its hex slot, -1 outside the seat's zone
    ],
    align=True,
)
PROFILE = ("move", "toughness", "save", "invulnerable", "hp", "control", "points")
UNIT = np.dtype([("exists", np.bool_), ("position", np.int32), *((name, np.int32) for name in PROFILE)], align=True)
WEAPON = np.dtype([(name, np.int32) for name in ("reach", "attacks", "hit", "strength", "ap", "damage")])


@by_reference
class World(NamedTuple):
    """Lookup tables: C cells, S unit slots per player, H hex slots, O objectives.

    Unit u is slot `u % S` of seat `u // S`; slots are ordered by unit id. actions.py has the table of actions.
    """

    near: np.ndarray  # (C, 6) int32: open neighbors of open cells, then -1
    distance: np.ndarray  # (C, C) uint8
    sight: np.ndarray  # (C, C) bool: a line between them is free of walls and cover
    seen_apart: np.ndarray  # (C, C) uint16: the distance, plus HIDDEN where a line of sight is blocked
    cells: np.ndarray  # (C,) CELL
    seen: np.ndarray  # (2, C) SEEN: each cell from each seat's point of view
    hexes: np.ndarray  # (2, H) int32: the cell of each hex slot, by (col, row), then -1
    units: np.ndarray  # (2S,) UNIT: zeros in empty slots
    points: np.ndarray  # (2,) float32: of each whole roster
    weapon: np.ndarray  # (2, 2S) WEAPON: ranged, then melee; zeros where there is none
    expected: np.ndarray  # (3, 2S, 2S) float64: mean damage of one unit on another: RANGED, MELEE, COVERED
    charge_chance: np.ndarray  # (256,) float64: that a charge over this distance arrives on a free path
    roll_chance: np.ndarray  # (356,) float64: that 2D6 cover the index minus (MAX_MOVE + 1) steps
    to_objective: np.ndarray  # (O, C) uint8: the distance of each cell to the nearest hex of each objective
    open: np.ndarray  # (B,) uint32: the set of open hexes; see reach.py
    row_words: int  # of a set of hexes
    columns: int  # of the board
    slots: int  # S
    hex_slots: int  # H
    pass_action: int
    first_move: int  # the action that moves to cell 0
    first_target: int  # the action that attacks the enemy in slot 0
    wait_action: int
    start_phase: int
    alternated: bool
    is_active: bool  # units are placed by actions; else each starts on its position
    min_enemy_distance: int
    confirming: int  # bit set of the seats that end their deployment by confirming it
    rounds: int
    victory_points: int  # for each of: at least one objective, at least two, more than the opponent
    charge_reach: int  # the longest path of a charge
    is_choice: bool  # players choose the unit to act; else it is the first eligible one by id
    rolls_off: bool  # dice decide who has the first turn of every round; else player 1 has it


def build(scenario: Scenario, *, slots: int, hex_slots: int, charge_reach: int, **settings: Any) -> World:
    """Return the tables of a scenario; `settings` are further members of `World`."""
    board = scenario.board
    all_hexes = hexgrid.cells_of(board.cols, board.rows)
    cells = np.zeros(len(all_hexes), CELL)
    cells["is_open"] = [board.is_open(one) for one in all_hexes]
    cells["is_cover"] = [one in board.cover for one in all_hexes]
    (row, col), row_words = np.divmod(np.arange(cells.size), board.cols), board.cols // hexgrid.WORD_BITS + 1
    cells["word"] = (row + 1) * row_words + col // hexgrid.WORD_BITS
    cells["bit"] = np.uint32(1) << (col % hexgrid.WORD_BITS).astype(np.uint32)
    cells["objective"] = -1
    for number, center in enumerate(board.objectives):
        cells["objective"][[_cell(scenario, one) for one in board.objective_hexes(center)]] = number
    # An empty row above and below the board, and between them blocks of 8 words, which processors combine at once.
    open_set = np.zeros(-(-board.rows * row_words // 8) * 8 + 2 * row_words, np.uint32)
    np.bitwise_or.at(open_set, cells["word"][cells["is_open"]], cells["bit"][cells["is_open"]])
    distance = hexgrid.distances_between(all_hexes, all_hexes)
    sight = hexgrid.lines_of_sight(np.array([one in board.walls | board.cover for one in all_hexes]), board.cols)
    hexes, seen = _seats(scenario, hex_slots)
    units, weapon, expected = _units(scenario, slots)
    pass_action = slots * hex_slots
    first_target = pass_action + 1 + cells.size
    arrives = [charge_chance.py_func(apart - 1) if apart <= charge_reach else 0.0 for apart in range(HIDDEN)]
    return World(
        near=hexgrid.adjacency(cells["is_open"], board.cols),
        distance=distance,
        sight=sight,
        seen_apart=np.where(sight, 0, HIDDEN).astype(np.uint16) + distance,
        cells=cells,
        seen=seen,
        hexes=hexes,
        units=units,
        points=units["points"].reshape(2, -1).sum(axis=1).astype(np.float32),
        weapon=weapon,
        expected=expected,
        charge_chance=np.array(arrives),
        roll_chance=np.array([charge_chance.py_func(steps) for steps in range(-MAX_MOVE - 1, HIDDEN)]),
        to_objective=np.stack([distance[:, cells["objective"] == k].min(axis=1) for k in range(len(board.objectives))]),
        open=open_set,
        row_words=row_words,
        columns=board.cols,
        slots=slots,
        hex_slots=hex_slots,
        pass_action=pass_action,
        first_move=pass_action + 1,
        first_target=first_target,
        wait_action=first_target + slots,
        charge_reach=charge_reach,
        **settings,
    )


def zone_cells(world: World, seat: int) -> np.ndarray:
    """Return the cells of a seat's zone, ordered by (col, row)."""
    return world.hexes[seat][world.hexes[seat] >= 0]


def _cell(scenario: Scenario, one: Hex) -> int:
    return one[1] * scenario.board.cols + one[0]


def _seats(scenario: Scenario, hex_slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the hex slots of both seats and the cells from each seat's point of view.

    Cells off the edge have no counterpart on the rotated board; they map to themselves, as no unit can stand there.
    """
    board = scenario.board
    hexes = np.full((2, hex_slots), -1, np.int32)
    seen = np.zeros((2, board.cols * board.rows), SEEN)
    seen["slot"] = -1
    for seat, pool in enumerate(scenario.pools):
        hexes[seat, : len(pool)] = [_cell(scenario, one) for one in pool]
        seen["slot"][seat, hexes[seat, : len(pool)]] = np.arange(len(pool))
    for cell, one in enumerate(hexgrid.cells_of(board.cols, board.rows)):
        other = board.turned(one)
        seen["turned"][:, cell] = cell, _cell(scenario, other) if board.contains(other) else cell
    return hexes, seen


def _units(scenario: Scenario, slots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    units, weapon = np.zeros(2 * slots, UNIT), np.zeros((2, 2 * slots), WEAPON)
    for seat, roster in enumerate(scenario.rosters):
        for u, unit in enumerate(roster, seat * slots):
            profile = unit.profile
            values = (getattr(profile, name) for name in PROFILE)
            units[u] = True, _cell(scenario, unit.position), *(NEVER if value is None else value for value in values)
            for kind, arm in enumerate((profile.ranged, profile.melee)):
                weapon[kind, u] = (0,) * len(WEAPON.fields or ()) if arm is None else astuple(arm)
    expected = np.zeros((3, 2 * slots, 2 * slots))
    for kind, attacker, target in np.ndindex(*expected.shape):
        weapon_kind, covered = (RANGED, True) if kind == COVERED else (kind, False)
        expected[kind, attacker, target] = expected_damage(weapon[weapon_kind, attacker], units[target], covered)
    return units, weapon, expected
