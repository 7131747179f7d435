"""Observations: one vector in [0, 1] with global features, unit features and planes over the board.

    GLOBAL | UNIT of each own slot | UNIT of each enemy slot | PLANES, each rows x columns

All features are relative to one player: its units are first, and the board is rotated so that its side is at the
bottom. Candidates are taken from the action mask, so they always agree with it. A unit off the board has zeros for
position, candidates and expected damage.
"""

from typing import NamedTuple

import numpy as np

from ...core.kernels import by_reference
from . import rules
from .rules.battle import max_victory_points, shooting_kind, surviving_points
from .rules.deployment import units_placed
from .rules.kernels import NOBODY, OFF_BOARD, copy_values, kernel, released
from .rules.world import DEPLOYMENT, MELEE, MOVE_PHASE, PHASES, PROFILE, RANGED, SHOOT, WEAPON, Games, World

GLOBAL = (
    *(f"phase_{name}" for name in PHASES),
    *("round", "own_turn", "second", "own_victory_points", "their_victory_points", "own_points", "their_points"),
    *("own_deployed", "their_deployed", "placement_exists", "is_deployer"),
)
DYNAMIC = (
    *("exists", "to_deploy", "on_board", "active", "candidate", "acted", "fled", "charged", "col", "row", "hp_left"),
    *("damage_expected_on_it", "damage_expected_by_it"),  # to and from the active unit, as fractions of the hp left
)
STATIC = (
    *("move", "toughness", "save", "invulnerable", "hp", "control", "points"),
    *("ranged_reach", "ranged_attacks", "ranged_hit", "ranged_strength", "ranged_ap", "ranged_damage"),
    *("melee_attacks", "melee_hit", "melee_strength", "melee_ap", "melee_damage"),
)
UNIT = DYNAMIC + STATIC
PLANES = (
    *("terrain", "objective", "own_objective", "their_objective", "own_zone"),
    *("own_hp", "their_hp", "own_presence", "active", "candidate"),
)
# The indices of these features, in the same order.
ROUND, OWN_TURN, SECOND, VICTORY_POINTS, _, POINTS, _ = range(len(PHASES), len(PHASES) + 7)
DEPLOYED, _, PLACEMENT_EXISTS, IS_DEPLOYER = range(len(PHASES) + 7, len(GLOBAL))
EXISTS, TO_DEPLOY, ON_BOARD, ACTIVE, CANDIDATE, ACTED, FLED, CHARGED = range(8)
COLUMN, ROW, HP_LEFT, DAMAGE_ON, DAMAGE_BY = range(8, len(DYNAMIC))
_, _, OWN_OBJECTIVE, THEIR_OBJECTIVE, OWN_ZONE = range(5)
OWN_HP, THEIR_HP, OWN_PRESENCE, ACTIVE_PLANE, CANDIDATE_PLANE = range(5, len(PLANES))
_GLOBAL, _UNIT = len(GLOBAL), len(UNIT)


@by_reference
class StaticFeatures(NamedTuple):
    """The features that are the same in every step."""

    start: np.ndarray  # (2, B) float32: an observation of each seat up to its first two planes, without what changes
    zone: np.ndarray  # (2, C) float32: its zone
    position: np.ndarray  # (2, C, 2) float32: column and row of each cell as fractions of the board
    objective_cells: np.ndarray  # (M,) int32: all cells that belong to objectives


def sizes(units: int, cells: int) -> tuple[int, int, int]:
    """Return the numbers of values of the global features, of all units and of all planes."""
    return len(GLOBAL), units * len(UNIT), len(PLANES) * cells


def parts(world: World, observation: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return global features (17,), units (2S, 31) and planes (10, rows, cols) of an observation, as views."""
    features, units, _ = sizes(world.units.size, world.cells.size)
    planes = observation[features + units :].reshape(len(PLANES), -1, world.columns)
    return observation[:features], observation[features : features + units].reshape(-1, len(UNIT)), planes


def static_features(world: World) -> StaticFeatures:
    move, toughness, save, invulnerable, hp, control, points = (world.units[name] for name in PROFILE)
    columns = [move / 12, toughness / 10, (7 - save) / 6, (7 - invulnerable) / 6, hp / 10, control / 5, points / 128]
    for kind, weapon in enumerate(world.weapon):
        reach, attacks, hit, strength, ap, damage = (weapon[name] for name in WEAPON.names or ())
        columns += [reach / 24] if kind == RANGED else []  # the reach of melee is always 1
        columns += [attacks / 6, (7 - hit) / 6 * (attacks > 0), strength / 10, ap / 6, damage / 3]
    profiles = np.clip(np.stack(columns, axis=1) * world.units["exists"][:, None], 0, 1).astype(np.float32)
    units = np.pad(profiles, ((0, 0), (len(DYNAMIC), 0))).reshape(2, -1)  # by seat
    is_objective = world.cells["objective"] >= 0
    terrain = _plane(world, np.where(world.cells["is_cover"], 0.5, ~world.cells["is_open"]))
    start = [np.zeros((2, len(GLOBAL)), np.float32), units, units[::-1], terrain, _plane(world, is_objective)]
    row, col = np.divmod(world.seen["turned"], world.columns)
    rows = world.cells.size // world.columns
    position = np.stack([col / max(world.columns - 1, 1), row / max(rows - 1, 1)], axis=-1)
    return StaticFeatures(
        start=np.concatenate(start, axis=1),
        zone=_plane(world, world.seen["slot"] >= 0),
        position=position.astype(np.float32),
        objective_cells=np.flatnonzero(is_objective).astype(np.int32),
    )


def _plane(world: World, values: np.ndarray) -> np.ndarray:
    """Return values of cells, (C,) or (2, C), as the plane that each seat observes, (2, C) float32."""
    plane = np.zeros(world.seen.shape, np.float32)
    np.put_along_axis(plane, world.seen["turned"], np.broadcast_to(values, plane.shape).astype(np.float32), axis=1)
    return plane


@kernel
def observe(world: World, static: StaticFeatures, games: Games, i: int, seat: int, out: np.ndarray) -> None:
    """Write the observation of the player in `seat` of game i to `out`."""
    fixed, slots = static.start[seat], world.slots
    copy_values(fixed, out)
    out[fixed.size :] = 0
    _write_global(world, games, i, seat, out)
    for row in range(world.units.size):
        u = row if seat == 0 else (row + slots if row < slots else row - slots)
        if world.units[u].exists:
            _write_unit(world, static, games, i, u, seat, out[_GLOBAL + row * _UNIT : _GLOBAL + (row + 1) * _UNIT])
    _write_planes(world, static, games, i, seat, out[_GLOBAL + world.units.size * _UNIT :])


@released
def observe_turns(
    world: World, static: StaticFeatures, games: Games, which: np.ndarray, out: np.ndarray, first: int, end: int
) -> None:
    """Write what the players to move observe, in the games `which` from number `first` to before `end`."""
    for n in range(first, end):
        observe(world, static, games, which[n], games.games[which[n]].to_move, out[n])


@kernel
def _write_global(world: World, games: Games, i: int, seat: int, out: np.ndarray) -> None:
    game = games.games[i]
    out[game.phase] = 1
    out[ROUND] = game.round / world.settings.rounds
    out[OWN_TURN] = game.turn == seat and game.phase != DEPLOYMENT
    out[SECOND] = seat != game.first  # in deployment: the seat
    for k in range(2):
        player = seat if k == 0 else 1 - seat
        out[VICTORY_POINTS + k] = min(games.sides[i, player].victory_points / max_victory_points(world), 1.0)
        out[POINTS + k] = surviving_points(world, games, i, player) / max(world.points[player], 1)
        out[DEPLOYED + k] = units_placed(world, games, i, player) / world.roster_sizes[player]
    deploying = game.phase == DEPLOYMENT and not rules.is_over(games, i)
    out[PLACEMENT_EXISTS] = deploying and not games.mask[i, world.pass_action]
    out[IS_DEPLOYER] = deploying and game.current_deployer == seat


@kernel
def _write_unit(world: World, static: StaticFeatures, games: Games, i: int, u: int, seat: int, out: np.ndarray) -> None:
    game, unit, slots = games.games[i], games.units[i, u], world.slots
    out[EXISTS] = 1
    out[TO_DEPLOY] = unit.deployable
    out[ACTED] = unit.acted
    out[FLED] = unit.fled
    out[CHARGED] = unit.charged
    out[HP_LEFT] = unit.hp / world.units[u].hp
    if unit.cell == OFF_BOARD:
        return
    out[ON_BOARD] = 1
    out[ACTIVE] = u == game.active
    out[COLUMN] = static.position[seat, unit.cell, 0]
    out[ROW] = static.position[seat, unit.cell, 1]
    if game.active != NOBODY and (game.active < slots) != (u < slots):
        out[CANDIDATE] = games.mask[i, world.first_target + (u if u < slots else u - slots)]
        out[DAMAGE_ON] = _expected_share(world, games, i, game.active, u)
        out[DAMAGE_BY] = _expected_share(world, games, i, u, game.active)
    elif game.active == NOBODY and game.to_move == seat == u // slots:
        out[CANDIDATE] = games.mask[i, world.first_move + world.seen[seat, unit.cell].turned]


@kernel
def _expected_share(world: World, games: Games, i: int, u: int, target: int) -> float:
    """Return the expected damage as a fraction of the target's hp, by the weapon of the phase (ranged to move and
    shoot).
    """
    phase = games.games[i].phase
    shoots = phase in (MOVE_PHASE, SHOOT) and world.weapon[RANGED, u].attacks > 0
    kind = shooting_kind(world, games.units[i, target].cell) if shoots else MELEE
    return min(world.expected[kind, u, target] / games.units[i, target].hp, 1.0)


@kernel
def _write_planes(world: World, static: StaticFeatures, games: Games, i: int, seat: int, out: np.ndarray) -> None:
    game, cells, slots = games.games[i], world.cells.size, world.slots
    for k in range(static.objective_cells.size):
        cell = static.objective_cells[k]
        holder = games.control[i, world.cells[cell].objective]
        if holder != NOBODY:
            plane = OWN_OBJECTIVE if holder == seat else THEIR_OBJECTIVE
            out[plane * cells + world.seen[seat, cell].turned] = 1
    if game.phase == DEPLOYMENT:
        copy_values(static.zone[seat], out[OWN_ZONE * cells :])
    for u in range(world.units.size):
        cell = games.units[i, u].cell
        if cell != OFF_BOARD:
            seen, own = world.seen[seat, cell].turned, (u >= slots) == seat
            out[(OWN_HP if own else THEIR_HP) * cells + seen] = games.units[i, u].hp / world.units[u].hp
            out[OWN_PRESENCE * cells + seen] = own
            out[ACTIVE_PLANE * cells + seen] = u == game.active
    if game.to_move == seat and not rules.is_over(games, i):
        _write_candidates(world, games, i, seat, out[CANDIDATE_PLANE * cells :])


@kernel
def _write_candidates(world: World, games: Games, i: int, seat: int, out: np.ndarray) -> None:
    """Mark the target hexes of legal actions: to deploy on, to move to, or of a unit to attack or to choose."""
    mask, slots, hex_slots = games.mask[i], world.slots, world.hex_slots
    if games.games[i].phase == DEPLOYMENT:
        for slot in range(hex_slots):
            for unit in range(slots):
                if mask[unit * hex_slots + slot]:
                    out[world.seen[seat, world.hexes[seat, slot]].turned] = 1
                    break
        return
    copy_values(mask[world.first_move : world.first_target], out)
    for slot in range(slots):
        if mask[world.first_target + slot]:
            out[world.seen[seat, games.units[i, (1 - seat) * slots + slot].cell].turned] = 1
