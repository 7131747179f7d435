"""A reference implementation of the observation: plain Python over the named state, without tables."""

import numpy as np

from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.scenario import Hex, Profile, Weapon
from src.envs.deployment.rules.state import GameState, Unit
from tests.envs.deployment import geometry, oracle

PHASES = ("deployment", "command", "move", "shoot", "charge", "fight")


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
    covered = shoots and (target.col, target.row) in state.scenario.board.cover
    return min(expected_damage(weapon, target.profile, covered) / target.hp, 1.0)


def facts(game: DeploymentGame, state: GameState, player: int) -> list[float]:
    deployment, units = state.deployment_state, state.units.values()
    over = game.outcome(state) is not None
    deploying = state.phase == "deployment" and not over
    most = 3 * game.world.victory_points * (game.world.rounds - 1)
    both = (player, 3 - player)
    rosters = {who: [unit for unit in units if unit.player == who] for who in both}
    values = [float(state.phase == name) for name in PHASES]
    values += [state.round / game.world.rounds]
    begins = int(state.game["first"]) + 1
    values += [float(state.phase != "deployment" and state.current_player == player), float(player != begins)]
    values += [state.victory_points[who] / most for who in both]
    for who in both:
        alive = sum(unit.profile.points for unit in rosters[who] if unit.hp > 0)
        values.append(alive / sum(unit.profile.points for unit in rosters[who]))
    values += [sum(unit.id in deployment.deployed_units for unit in rosters[who]) / len(rosters[who]) for who in both]
    values += [float(deploying and oracle.placements(game, state) != {game.actions.pass_action})]
    return [*values, float(deploying and deployment.current_deployer == player)]


def profile(one: Profile) -> list[float]:
    values = [one.move / 12, one.toughness / 10, (7 - one.save) / 6]
    values += [0.0 if one.invulnerable is None else (7 - one.invulnerable) / 6]
    values += [one.hp / 10, one.control / 5, one.points / 128]
    for weapon, reach in ((one.ranged, True), (one.melee, False)):
        if weapon is None:
            values += [0.0] * (5 + reach)
        else:
            values += [weapon.reach / 24] * reach
            values += [weapon.attacks / 6, (7 - weapon.hit) / 6, weapon.strength / 10, weapon.ap / 6, weapon.damage / 3]
    return [min(value, 1.0) for value in values]


def unit_features(game: DeploymentGame, state: GameState, unit: Unit, player: int, legal: set[int]) -> list[float]:
    left = state.deployment_state.deployable_units_by_player
    on_board = unit.col >= 0
    active = None if state.active_unit_id is None else state.units[state.active_unit_id]
    candidate = by_active = on_active = 0.0
    col, row = seen(game, (unit.col, unit.row), player) if on_board else (0, 0)
    if on_board and active is not None and active.player != unit.player:
        slot = [one.id for one in state.scenario.rosters[unit.player - 1]].index(unit.id)
        candidate = float(game.actions.world.first_target + slot in legal)
        by_active, on_active = share_of_hp(state, active, unit), share_of_hp(state, unit, active)
    elif on_board and active is None and unit.player == player == game.to_move(state) + 1:
        candidate = float(game.actions.world.first_move + row * game.scenario.board.cols + col in legal)
    values = [1.0, unit.id in left[unit.player], on_board, active is not None and unit.id == active.id, candidate]
    values += [unit.acted, unit.fled, unit.charged]
    values += [col / (game.scenario.board.cols - 1), row / (game.scenario.board.rows - 1), unit.hp / unit.profile.hp]
    return [float(value) for value in (*values, by_active, on_active, *profile(unit.profile))]


def seen(game: DeploymentGame, one: Hex, player: int) -> Hex:
    board = game.scenario.board
    other = one if player == 1 else geometry.turned(one, board.cols, board.rows)
    return other if board.contains(other) else one


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
        for one in (middle, *geometry.neighbors(middle)):
            if board.is_open(one):
                mark(1, one)
                mark(2, one, holder == player)
                mark(3, one, holder == 3 - player)
    if state.phase == "deployment":
        for one in state.deployment_state.deployment_pools_by_player[player]:
            mark(4, one)
    for unit in state.units.values():
        if unit.col >= 0:
            at = (unit.col, unit.row)
            mark(5 if unit.player == player else 6, at, unit.hp / unit.profile.hp)
            mark(7, at, unit.player == player)
            mark(8, at, unit.id == state.active_unit_id)
    for action in legal if game.to_move(state) == player - 1 else ():
        target = game.actions.target_hex(state, action)
        if target is not None:
            mark(9, target)
    return values


def observe(game: DeploymentGame, state: GameState, player: int) -> np.ndarray:
    legal, slots = oracle.legal_actions(game, state), game.actions.unit_slots
    rows = []
    for who in (player, 3 - player):
        own = [unit for unit in state.units.values() if unit.player == who]
        rows += [unit_features(game, state, unit, player, legal) for unit in own]
        rows += [[0.0] * 31] * (slots - len(own))
    parts = (facts(game, state, player), np.ravel(rows), planes(game, state, player, legal).ravel())
    return np.concatenate(parts).astype(np.float32)
