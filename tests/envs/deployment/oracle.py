"""A reference implementation of the legal actions: plain Python over the named state, without tables."""

from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.scenario import Hex
from src.envs.deployment.rules.state import GameState, Unit
from tests.envs.deployment import geometry


def sees(state: GameState, a: Hex, b: Hex) -> bool:
    return geometry.sees(state.scenario.board.walls | state.scenario.board.cover, a, b)


def at(unit: Unit) -> Hex:
    return unit.col, unit.row


def on_board(state: GameState, player: int) -> list[Unit]:
    return [unit for unit in state.units.values() if unit.player == player and unit.col >= 0]


def adjacent(a: Unit, b: Unit) -> bool:
    return at(b) in geometry.neighbors(at(a))


def steps_to(state: GameState, unit: Unit, limit: int) -> dict[Hex, int]:
    """Return the steps by breadth-first search around walls, units and the hexes beside enemies."""
    enemies = on_board(state, 3 - unit.player)
    taken = {at(other) for player in (1, 2) for other in on_board(state, player)}
    barred = taken | {one for enemy in enemies for one in geometry.neighbors(at(enemy))}
    steps, frontier = {at(unit): 0}, [at(unit)]
    for step in range(1, limit + 1):
        near = {one for here in frontier for one in geometry.neighbors(here)}
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
            and geometry.distance(at(unit), at(enemy)) <= weapon.reach
            and sees(state, at(unit), at(enemy))
            and not any(adjacent(enemy, friend) for friend in friends)
        ]
    if state.phase == "fight":
        return [enemy for enemy in enemies if adjacent(unit, enemy)]
    steps = steps_to(state, unit, state.world.charge_reach - 1)
    taken = {at(other) for other in enemies + friends}

    def has_path(enemy: Unit) -> bool:
        beside = [
            one for one in geometry.neighbors(at(enemy)) if state.scenario.board.is_open(one) and one not in taken
        ]
        return any(before in steps for one in beside for before in geometry.neighbors(one))

    return [
        enemy
        for enemy in enemies
        if geometry.distance(at(unit), at(enemy)) <= state.world.charge_reach and has_path(enemy)
    ]


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
            far = all(geometry.distance(one, at(enemy)) >= state.world.min_enemy_distance for enemy in enemies)
            if unit.id in deployment.deployable_units_by_player[player] and one not in taken and far:
                legal.add(unit_slot * game.actions.hex_slots + hex_slot)
    return legal or {game.actions.pass_action}


def choices(game: DeploymentGame, state: GameState) -> set[int]:
    """Return the actions that choose a unit: those of the player to move, in fights chargers of the turn first."""
    able = [unit for player in (1, 2) for unit in on_board(state, player) if is_eligible(state, unit)]
    chargers = [unit for unit in able if unit.charged and unit.player == state.current_player]
    own = [unit for unit in able if unit.player == game.to_move(state) + 1]
    cols, rows = state.scenario.board.cols, state.scenario.board.rows
    hexes = [at(unit) for unit in (chargers if state.phase == "fight" and chargers else own)]
    seen = [one if game.to_move(state) == 0 else geometry.turned(one, cols, rows) for one in hexes]
    return {game.actions.world.first_move + row * cols + col for col, row in seen}


def legal_actions(game: DeploymentGame, state: GameState) -> set[int]:
    if game.outcome(state) is not None:
        return set()
    if state.phase == "deployment":
        return placements(game, state)
    if state.active_unit_id is None:
        return choices(game, state)
    unit, actions = state.units[state.active_unit_id], game.actions
    cols, rows = state.scenario.board.cols, state.scenario.board.rows
    legal = {actions.wait_action}
    if state.phase == "move":
        for col, row in set(steps_to(state, unit, unit.profile.move)) - {at(unit)}:
            seen = (col, row) if unit.player == 1 else geometry.turned((col, row), cols, rows)
            legal.add(actions.world.first_move + seen[1] * cols + seen[0])
        return legal
    slots = {enemy.id: slot for slot, enemy in enumerate(state.scenario.rosters[2 - unit.player])}
    return legal | {actions.world.first_target + slots[enemy.id] for enemy in targets(state, unit)}
