"""A reference implementation of legal actions and observations: plain Python over the named state, without tables.

Hexes are computed from the geometry of their centers in the plane, so they share no code and no coordinates with the
engine.
"""

import math
from functools import cache

import numpy as np

from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.scenario import Hex, Profile, Weapon
from src.envs.deployment.rules.state import GameState, Unit

PHASES = ("deployment", "command", "move", "shoot", "charge", "fight")
STEP = math.sqrt(3)  # between the centers of neighbors, for hexes of circumradius 1
SIDEWAYS = (1.5, -2.5 * STEP)  # where a line is shifted that runs between two hexes
TIE = 1e-9


def center(one: Hex) -> tuple[float, float]:
    """Return the center of a hex; odd columns are half a hex lower."""
    col, row = one
    return 1.5 * col, STEP * (row + (0.5 if col % 2 else 0.0))


def neighbors(one: Hex) -> list[Hex]:
    """Return the six hexes whose centers are one step away, also off the board."""
    around = [(one[0] + dc, one[1] + dr) for dc in (-1, 0, 1) for dr in (-1, 0, 1)]
    return [other for other in around if abs(math.dist(center(one), center(other)) - STEP) < TIE]


@cache
def distance(a: Hex, b: Hex) -> int:
    """Return the fewest steps: every column crossed also moves up or down by half a hex, as far as needed."""
    across = abs(a[0] - b[0])
    halves = round(2 * abs(center(a)[1] - center(b)[1]) / STEP)
    return across + max(0, halves - across) // 2


def turned(one: Hex, cols: int, rows: int) -> Hex:
    """Return the hex opposite the middle of a board, found by its center."""
    x, y = center(one)
    bottom = center((0, rows - 1))[1]
    col = cols - 1 - round(x / 1.5)
    return col, round((bottom - y) / STEP - (0.5 if col % 2 else 0.0))


@cache
def hex_at(x: float, y: float, side: int) -> Hex:
    """Return the hex that a point lies in; on an edge the one toward SIDEWAYS or away from it."""
    col = round(x / 1.5)
    near = [(c, r) for c in range(col - 1, col + 2) for r in range(int(y / STEP) - 2, int(y / STEP) + 3)]
    closest = min(math.dist((x, y), center(one)) for one in near)
    ties = [one for one in near if math.dist((x, y), center(one)) < closest + TIE]
    return max(ties, key=lambda one: side * sum(p * q for p, q in zip(center(one), SIDEWAYS, strict=True)))


def sees(state: GameState, a: Hex, b: Hex) -> bool:
    """Whether the line between two centers, on one side of the edges that it runs along, crosses no wall or cover."""
    walls = state.scenario.board.walls | state.scenario.board.cover
    (ax, ay), (bx, by), steps = center(a), center(b), distance(a, b)
    points = [(ax + (bx - ax) * k / steps, ay + (by - ay) * k / steps) for k in range(1, steps)]
    return any(all(hex_at(x, y, side) not in walls for x, y in points) for side in (1, -1))


def at(unit: Unit) -> Hex:
    return unit.col, unit.row


def on_board(state: GameState, player: int) -> list[Unit]:
    return [unit for unit in state.units.values() if unit.player == player and unit.col >= 0]


def adjacent(a: Unit, b: Unit) -> bool:
    return at(b) in neighbors(at(a))


def seen(game: DeploymentGame, one: Hex, player: int) -> Hex:
    board = game.scenario.board
    other = one if player == 1 else turned(one, board.cols, board.rows)
    return other if board.contains(other) else one


def move_to(game: DeploymentGame, one: Hex, player: int) -> int:
    """Return the action that moves to a hex, numbered from the player's point of view."""
    col, row = seen(game, one, player)
    return game.world.first_move + row * game.scenario.board.cols + col


def steps_to(state: GameState, unit: Unit, limit: int) -> dict[Hex, int]:
    """Return the steps by breadth-first search around walls, units and the hexes beside enemies."""
    enemies = on_board(state, 3 - unit.player)
    taken = {at(other) for player in (1, 2) for other in on_board(state, player)}
    barred = taken | {one for enemy in enemies for one in neighbors(at(enemy))}
    steps, frontier = {at(unit): 0}, [at(unit)]
    for step in range(1, limit + 1):
        near = {one for here in frontier for one in neighbors(here)}
        frontier = [one for one in near if state.scenario.board.is_open(one) and one not in barred and one not in steps]
        steps |= dict.fromkeys(frontier, step)
    return steps


def targets(state: GameState, unit: Unit) -> list[Unit]:
    enemies, friends = on_board(state, 3 - unit.player), on_board(state, unit.player)
    if state.phase == "shoot":
        weapon = unit.profile.ranged
        return [
            enemy
            for enemy in enemies
            if weapon is not None
            and distance(at(unit), at(enemy)) <= weapon.range
            and sees(state, at(unit), at(enemy))
            and not any(adjacent(enemy, friend) for friend in friends)
        ]
    if state.phase == "fight":
        return [enemy for enemy in enemies if adjacent(unit, enemy)]
    charge_reach = state.world.settings.charge_reach
    steps = steps_to(state, unit, charge_reach - 1)
    taken = {at(other) for other in enemies + friends}

    def has_path(enemy: Unit) -> bool:
        beside = [one for one in neighbors(at(enemy)) if state.scenario.board.is_open(one) and one not in taken]
        return any(before in steps for one in beside for before in neighbors(one))

    return [enemy for enemy in enemies if distance(at(unit), at(enemy)) <= charge_reach and has_path(enemy)]


def is_eligible(state: GameState, unit: Unit) -> bool:
    if unit.acted or state.phase == "command":
        return False
    if state.phase == "move":
        return True
    if state.phase == "fight":
        return bool(targets(state, unit))
    engaged = any(adjacent(unit, enemy) for enemy in on_board(state, 3 - unit.player))
    return not unit.fled and not (state.phase == "charge" and engaged) and bool(targets(state, unit))


def placements(game: DeploymentGame, state: GameState) -> set[int]:
    deployment = state.deployment_state
    player = deployment.current_deployer
    taken = {at(unit) for unit in state.units.values()}
    enemies = on_board(state, 3 - player)
    legal = set()
    for unit_slot, unit in enumerate(state.scenario.rosters[player - 1]):
        for hex_slot, one in enumerate(deployment.deployment_pools_by_player[player]):
            far = all(distance(one, at(enemy)) >= state.world.settings.min_enemy_distance for enemy in enemies)
            if unit.id in deployment.deployable_units_by_player[player] and one not in taken and far:
                legal.add(unit_slot * game.actions.hex_slots + hex_slot)
    return legal or {game.actions.pass_action}


def choices(game: DeploymentGame, state: GameState) -> set[int]:
    """Return the actions that choose a unit of the player to move; in fights chargers are first."""
    able = [unit for player in (1, 2) for unit in on_board(state, player) if is_eligible(state, unit)]
    chargers = [unit for unit in able if unit.charged and unit.player == state.current_player]
    own = [unit for unit in able if unit.player == game.to_move(state) + 1]
    hexes = [at(unit) for unit in (chargers if state.phase == "fight" and chargers else own)]
    return {move_to(game, one, game.to_move(state) + 1) for one in hexes}


def legal_actions(game: DeploymentGame, state: GameState) -> set[int]:
    if game.outcome(state) is not None:
        return set()
    if state.phase == "deployment":
        return placements(game, state)
    if state.active_unit_id is None:
        return choices(game, state)
    unit, actions = state.units[state.active_unit_id], game.actions
    legal = {actions.wait_action}
    if state.phase == "move":
        reached = set(steps_to(state, unit, unit.profile.move)) - {at(unit)}
        return legal | {move_to(game, one, unit.player) for one in reached}
    slots = {enemy.id: slot for slot, enemy in enumerate(state.scenario.rosters[2 - unit.player])}
    return legal | {actions.world.first_target + slots[enemy.id] for enemy in targets(state, unit)}


def chance(needed: int) -> float:
    return sum(die >= needed for die in range(1, 7)) / 6


def expected_damage(weapon: Weapon | None, target: Profile, covered: bool) -> float:
    """Return the mean damage of one attack with a weapon on a whole unit, in cover from it or not."""
    if weapon is None:
        return 0.0
    strong, tough = weapon.strength, target.toughness
    wound = (
        2 if strong >= 2 * tough else 3 if strong > tough else 4 if strong == tough else 5 if 2 * strong > tough else 6
    )
    armor = target.save + weapon.ap
    if covered and armor > 2:
        armor -= 1
    save = min(armor, target.invulnerable or 7)
    return weapon.attacks * chance(weapon.hit) * chance(wound) * (1 - chance(save)) * min(weapon.damage, target.hp)


def share_of_hp(state: GameState, attacker: Unit, target: Unit) -> float:
    shoots = state.phase in ("move", "shoot") and attacker.profile.ranged is not None
    weapon = attacker.profile.ranged if shoots else attacker.profile.melee
    covered = shoots and at(target) in state.scenario.board.cover
    return min(expected_damage(weapon, target.profile, covered) / target.hp, 1.0)


def facts(game: DeploymentGame, state: GameState, player: int) -> list[float]:
    deployment, units = state.deployment_state, state.units.values()
    over = game.outcome(state) is not None
    deploying = state.phase == "deployment" and not over
    most = 3 * game.world.settings.victory_points * (game.world.settings.rounds - 1)
    both = (player, 3 - player)
    rosters = {who: [unit for unit in units if unit.player == who] for who in both}
    values = [float(state.phase == name) for name in PHASES]
    values += [state.round / game.world.settings.rounds]
    begins = int(state.game["first"]) + 1
    values += [float(state.phase != "deployment" and state.current_player == player), float(player != begins)]
    values += [state.victory_points[who] / most for who in both]
    for who in both:
        alive = sum(unit.profile.points for unit in rosters[who] if unit.hp > 0)
        values.append(alive / sum(unit.profile.points for unit in rosters[who]))
    values += [sum(unit.id in deployment.deployed_units for unit in rosters[who]) / len(rosters[who]) for who in both]
    values += [float(deploying and placements(game, state) != {game.actions.pass_action})]
    return [*values, float(deploying and deployment.current_deployer == player)]


def profile(one: Profile) -> list[float]:
    values = [one.move / 12, one.toughness / 10, (7 - one.save) / 6]
    values += [0.0 if one.invulnerable is None else (7 - one.invulnerable) / 6]
    values += [one.hp / 10, one.control / 5, one.points / 128]
    for weapon, reach in ((one.ranged, True), (one.melee, False)):
        if weapon is None:
            values += [0.0] * (5 + reach)
        else:
            values += [weapon.range / 24] * reach
            values += [weapon.attacks / 6, (7 - weapon.hit) / 6, weapon.strength / 10, weapon.ap / 6, weapon.damage / 3]
    return [min(value, 1.0) for value in values]


def unit_features(game: DeploymentGame, state: GameState, unit: Unit, player: int, legal: set[int]) -> list[float]:
    left = state.deployment_state.deployable_units_by_player
    on_board = unit.col >= 0
    active = None if state.active_unit_id is None else state.units[state.active_unit_id]
    candidate = by_active = on_active = 0.0
    col, row = seen(game, at(unit), player) if on_board else (0, 0)
    if on_board and active is not None and active.player != unit.player:
        slot = [one.id for one in state.scenario.rosters[unit.player - 1]].index(unit.id)
        candidate = float(game.actions.world.first_target + slot in legal)
        by_active, on_active = share_of_hp(state, active, unit), share_of_hp(state, unit, active)
    elif on_board and active is None and unit.player == player == game.to_move(state) + 1:
        candidate = float(move_to(game, at(unit), player) in legal)
    values = [1.0, unit.id in left[unit.player], on_board, active is not None and unit.id == active.id, candidate]
    values += [unit.acted, unit.fled, unit.charged]
    values += [col / (game.scenario.board.cols - 1), row / (game.scenario.board.rows - 1), unit.hp / unit.profile.hp]
    return [float(value) for value in (*values, by_active, on_active, *profile(unit.profile))]


def planes(game: DeploymentGame, state: GameState, player: int, legal: set[int]) -> np.ndarray:
    board = game.scenario.board
    values = np.zeros((10, board.rows, board.cols))

    def mark(plane: int, one: Hex, value: float = 1.0) -> None:
        col, row = seen(game, one, player)
        values[plane, row, col] = value

    for one in board.walls | board.forbidden:
        mark(0, one)
    for one in board.cover:
        mark(0, one, 0.5)
    for middle, holder in state.objectives.items():
        for one in (middle, *neighbors(middle)):
            if board.is_open(one):
                mark(1, one)
                mark(2, one, holder == player)
                mark(3, one, holder == 3 - player)
    if state.phase == "deployment":
        for one in state.deployment_state.deployment_pools_by_player[player]:
            mark(4, one)
    for unit in state.units.values():
        if unit.col >= 0:
            mark(5 if unit.player == player else 6, at(unit), unit.hp / unit.profile.hp)
            mark(7, at(unit), unit.player == player)
            mark(8, at(unit), unit.id == state.active_unit_id)
    for action in legal if game.to_move(state) == player - 1 else ():
        target = game.actions.target_hex(state, action)
        if target is not None:
            mark(9, target)
    return values


def observe(game: DeploymentGame, state: GameState, player: int) -> np.ndarray:
    legal, slots = legal_actions(game, state), game.actions.unit_slots
    rows = []
    for who in (player, 3 - player):
        own = [unit for unit in state.units.values() if unit.player == who]
        rows += [unit_features(game, state, unit, player, legal) for unit in own]
        rows += [[0.0] * 31] * (slots - len(own))
    parts = (facts(game, state, player), np.ravel(rows), planes(game, state, player, legal).ravel())
    return np.concatenate(parts).astype(np.float32)
