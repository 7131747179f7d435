"""The policy of the bots: a weighted score of the legal actions of the active unit, in points of the units at stake.

Greedy, defensive and tactical bots differ only in their weights.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.kernel_references import by_reference
from ..splitmix import below, next_word
from . import battle, rules
from .dice import kernel
from .placement import UNRANKED
from .state import NOBODY, OFF_BOARD, Games
from .world import CHARGE, DEPLOYMENT, FIGHT, MELEE, MOVE_PHASE, RANGED, World

LUCK = np.dtype([("random", np.uint64)])  # generator state of a bot
NO_ACTION = -1
FAR = 255  # more than any distance on a board
_HIGH_BITS = 2.0**-64


@by_reference
class Policy(NamedTuple):
    damage: float  # weight of expected damage dealt from a hex
    threat: float  # weight of expected damage taken there
    objective: float  # for holding an objective that would otherwise not be held
    to_objective: float  # per hex closer to such an objective
    to_enemy: float  # per hex closer to the nearest enemy
    explore: float  # fraction of actions drawn from all legal ones
    ranks: np.ndarray  # (2S, C) int32: see placement.py


@kernel
def choose(world: World, games: Games, i: int, policy: Policy, luck: Any) -> int:
    """Return the bot's action for the player to move in game i, or NO_ACTION if its placement has no hex left."""
    if policy.explore > 0 and next_word(luck) * _HIGH_BITS < policy.explore:
        return random_action(games, i, luck)
    phase = games.games[i].phase
    if phase == DEPLOYMENT:
        return _placement(world, games, i, policy)
    if games.games[i].active == NOBODY:
        return _first_unit(world, games, i)
    if phase == MOVE_PHASE:
        return _destination(world, games, i, policy)
    return _target(world, games, i, policy)


@kernel
def random_action(games: Games, i: int, luck: Any) -> int:
    mask, legal = games.mask[i], 0
    for action in range(mask.size):
        legal += mask[action]
    rank = below(luck, legal)
    for action in range(mask.size):
        if mask[action]:
            if rank == 0:
                return action
            rank -= 1
    return NO_ACTION


@kernel
def _placement(world: World, games: Games, i: int, policy: Policy) -> int:
    """Return the placement of the first unit by id on the best-ranked legal hex."""
    seat, mask, hex_slots = games.games[i].current_deployer, games.mask[i], world.hexes.shape[1]
    if mask[rules.pass_action(world)]:
        return rules.pass_action(world)
    slots = world.units.size // 2
    for unit in range(slots):
        if not games.units[i, seat * slots + unit].deployable:
            continue
        best, best_rank = NO_ACTION, UNRANKED
        for slot in range(hex_slots):
            rank = policy.ranks[seat * slots + unit, world.hexes[seat, slot]]
            if mask[unit * hex_slots + slot] and rank < best_rank:
                best, best_rank = unit * hex_slots + slot, rank
        return best
    return NO_ACTION


@kernel
def _first_unit(world: World, games: Games, i: int) -> int:
    """Return the choice of the first unit by id that may act."""
    seat, slots, first = games.games[i].to_move, world.units.size // 2, rules.pass_action(world) + 1
    for u in range(seat * slots, (seat + 1) * slots):
        cell = games.units[i, u].cell
        if cell != OFF_BOARD and games.mask[i, first + world.seen[seat, cell].turned]:
            return first + world.seen[seat, cell].turned
    return NO_ACTION


@kernel
def _destination(world: World, games: Games, i: int, policy: Policy) -> int:
    """Return the move to the best hex in reach, or waiting; hexes are ordered by the player's view to break ties."""
    u, first = games.games[i].active, rules.pass_action(world) + 1
    needs = objective_needs(world, games, i, u)
    best = rules.wait_action(world)
    best_value = destination_value(world, games, i, best, needs, policy)
    for action in range(first, first + world.cells.size):
        if games.mask[i, action]:
            value = destination_value(world, games, i, action, needs, policy)
            if value > best_value:
                best, best_value = action, value
    return best


@kernel
def destination_value(world: World, games: Games, i: int, action: int, needs: tuple[int, int], policy: Policy) -> float:
    """Return the value of a move of the active unit, or of waiting; `needs` are the `objective_needs` of the unit."""
    u, cell, flees = games.games[i].active, 0, False
    if action == rules.wait_action(world):
        cell = games.units[i, u].cell
    else:
        seat = u // (world.units.size // 2)
        cell = world.seen[seat, action - rules.pass_action(world) - 1].turned
        flees = battle.beside_enemy(world, games, i, u)
    return _cell_value(world, games, i, u, cell, flees, policy) + _objective_value(world, cell, needs, policy)


@kernel
def _cell_value(world: World, games: Games, i: int, u: int, cell: int, flees: bool, policy: Policy) -> float:
    """Return the value of a cell with respect to enemies: expected damage dealt minus expected damage taken."""
    slots, shot, strike, danger, nearest = world.units.size // 2, 0.0, 0.0, 0.0, FAR
    first = (1 - u // slots) * slots
    for enemy in range(first, first + slots):
        there = games.units[i, enemy].cell
        if there == OFF_BOARD:
            continue
        apart, in_sight = (
            world.distance[there, cell],
            world.sight[there, cell],
        )  # indexed by the enemy first: its row stays in the cache
        nearest = min(nearest, apart)
        if not flees:
            if in_sight and 1 < apart <= world.weapon[RANGED, u].reach:
                shot = max(shot, worth(world, games, i, u, enemy, RANGED))
            if apart <= world.charge_reach:
                strike = max(strike, charge_chance(apart - 1) * worth(world, games, i, u, enemy, MELEE))
        if policy.threat > 0:
            danger += _danger(world, games, i, u, enemy, apart, in_sight)
    value = policy.damage * (shot + strike) - policy.threat * min(danger, world.units[u].points)
    return value - policy.to_enemy * nearest


@kernel
def _danger(world: World, games: Games, i: int, u: int, enemy: int, apart: int, in_sight: bool) -> float:
    """Return the expected loss to an enemy at this distance in its next turn."""
    ranged = in_sight and 1 < apart <= world.weapon[RANGED, enemy].reach
    shots = worth(world, games, i, enemy, u, RANGED) if ranged else 0.0
    strikes = charge_chance(apart - 1 - world.units[enemy].move) * worth(world, games, i, enemy, u, MELEE)
    return max(shots, strikes)


@kernel
def objective_needs(world: World, games: Games, i: int, u: int) -> tuple[int, int]:
    """Return two bit sets of objectives: those held without unit u, and those that it would win."""
    slots, held, tipped = world.units.size // 2, 0, 0
    for k in range(world.to_objective.shape[0]):
        balance = 0  # of objective control, without this unit
        for other in range(world.units.size):
            cell = games.units[i, other].cell
            if other != u and cell != OFF_BOARD and world.cells[cell].objective == k:
                own = other // slots == u // slots
                balance += world.units[other].control if own else -world.units[other].control
        if balance > 0 or (balance == 0 and games.control[i, k] == u // slots):
            held |= 1 << k
        if balance + world.units[u].control > 0:
            tipped |= 1 << k
    return held, tipped


@kernel
def _objective_value(world: World, cell: int, needs: tuple[int, int], policy: Policy) -> float:
    """Return the value of a cell for the objectives: the one it belongs to, and the distance to the next open one."""
    held, tipped = needs
    nearest, on = FAR, world.cells[cell].objective
    for k in range(world.to_objective.shape[0]):
        if not held >> k & 1:
            nearest = min(nearest, world.to_objective[k, cell])
    value = 0.0 if nearest == FAR else -policy.to_objective * nearest
    if on >= 0:
        value += policy.objective * (0.2 if held >> on & 1 else (1.0 if tipped >> on & 1 else 0.4))
    return value


@kernel
def worth(world: World, games: Games, i: int, u: int, target: int, kind: int) -> float:
    """Return the expected points taken from a target by one attack."""
    share = world.expected[kind, u, target] / games.units[i, target].hp
    return min(share, 1.0) * world.units[target].points


@kernel
def charge_chance(steps: int) -> float:
    """Return the probability that 2D6 cover this number of steps."""
    if steps <= 2:
        return 1.0
    if steps <= 7:
        return 1.0 - (steps - 2) * (steps - 1) / 72
    return max(13 - steps, 0) * (14 - steps) / 72


@kernel
def _target(world: World, games: Games, i: int, policy: Policy) -> int:
    """Return the attack with the highest value, or waiting if none is above 0."""
    slots, first = world.units.size // 2, rules.pass_action(world) + 1 + world.cells.size
    best, best_value = rules.wait_action(world), 0.0
    for action in range(first, first + slots):
        if games.mask[i, action]:
            value = target_value(world, games, i, action, policy)
            if value > best_value:
                best, best_value = action, value
    return best


@kernel
def target_value(world: World, games: Games, i: int, action: int, policy: Policy) -> float:
    """Return the value of an attack of the active unit: expected points, minus the risk of a charge; 0 for waiting."""
    if action == rules.wait_action(world):
        return 0.0
    game, slots = games.games[i], world.units.size // 2
    u = game.active
    target = (1 - u // slots) * slots + action - rules.pass_action(world) - 1 - world.cells.size
    if game.phase == CHARGE:
        return _charge_value(world, games, i, u, target, policy)
    return worth(world, games, i, u, target, MELEE if game.phase == FIGHT else RANGED)


@kernel
def _charge_value(world: World, games: Games, i: int, u: int, target: int, policy: Policy) -> float:
    cell, steps = battle.charge_path(world, games, i, u, target)
    gain = policy.damage * worth(world, games, i, u, target, MELEE)
    gain -= policy.threat * worth(world, games, i, target, u, MELEE)
    needs = objective_needs(world, games, i, u)
    gain += _objective_value(world, cell, needs, policy)
    gain -= _objective_value(world, games.units[i, u].cell, needs, policy)
    return charge_chance(steps) * gain
