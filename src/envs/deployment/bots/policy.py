"""The policy of the bots: a weighted score of the legal actions of the active unit, in points of the units at stake.

Greedy, defensive and tactical bots differ only in their weights.
"""

from typing import Any, NamedTuple

import numpy as np

from ....core.kernels import by_reference
from ...splitmix import below, next_word
from ..rules import battle, reach
from ..rules.dice import charge_chance
from ..rules.kernels import NOBODY, OFF_BOARD, inlined, kernel, released
from ..rules.scenario import MAX_MOVE
from ..rules.world import CHARGE, COVERED, DEPLOYMENT, FIGHT, MELEE, MOVE_PHASE, RANGED, Games, World
from .placement import UNRANKED

RNG = np.dtype([("random", np.uint64)])  # generator state of a bot
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
def choose(world: World, games: Games, i: int, policy: Policy, rng: Any) -> int:
    """Return the bot's action for the player to move in game i, or NO_ACTION if its placement has no hex left."""
    game = games.games[i]
    if policy.explore > 0 and next_word(rng) * _HIGH_BITS < policy.explore:
        return any_action(games, i, rng)
    if game.phase == DEPLOYMENT:
        return place(world, games, i, policy.ranks, rng)
    if game.active == NOBODY:  # choose the first unit by id that may act
        for u in range(game.to_move * world.slots, (game.to_move + 1) * world.slots):
            cell = games.units[i, u].cell
            if cell != OFF_BOARD and games.mask[i, world.first_move + world.seen[game.to_move, cell].turned]:
                return world.first_move + world.seen[game.to_move, cell].turned
        return NO_ACTION
    if game.phase == MOVE_PHASE:
        return _best_move(world, games, i, policy)
    return _best_attack(world, games, i, policy)


@kernel
def action_value(world: World, games: Games, i: int, action: int, policy: Policy) -> float:
    """Return the bot's value of an action of the active unit, to be compared with its other actions."""
    u, waits = games.games[i].active, action == world.wait_action
    if games.games[i].phase != MOVE_PHASE:
        if waits:
            return 0.0
        return _attack_value(world, games, i, action, _prepare_attack(world, games, i), policy)
    cell, flees = games.units[i, u].cell, False
    if not waits:
        cell = world.seen[u // world.slots, action - world.first_move].turned
        flees = battle.beside_enemy(world, games, i, u)
    rivals = games.rivals[i, : _find_rivals(world, games, i, u, policy)]
    return _hex_value(world, u, rivals, cell, flees, _objective_needs(world, games, i, u), policy)


@released
def score_actions(world: World, games: Games, i: int, policy: Policy, rng: Any, scores: np.ndarray) -> None:
    """Write the value of each legal action in battle (A,): infinite for the bot's choice, 0 for units to choose."""
    choice = choose(world, games, i, policy, rng)
    for action in range(world.first_move, scores.size):
        if games.mask[i, action]:
            scores[action] = 0.0
            if games.games[i].active != NOBODY and action != choice:
                scores[action] = action_value(world, games, i, action, policy)
    scores[choice] = np.inf


@kernel
def any_action(games: Games, i: int, rng: Any) -> int:
    mask, legal = games.mask[i], 0
    for action in range(mask.size):
        legal += mask[action]
    rank = below(rng, legal)
    for action in range(mask.size):
        if mask[action]:
            if rank == 0:
                return action
            rank -= 1
    return NO_ACTION


@kernel
def place(world: World, games: Games, i: int, ranks: np.ndarray, rng: Any) -> int:
    """Return the placement of the first unit by id on a legal hex of the lowest rank, drawn from all such hexes.

    Return passing if nothing else is legal, and NO_ACTION if no legal hex has a rank (2S, C), see placement.py.
    """
    seat, mask, hex_slots = games.games[i].current_deployer, games.mask[i], world.hex_slots
    if mask[world.pass_action]:
        return world.pass_action
    for unit in range(world.slots):
        u = seat * world.slots + unit
        if not games.units[i, u].deployable:
            continue
        best, best_rank, equal = NO_ACTION, UNRANKED, 0
        for slot in range(hex_slots):
            if not mask[unit * hex_slots + slot]:
                continue
            rank = ranks[u, world.hexes[seat, slot]]
            if rank < best_rank:
                best, best_rank, equal = unit * hex_slots + slot, rank, 1
            elif rank == best_rank and rank != UNRANKED:
                equal += 1
                if below(rng, equal) == 0:  # so that each of them is chosen with the same probability
                    best = unit * hex_slots + slot
        return best
    return NO_ACTION


@kernel
def _best_move(world: World, games: Games, i: int, policy: Policy) -> int:
    """Return the move to the best hex in reach, or waiting; hexes are ordered by the player's view to break ties."""
    u = games.games[i].active
    seat, here = u // world.slots, games.units[i, u].cell
    flees, needs = battle.beside_enemy(world, games, i, u), _objective_needs(world, games, i, u)
    rivals = games.rivals[i, : _find_rivals(world, games, i, u, policy)]
    legal = games.mask[i, world.first_move : world.first_target]
    best = world.wait_action
    best_value = _hex_value(world, u, rivals, here, False, needs, policy)
    middle, away = world.seen[seat, here].turned // world.columns, world.units[u].move + 1  # rows
    for number in range(max(middle - away, 0) * world.columns, min((middle + away + 1) * world.columns, legal.size)):
        if legal[number]:
            value = _hex_value(world, u, rivals, world.seen[seat, number].turned, flees, needs, policy)
            if value > best_value:
                best, best_value = world.first_move + number, value
    return best


@kernel
def _find_rivals(world: World, games: Games, i: int, u: int, policy: Policy) -> int:
    """Write what does not depend on the hex of unit u for every enemy on the board; return their number."""
    first, count = (1 - u // world.slots) * world.slots, 0
    for enemy in range(first, first + world.slots):
        if games.units[i, enemy].cell == OFF_BOARD:
            continue
        rival = games.rivals[i, count]
        rival.cell = games.units[i, enemy].cell
        rival.shot = worth(world, games, i, u, enemy, battle.shooting_kind(world, rival.cell))
        rival.strike = worth(world, games, i, u, enemy, MELEE)
        if policy.threat > 0:
            rival.head_start = MAX_MOVE - world.units[enemy].move
            rival.range = world.weapon[RANGED, enemy].reach
            rival.shot_back = worth(world, games, i, enemy, u, RANGED)
            rival.shot_into_cover = worth(world, games, i, enemy, u, COVERED)
            rival.strike_back = worth(world, games, i, enemy, u, MELEE)
        count += 1
    return count


@inlined
def _hex_value(
    world: World, u: int, rivals: np.ndarray, cell: int, flees: bool, needs: tuple[int, int], policy: Policy
) -> float:
    """Return the value of a cell for unit u: expected damage dealt minus expected damage taken, and objectives."""
    shot, strike, danger, nearest, max_range = 0.0, 0.0, 0.0, FAR, world.weapon[RANGED, u].reach
    is_cover = world.cells[cell].is_cover
    for k in range(rivals.size):
        rival = rivals[k]
        seen = world.seen_apart[rival.cell, cell]  # indexed by the enemy first: its row stays in the cache
        apart = seen & FAR
        nearest = min(nearest, apart)
        shot = max(shot, rival.shot if 1 < seen <= max_range else 0.0)
        strike = max(strike, world.charge_chance[apart] * rival.strike)
        if policy.threat > 0:
            shots = (rival.shot_into_cover if is_cover else rival.shot_back) if 1 < seen <= rival.range else 0.0
            danger += max(shots, world.roll_chance[apart + rival.head_start] * rival.strike_back)
    if flees:
        shot, strike = 0.0, 0.0
    value = policy.damage * (shot + strike) - policy.threat * min(danger, world.units[u].points)
    value = value - policy.to_enemy * nearest
    return value + _objective_value(world, cell, needs, policy)


@kernel
def _objective_needs(world: World, games: Games, i: int, u: int) -> tuple[int, int]:
    """Return two bit sets: the objectives held without unit u, and the objectives that it would win."""
    seat, held, tipped, contested = u // world.slots, 0, 0, 0
    for other in range(world.units.size):
        cell = games.units[i, other].cell
        if cell != OFF_BOARD and world.cells[cell].objective >= 0:
            contested |= 1 << world.cells[cell].objective
    for k in range(world.to_objective.shape[0]):
        balance = 0  # control by the own side minus control by the other one, without this unit
        for other in range(world.units.size if contested >> k & 1 else 0):
            cell = games.units[i, other].cell
            if other != u and cell != OFF_BOARD and world.cells[cell].objective == k:
                balance += world.units[other].control if other // world.slots == seat else -world.units[other].control
        if balance > 0 or (balance == 0 and games.control[i, k] == seat):
            held |= 1 << k
        if balance + world.units[u].control > 0:
            tipped |= 1 << k
    return held, tipped


@inlined
def _objective_value(world: World, cell: int, needs: tuple[int, int], policy: Policy) -> float:
    """Return the value of a cell for the objectives: the one it belongs to, and the distance to the next open one."""
    held, tipped = needs
    nearest, on = FAR, world.cells[cell].objective
    for k in range(world.to_objective.shape[0] if policy.to_objective != 0 else 0):
        if not held >> k & 1:
            nearest = min(nearest, world.to_objective[k, cell])
    value = 0.0 if nearest == FAR else -policy.to_objective * nearest
    if on >= 0:
        value += policy.objective * (0.2 if held >> on & 1 else (1.0 if tipped >> on & 1 else 0.4))
    return value


@kernel
def worth(world: World, games: Games, i: int, u: int, target: int, kind: int) -> float:
    """Return the expected points taken from a target by one attack of a kind: RANGED, MELEE or COVERED."""
    share = world.expected[kind, u, target] / games.units[i, target].hp
    return min(share, 1.0) * world.units[target].points


@kernel
def _best_attack(world: World, games: Games, i: int, policy: Policy) -> int:
    """Return the attack with the highest value: expected points, minus the risk of a charge."""
    needs, best, best_value = _prepare_attack(world, games, i), world.wait_action, 0.0
    for action in range(world.first_target, world.wait_action):
        if games.mask[i, action]:
            value = _attack_value(world, games, i, action, needs, policy)
            if value > best_value:
                best, best_value = action, value
    return best


@kernel
def _prepare_attack(world: World, games: Games, i: int) -> tuple[int, int]:
    """Find the charges of the active unit, if it charges; return what `_attack_value` needs to know of objectives."""
    if games.games[i].phase != CHARGE:
        return 0, 0
    u = games.games[i].active
    reach.find_charges(world, games, i, u, False)  # the game may have been restored, without this scratch space
    return _objective_needs(world, games, i, u)


@kernel
def _attack_value(world: World, games: Games, i: int, action: int, needs: tuple[int, int], policy: Policy) -> float:
    """Return the value of an attack by the active unit, after `_prepare_attack`."""
    game, u = games.games[i], games.games[i].active
    target = (1 - u // world.slots) * world.slots + action - world.first_target
    if game.phase != CHARGE:
        kind = MELEE if game.phase == FIGHT else battle.shooting_kind(world, games.units[i, target].cell)
        return worth(world, games, i, u, target, kind)
    cell, steps = reach.charge_path(world, games, i, u, target)
    gain = policy.damage * worth(world, games, i, u, target, MELEE)
    gain -= policy.threat * worth(world, games, i, target, u, MELEE)
    gain += _objective_value(world, cell, needs, policy)
    gain -= _objective_value(world, games.units[i, u].cell, needs, policy)
    return charge_chance(steps) * gain
