"""The data of the compiled rules: lookup tables of a scenario, which kernels never write to, and N games."""

from dataclasses import astuple
from typing import NamedTuple

import numpy as np

from ....core.kernels import by_reference
from . import hexgrid
from .dice import NEVER, charge_chance, expected_damage
from .kernels import NOBODY, OFF_BOARD, UNDECIDED, copy_values, kernel, record
from .scenario import MAX_MOVE, Scenario

DEPLOYMENT, COMMAND, MOVE_PHASE, SHOOT, CHARGE, FIGHT = range(6)
PHASES = ("deployment", "command", "move", "shoot", "charge", "fight")
RANGED, MELEE = 0, 1
COVERED = 2  # a ranged attack on a target in cover, in `World.expected`
HIDDEN = 256  # more than any distance on a board
CHARGE_STEPS = 5  # index of the first set in `Games.sets` that belongs to a step of a charge
LONGEST_TRAIL = 8  # the most phases that one action can enter

CELL = record(
    ("is_open", np.bool_),  # neither wall nor forbidden
    ("is_cover", np.bool_),
    ("objective", np.int8),  # the one it belongs to, or -1
    ("word", np.int32),  # its word and bit in a set of hexes
    ("bit", np.uint32),
)
SEEN = record(
    ("turned", np.int32),  # the cell from the seat's point of view: rotated by 180 degrees for seat 1
    ("slot", np.int32),  # its hex slot, -1 outside the seat's zone
)
PROFILE = ("move", "toughness", "save", "invulnerable", "hp", "control", "points")
UNIT = record(("exists", np.bool_), ("position", np.int32), *((name, np.int32) for name in PROFILE))
WEAPON = record(*((name, np.int32) for name in ("reach", "attacks", "hit", "strength", "ap", "damage")))
GAME = record(
    ("deployment_steps", np.int32),
    ("passes", np.int32),
    ("random", np.uint64),  # state of the dice; not the first field, or Numba would treat RNG as a prefix
    ("active", np.int32),  # the unit to act in battle, or NOBODY
    ("phase", np.int8),
    ("round", np.int8),  # 1..5 in battle, 0 before
    ("first", np.int8),  # the seat with the first turn of every round
    ("turn", np.int8),  # the seat whose turn it is
    ("to_move", np.int8),  # the seat to act; in the fight phase it may differ from `turn`
    ("current_deployer", np.int8),  # a seat
    ("next_fighter", np.int8),  # the seat that selects the next unit to fight
    ("outcome", np.int8),
    ("trail_length", np.int8),
    ("deployment_complete", np.bool_),
    ("deadlocked", np.bool_),
)
UNIT_STATE = record(
    ("cell", np.int32),  # its current cell, or OFF_BOARD
    ("hp", np.int32),
    ("start", np.int32),  # where it was placed
    ("order", np.int32),  # how many units of its player were placed before it
    ("dealt", np.int32),  # damage dealt
    ("deployed", np.bool_),
    ("deployable", np.bool_),  # still to be placed
    ("acted", np.bool_),  # in this phase
    ("fled", np.bool_),  # moved away from an adjacent enemy in this turn
    ("charged", np.bool_),  # in this turn
)
SIDE = record(
    ("victory_points", np.int32),
    ("locked_units", np.int32),  # units placed before the other side's latest one; they cannot be taken back
    ("confirmed", np.bool_),
)
RIVAL = record(
    ("cell", np.uint32),  # unsigned, as an index that cannot be negative is faster
    ("head_start", np.int32),  # its distance plus this is the index of its charge in `World.roll_chance`
    ("range", np.int32),  # of its ranged weapon
    ("shot", np.float64),  # expected points taken from it by an attack of the active unit
    ("strike", np.float64),
    ("shot_back", np.float64),  # and by it from the active unit
    ("shot_into_cover", np.float64),  # the same if the active unit is in cover
    ("strike_back", np.float64),
)


@by_reference
class Games(NamedTuple):
    games: np.ndarray  # (N,) GAME
    units: np.ndarray  # (N, 2S) UNIT_STATE
    occupants: np.ndarray  # (N, C) int16: the unit on each cell, or NOBODY
    sides: np.ndarray  # (N, 2) SIDE
    control: np.ndarray  # (N, O) int8: the seat that holds each objective, or NOBODY
    trail: np.ndarray  # (N, LONGEST_TRAIL) int8: the phases entered by the latest action, in order
    mask: np.ndarray  # (N, A) bool: the legal actions
    sets: np.ndarray  # (N, K, B) uint32: scratch space of reach.py
    rivals: np.ndarray  # (N, S) RIVAL: scratch space of bots/policy.py


SCRATCH = ("sets", "rivals")  # members whose values mean nothing between two actions


@by_reference
class Settings(NamedTuple):
    """Options of the rules, as numbers."""

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


@by_reference
class World(NamedTuple):
    """Lookup tables: C cells, S unit slots per player, H hex slots, O objectives.

    Unit u is slot `u % S` of seat `u // S`; slots are ordered by unit id. actions.py has the table of actions.
    """

    settings: Settings
    first_game: np.ndarray  # (1,) GAME before the first action
    first_units: np.ndarray  # (2S,) UNIT_STATE before the first action
    near: np.ndarray  # (C, 6) int32: open neighbors of open cells, then -1
    distance: np.ndarray  # (C, C) uint8
    sight: np.ndarray  # (C, C) bool: a line between them is free of walls and cover
    seen_apart: np.ndarray  # (C, C) uint16: the distance, plus HIDDEN where a line of sight is blocked
    cells: np.ndarray  # (C,) CELL
    seen: np.ndarray  # (2, C) SEEN: each cell from each seat's point of view
    hexes: np.ndarray  # (2, H) int32: the cell of each hex slot, by (col, row), then -1
    units: np.ndarray  # (2S,) UNIT: zeros in empty slots
    roster_sizes: np.ndarray  # (2,) int32
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


def build(scenario: Scenario, settings: Settings, slots: int, hex_slots: int) -> World:
    """Return the tables of a scenario."""
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
        cells["objective"][[board.cell_of(one) for one in board.objective_hexes(center)]] = number
    # An empty row above and below the board, and between them blocks of 8 words, which processors combine at once.
    open_set = np.zeros(-(-board.rows * row_words // 8) * 8 + 2 * row_words, np.uint32)
    np.bitwise_or.at(open_set, cells["word"][cells["is_open"]], cells["bit"][cells["is_open"]])
    distance = hexgrid.distances_between(all_hexes, all_hexes)
    sight = hexgrid.lines_of_sight(np.array([one in board.walls | board.cover for one in all_hexes]), board.cols)
    objectives = [distance[:, cells["objective"] == k].min(axis=1) for k in range(len(board.objectives))]
    hexes, seen = _seats(scenario, hex_slots)
    units, weapon, expected = _units(scenario, slots)
    pass_action = slots * hex_slots
    first_target = pass_action + 1 + cells.size
    reach = settings.charge_reach
    arrives = [charge_chance.py_func(apart - 1) if apart <= reach else 0.0 for apart in range(HIDDEN)]
    first_game, first_units = np.zeros(1, GAME), np.zeros(units.size, UNIT_STATE)
    first_game["active"], first_game["next_fighter"], first_game["outcome"] = NOBODY, 1, UNDECIDED
    first_units["hp"] = units["hp"]
    first_units["deployable" if settings.is_active else "deployed"] = units["exists"]
    on_board = units["exists"] & (not settings.is_active)
    first_units["cell"] = first_units["start"] = np.where(on_board, units["position"], OFF_BOARD)
    return World(
        settings=settings,
        first_game=first_game,
        first_units=first_units,
        near=hexgrid.adjacency(cells["is_open"], board.cols),
        distance=distance,
        sight=sight,
        seen_apart=np.where(sight, 0, HIDDEN).astype(np.uint16) + distance,
        cells=cells,
        seen=seen,
        hexes=hexes,
        units=units,
        roster_sizes=np.array([len(roster) for roster in scenario.rosters], np.int32),
        points=units["points"].reshape(2, -1).sum(axis=1).astype(np.float32),
        weapon=weapon,
        expected=expected,
        charge_chance=np.array(arrives),
        roll_chance=np.array([charge_chance.py_func(steps) for steps in range(-MAX_MOVE - 1, HIDDEN)]),
        to_objective=np.stack(objectives),
        open=open_set,
        row_words=row_words,
        columns=board.cols,
        slots=slots,
        hex_slots=hex_slots,
        pass_action=pass_action,
        first_move=pass_action + 1,
        first_target=first_target,
        wait_action=first_target + slots,
    )


def _seats(scenario: Scenario, hex_slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the hex slots of both seats and the cells from each seat's point of view.

    Cells off the edge have no counterpart on the rotated board; they map to themselves, as no unit can stand there.
    """
    board = scenario.board
    hexes = np.full((2, hex_slots), -1, np.int32)
    seen = np.zeros((2, board.cols * board.rows), SEEN)
    seen["slot"] = -1
    for seat, pool in enumerate(scenario.pools):
        hexes[seat, : len(pool)] = [board.cell_of(one) for one in pool]
        seen["slot"][seat, hexes[seat, : len(pool)]] = np.arange(len(pool))
    for cell, one in enumerate(hexgrid.cells_of(board.cols, board.rows)):
        other = board.turned(one)
        seen["turned"][:, cell] = cell, board.cell_of(other) if board.contains(other) else cell
    return hexes, seen


def _units(scenario: Scenario, slots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all units, their weapons, and the mean damage of each on each."""
    units, weapon = np.zeros(2 * slots, UNIT), np.zeros((2, 2 * slots), WEAPON)
    for seat, roster in enumerate(scenario.rosters):
        for u, unit in enumerate(roster, seat * slots):
            values = (getattr(unit.profile, name) for name in PROFILE)
            position = scenario.board.cell_of(unit.position)
            units[u] = True, position, *(NEVER if value is None else value for value in values)
            for kind, arm in enumerate((unit.profile.ranged, unit.profile.melee)):
                if arm is not None:
                    weapon[kind, u] = astuple(arm)
    expected = np.zeros((3, 2 * slots, 2 * slots))
    for kind, attacker, target in np.ndindex(*expected.shape):
        weapon_kind, covered = (RANGED, True) if kind == COVERED else (kind, False)
        expected[kind, attacker, target] = expected_damage(weapon[weapon_kind, attacker], units[target], covered)
    return units, weapon, expected


def new_games(count: int, world: World) -> Games:
    """Allocate `count` games; start each with `rules.start`."""
    return Games(
        games=np.zeros(count, GAME),
        units=np.zeros((count, world.units.size), UNIT_STATE),
        occupants=np.zeros((count, world.cells.size), np.int16),
        sides=np.zeros((count, 2), SIDE),
        control=np.zeros((count, world.to_objective.shape[0]), np.int8),
        trail=np.zeros((count, LONGEST_TRAIL), np.int8),
        mask=np.zeros((count, world.wait_action + 1), np.bool_),
        sets=np.zeros((count, CHARGE_STEPS + 1 + world.settings.charge_reach, world.open.size), np.uint32),
        rivals=np.zeros((count, world.slots), RIVAL),
    )


@kernel
def copy_game(games: Games, i: int, out: Games, j: int) -> None:
    """Copy all that the rules read of game i, its legal actions excepted, which every action writes anew."""
    out.games[j] = games.games[i]
    copy_values(games.units[i], out.units[j])
    copy_values(games.occupants[i], out.occupants[j])
    copy_values(games.sides[i], out.sides[j])
    copy_values(games.control[i], out.control[j])


def zone_cells(world: World, seat: int) -> np.ndarray:
    """Return the cells of a seat's zone, ordered by (col, row)."""
    return world.hexes[seat][world.hexes[seat] >= 0]
