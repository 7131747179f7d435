"""Observations: one vector in [0, 1] with global features, unit features and planes over the board.

    global (17) | own units (S x 31) | enemy units (S x 31) | planes (10 x C)

All features are relative to one player: its units are first, and the board is rotated so that its side is at the
bottom. Candidates are taken from the action mask, so they always agree with it. A unit off the board has zeros for
position, candidates and expected damage.
"""

from typing import NamedTuple

import numpy as np

from ...core.kernel_references import by_reference
from . import rules
from .rules import battle, deployment
from .rules.dice import kernel
from .rules.objectives import max_victory_points, surviving_points
from .rules.state import NOBODY, OFF_BOARD, Games
from .rules.world import (
    DEPLOYMENT,
    MELEE,
    MOVE_PHASE,
    PHASES,
    PROFILE,
    RANGED,
    SHOOT,
    WEAPON,
    World,
)

FACTS = (
    *(f"phase_{name}" for name in PHASES),
    *("round", "own_turn", "second", "own_victory_points", "their_victory_points", "own_points", "their_points"),
    *("own_deployed", "their_deployed", "placement_exists", "is_deployer"),
)
CHANGING = (
    *("exists", "to_deploy", "on_board", "active", "candidate", "acted", "fled", "charged", "col", "row", "hp_left"),
    *(
        "damage_expected_on_it",
        "damage_expected_by_it",
    ),  # to and from the active unit, as fractions of the remaining hp
)
LASTING = (
    *("move", "toughness", "save", "invulnerable", "hp", "control", "points"),
    *("ranged_reach", "ranged_attacks", "ranged_hit", "ranged_strength", "ranged_ap", "ranged_damage"),
    *("melee_attacks", "melee_hit", "melee_strength", "melee_ap", "melee_damage"),
)
UNIT = CHANGING + LASTING
PLANES = (
    *("terrain", "objective", "own_objective", "their_objective", "own_zone"),
    *("own_hp", "their_hp", "own_presence", "active", "candidate"),
)
_CHANGING = len(CHANGING)
_FACTS, _UNIT, _PLANES = len(FACTS), len(UNIT), len(PLANES)


@by_reference
class StaticFeatures(NamedTuple):
    """The features that are the same in every step."""

    points: np.ndarray  # (2,) float32: of each whole roster
    roster_sizes: np.ndarray  # (2,) float32
    start: np.ndarray  # (2, B) float32: an observation of each seat up to its first two planes, without what changes
    zone: np.ndarray  # (2, C) float32: its zone
    position: np.ndarray  # (2, C, 2) float32: column and row of each cell as fractions of the board
    objective_cells: np.ndarray  # (M,) int32: all cells that belong to objectives


def size(world: World) -> int:
    return _FACTS + world.units.size * _UNIT + _PLANES * world.cells.size


def parts(world: World, observation: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return global features (17,), units (2S, 31) and planes (10, rows, cols) of an observation, as views."""
    units = _FACTS + world.units.size * _UNIT
    return (
        observation[:_FACTS],
        observation[_FACTS:units].reshape(world.units.size, _UNIT),
        observation[units:].reshape(_PLANES, -1, world.columns),
    )


def static_features(world: World) -> StaticFeatures:
    move, toughness, save, invulnerable, hp, control, points = (world.units[name] for name in PROFILE)
    columns = [move / 12, toughness / 10, (7 - save) / 6, (7 - invulnerable) / 6, hp / 10, control / 5, points / 128]
    for kind, weapon in enumerate(world.weapon):
        reach, attacks, hit, strength, ap, damage = (weapon[name] for name in WEAPON.names or ())
        columns += [reach / 24] if kind == RANGED else []  # the reach of melee is always 1
        columns += [attacks / 6, (7 - hit) / 6 * (attacks > 0), strength / 10, ap / 6, damage / 3]
    profiles = np.clip(np.stack(columns, axis=1) * world.units["exists"][:, None], 0, 1).astype(np.float32)
    units = np.pad(profiles, ((0, 0), (_CHANGING, 0))).reshape(2, -1)  # by seat
    by_seat = world.units["exists"].reshape(2, -1)
    terrain = np.where(world.cells["is_cover"], 0.5, ~world.cells["is_open"])
    is_objective = world.cells["objective"] >= 0
    return StaticFeatures(
        points=(points.reshape(2, -1) * by_seat).sum(axis=1).astype(np.float32),
        roster_sizes=by_seat.sum(axis=1).astype(np.float32),
        start=np.concatenate(
            [
                np.zeros((2, _FACTS), np.float32),
                units,
                units[::-1],
                _plane(world, terrain),
                _plane(world, is_objective),
            ],
            axis=1,
        ),
        zone=_plane(world, world.seen["slot"] >= 0),
        position=_positions(world),
        objective_cells=np.flatnonzero(is_objective).astype(np.int32),
    )


def _positions(world: World) -> np.ndarray:
    row, col = np.divmod(world.seen["turned"], world.columns)
    rows = world.cells.size // world.columns
    return np.stack([col / max(world.columns - 1, 1), row / max(rows - 1, 1)], axis=-1).astype(np.float32)


def _plane(world: World, values: np.ndarray) -> np.ndarray:
    """Return values of cells, (C,) or (2, C), as the plane that each seat observes, (2, C) float32."""
    plane = np.zeros(world.seen.shape, np.float32)
    np.put_along_axis(plane, world.seen["turned"], np.broadcast_to(values, plane.shape).astype(np.float32), axis=1)
    return plane


@kernel
def observe(world: World, static: StaticFeatures, games: Games, i: int, seat: int, out: np.ndarray) -> None:
    """Write the observation of the player in `seat` of game i to `out`."""
    fixed = static.start[seat]
    _copy(fixed, out)
    out[fixed.size :] = 0
    _facts(world, static, games, i, seat, out)
    slots = world.units.size // 2
    for row in range(world.units.size):
        u = row if seat == 0 else (row + slots if row < slots else row - slots)
        _unit(world, static, games, i, u, seat, out[_FACTS + row * _UNIT : _FACTS + (row + 1) * _UNIT])
    _planes(world, static, games, i, seat, out[_FACTS + world.units.size * _UNIT :])


@kernel
def observe_turn(
    world: World, static: StaticFeatures, games: Games, i: int, out: np.ndarray, legal_actions: np.ndarray
) -> None:
    """Write what the player to move in game i observes, and its legal actions."""
    observe(world, static, games, i, games.games[i].to_move, out)
    _copy(games.mask[i], legal_actions)


@kernel
def _facts(world: World, static: StaticFeatures, games: Games, i: int, seat: int, out: np.ndarray) -> None:
    game, place, over = games.games[i], len(PHASES), rules.is_over(games, i)
    out[game.phase] = 1
    out[place] = game.round / world.rounds
    out[place + 1] = game.turn == seat and game.phase != DEPLOYMENT
    out[place + 2] = seat != game.first
    for k in range(2):
        player = seat if k == 0 else 1 - seat
        placed = deployment.units_placed(world, games, i, player)
        out[place + 3 + k] = min(games.sides[i, player].victory_points / max_victory_points(world), 1.0)
        out[place + 5 + k] = surviving_points(world, games, i, player) / max(static.points[player], 1)
        out[place + 7 + k] = placed / static.roster_sizes[player]
    deploying = game.phase == DEPLOYMENT and not over
    out[place + 9] = deploying and not games.mask[i, rules.pass_action(world)]
    out[place + 10] = deploying and game.current_deployer == seat


@kernel
def _unit(world: World, static: StaticFeatures, games: Games, i: int, u: int, seat: int, out: np.ndarray) -> None:
    if not world.units[u].exists:
        return
    active, slots, cell = games.games[i].active, world.units.size // 2, games.units[i, u].cell
    out[0] = 1
    out[1] = games.units[i, u].deployable
    out[5] = games.units[i, u].acted
    out[6] = games.units[i, u].fled
    out[7] = games.units[i, u].charged
    out[10] = games.units[i, u].hp / world.units[u].hp
    if cell == OFF_BOARD:
        return
    out[2] = 1
    out[3] = u == active
    out[8] = static.position[seat, cell, 0]
    out[9] = static.position[seat, cell, 1]
    if active != NOBODY and (active < slots) != (u < slots):
        out[4] = games.mask[i, rules.pass_action(world) + 1 + world.cells.size + (u if u < slots else u - slots)]
        out[11] = _expected_share(world, games, i, active, u)
        out[12] = _expected_share(world, games, i, u, active)
    elif active == NOBODY and games.games[i].to_move == seat == u // slots:
        out[4] = games.mask[i, rules.pass_action(world) + 1 + world.seen[seat, cell].turned]


@kernel
def _expected_share(world: World, games: Games, i: int, u: int, target: int) -> float:
    """Return the expected damage as a fraction of the target's hp, by the weapon of the phase (ranged to move and
    shoot).
    """
    phase = games.games[i].phase
    shoots = phase in (MOVE_PHASE, SHOOT) and world.weapon[RANGED, u].attacks > 0
    kind = battle.shooting_kind(world, games.units[i, target].cell) if shoots else MELEE
    return min(world.expected[kind, u, target] / games.units[i, target].hp, 1.0)


@kernel
def _planes(world: World, static: StaticFeatures, games: Games, i: int, seat: int, out: np.ndarray) -> None:
    game, cells, slots = games.games[i], world.cells.size, world.units.size // 2
    for k in range(static.objective_cells.size):
        cell = static.objective_cells[k]
        seen, holder = world.seen[seat, cell].turned, games.control[i, world.cells[cell].objective]
        if holder != NOBODY:
            out[(2 if holder == seat else 3) * cells + seen] = 1
    if game.phase == DEPLOYMENT:
        _copy(static.zone[seat], out[4 * cells :])
    for u in range(world.units.size):
        cell = games.units[i, u].cell
        if cell != OFF_BOARD:
            seen, own = world.seen[seat, cell].turned, (u >= slots) == seat
            out[(5 if own else 6) * cells + seen] = games.units[i, u].hp / world.units[u].hp
            out[7 * cells + seen] = own
            out[8 * cells + seen] = u == game.active
    if game.to_move == seat and not rules.is_over(games, i):
        _candidates(world, games, i, seat, out[9 * cells :])


@kernel
def _copy(values: np.ndarray, out: np.ndarray) -> None:
    for k in range(values.size):
        out[k] = values[k]


@kernel
def _candidates(world: World, games: Games, i: int, seat: int, out: np.ndarray) -> None:
    """Mark the target hexes of legal actions: to deploy on, to move to, or of a unit to attack or to choose."""
    mask, slots, cells, hex_slots = games.mask[i], world.units.size // 2, world.cells.size, world.hexes.shape[1]
    first = rules.pass_action(world) + 1
    if games.games[i].phase == DEPLOYMENT:
        for slot in range(hex_slots):
            for unit in range(slots):
                if mask[unit * hex_slots + slot]:
                    out[world.seen[seat, world.hexes[seat, slot]].turned] = 1
                    break
        return
    _copy(mask[first : first + cells], out)
    for slot in range(slots):
        if mask[first + cells + slot]:
            out[world.seen[seat, games.units[i, (1 - seat) * slots + slot].cell].turned] = 1
