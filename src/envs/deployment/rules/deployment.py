"""The deployment phase: strict validation, atomic effects; it ends only once all units are placed.

The kernels are used by compiled steps. The functions below them return why a command of a person or another program,
such as `deploy_unit`, is illegal; commands are validated before they change anything.
"""

from typing import Any, Literal

import numpy as np

from ....core.errors import UserError
from ...splitmix import below
from . import battle
from .kernels import NOBODY, OFF_BOARD, kernel
from .scenario import Scenario, is_whole
from .state import GameState
from .world import Games, World

OrderMode = Literal["player_by_player", "alternated_p1_start"]
DeploymentType = Literal["active", "fixed"]
StartPhase = Literal["command", "move"]
Activation = Literal["by_id", "choice"]
FirstTurn = Literal["player_1", "roll_off"]
OnDeadlock = Literal["raise", "truncate"]


class DeploymentError(UserError):
    """An action that is illegal in the deployment phase; the state is unchanged."""


class DeploymentDeadlockError(DeploymentError):
    """Units are left, and none of them can be placed."""


@kernel
def place(world: World, games: Games, i: int, u: int, cell: int) -> None:
    """Place a unit, switch players if the order requires it, and begin the battle once all units are placed."""
    game, unit, seat = games.games[i], games.units[i, u], games.games[i].current_deployer
    battle.put(games, i, u, cell)
    unit.start = cell
    unit.order = units_placed(world, games, i, seat)
    unit.deployed = True
    unit.deployable = False
    game.deployment_steps += 1
    games.sides[i, 1 - seat].locked_units = units_placed(world, games, i, 1 - seat)
    alternates = world.settings.alternated and units_left(world, games, i, 1 - seat) > 0
    if alternates or not must_confirm(world, games, i, seat):
        continue_phase(world, games, i)


@kernel
def continue_phase(world: World, games: Games, i: int) -> None:
    """Switch players if the order requires it, or begin the battle if all units are placed and confirmed.

    A player without units is asked to confirm only once the other has placed all of its own.
    """
    game, other = games.games[i], 1 - games.games[i].current_deployer
    own_left = units_left(world, games, i, game.current_deployer)
    others_left = units_left(world, games, i, other)
    is_others_turn = world.settings.alternated and others_left > 0
    if is_others_turn or (own_left == 0 and (others_left > 0 or must_confirm(world, games, i, other))):
        game.current_deployer = other
        game.to_move = other
    elif own_left == 0:
        begin_battle(world, games, i)


@kernel
def begin_battle(world: World, games: Games, i: int) -> None:
    game = games.games[i]
    game.deployment_complete = True
    game.round = 1
    if world.settings.rolls_off:
        game.first = below(game, 2)
    game.turn = game.first
    battle.enter(world, games, i, world.settings.start_phase)
    battle.advance(world, games, i)


@kernel
def resolve_pass(world: World, games: Games, i: int) -> None:
    """Let the other player continue if players alternate and it has a legal placement; else set the deadlock flag."""
    game = games.games[i]
    game.passes += 1
    if is_deadlock(world, games, i):
        game.deadlocked = True
    else:
        game.current_deployer = 1 - game.current_deployer
        game.to_move = game.current_deployer


@kernel
def is_deadlock(world: World, games: Games, i: int) -> bool:
    """Whether a legal pass is a deadlock: the other player cannot continue either."""
    return not (world.settings.alternated and has_placement(world, games, i, 1 - games.games[i].current_deployer))


@kernel
def confirm(world: World, games: Games, i: int, seat: int) -> None:
    games.sides[i, seat].confirmed = True
    if games.games[i].current_deployer == seat:
        continue_phase(world, games, i)


@kernel
def must_confirm(world: World, games: Games, i: int, seat: int) -> bool:
    """Whether the seat has placed all its units and ends its deployment by confirming it."""
    if world.settings.confirming >> seat & 1 == 0 or games.sides[i, seat].confirmed:
        return False
    return units_left(world, games, i, seat) == 0


@kernel
def take_back(world: World, games: Games, i: int, u: int) -> None:
    """Undo a placement; later placements move up in the order."""
    unit, seat = games.units[i, u], u // world.slots
    for other in range(seat * world.slots, (seat + 1) * world.slots):
        if games.units[i, other].deployed and games.units[i, other].order > unit.order:
            games.units[i, other].order -= 1
    games.games[i].deployment_steps -= 1
    battle.put(games, i, u, OFF_BOARD)
    unit.start = OFF_BOARD
    unit.order = 0
    unit.deployed = False
    unit.deployable = True


@kernel
def units_left(world: World, games: Games, i: int, seat: int) -> int:
    left = 0
    for u in range(seat * world.slots, (seat + 1) * world.slots):
        left += games.units[i, u].deployable
    return left


@kernel
def units_placed(world: World, games: Games, i: int, seat: int) -> int:
    return world.roster_sizes[seat] - units_left(world, games, i, seat)


@kernel
def has_placement(world: World, games: Games, i: int, seat: int) -> bool:
    """Whether the seat has a unit left and a legal hex for it."""
    if units_left(world, games, i, seat) == 0:
        return False
    for cell in range(world.cells.size):  # noqa: SIM110 (numba has no generator expressions)
        if can_place(world, games, i, seat, cell):
            return True
    return False


@kernel
def can_place(world: World, games: Games, i: int, seat: int, cell: int) -> bool:
    free = world.seen[seat, cell].slot >= 0 and games.occupants[i, cell] == NOBODY
    return free and keeps_distance(world, games, i, seat, cell)


@kernel
def keeps_distance(world: World, games: Games, i: int, seat: int, cell: int) -> bool:
    """Whether all placed enemies are at least `min_enemy_distance` away."""
    if world.settings.min_enemy_distance == 0:
        return True
    for u in range((1 - seat) * world.slots, (2 - seat) * world.slots):
        there = games.units[i, u].cell
        if there != OFF_BOARD and world.distance[cell, there] < world.settings.min_enemy_distance:
            return False
    return True


def why_not_deploy(state: GameState, unit_id: str, col: int, row: int) -> str | None:
    """Return why a placement is illegal, checked in the order of the contract; None if it is legal."""
    deployment, board, player = state.deployment_state, state.scenario.board, state.deployment_state.current_deployer
    if refusal := _why_not_now(state):
        return refusal
    u, one = state.number(unit_id), (col, row)
    if u is None or u // state.slots != player - 1:
        own = ", ".join(unit.id for unit in state.scenario.rosters[player - 1])
        return f"unit {unit_id} is not player {player}'s, who deploys now: choose one of {own}"
    if unit_id in deployment.deployed_units:
        left = ", ".join(deployment.deployable_units_by_player[player])
        return f"unit {unit_id} is deployed already: choose one of {left or 'none, all are'}"
    refused = f"unit {unit_id} cannot be deployed on ({col}, {row}): "
    if not (is_whole(col) and is_whole(row)):
        return f"{refused}col={col!r} and row={row!r} have to be whole numbers"
    if not board.contains(one):
        return f"{refused}it is off the board, whose columns are 0..{board.cols - 1} and rows 0..{board.rows - 1}"
    if one in board.walls:
        return f"{refused}it is a wall"
    if one not in deployment.deployment_pools_by_player[player]:
        forbidden = ", and a forbidden hex" if one in board.forbidden else ""
        return f"{refused}it is outside the zone of player {player}{forbidden}"
    occupant = int(state.games.occupants[state.i, state.cell_of(one)])
    if occupant != NOBODY:
        return f"{refused}unit {state.unit_id(occupant)} stands there"
    if not keeps_distance(state.world, state.games, state.i, player - 1, state.cell_of(one)):
        return f"{refused}an enemy is nearer than {state.world.settings.min_enemy_distance} hexes"
    return None


def _why_not_now(state: GameState) -> str | None:
    if state.game["deadlocked"]:
        return "the deployment is deadlocked and the game over: start a new one"
    if state.phase != "deployment":
        return f"the phase is {state.phase}: deployment is over"
    return None


def why_not_undeploy(state: GameState, unit_id: str) -> str | None:
    deployment = state.deployment_state
    if refusal := _why_not_now(state):
        return refusal
    player = deployment.current_deployer
    if unit_id not in [unit.id for unit in state.scenario.rosters[player - 1]]:
        return f"unit {unit_id} is not player {player}'s, who deploys now"
    if unit_id not in deployment.deployed_units:
        return f"unit {unit_id} is not deployed, so it cannot be taken back"
    locked = state.games.sides["locked_units"][state.i, player - 1]
    if state.games.units["order"][state.i, state.number(unit_id)] < locked:
        return f"unit {unit_id} cannot be taken back: player {3 - player} has placed a unit since"
    return None


def why_not_confirm(state: GameState, player: int) -> str | None:
    if refusal := _why_not_now(state):
        return refusal
    if not is_whole(player) or player not in (1, 2):
        return f"there is no player {player!r}: expected 1 or 2"
    if not state.world.settings.confirming >> (player - 1) & 1:
        return f"player {player} has nothing to confirm: confirming_players does not list it"
    left = state.deployment_state.deployable_units_by_player[player]
    if left:
        return f"player {player} cannot confirm: {', '.join(left)} are still to be deployed"
    if player in state.deployment_state.confirmed_players:
        return f"player {player} has confirmed already"
    return None


def why_not_pass(state: GameState) -> str | None:
    if refusal := _why_not_now(state):
        return refusal
    if state.deployment_state.unconfirmed_player is not None:
        return f"player {state.deployment_state.current_deployer} has placed all units: confirm the deployment"
    if has_placement(state.world, state.games, state.i, int(state.game["current_deployer"])):
        return (
            f"player {state.deployment_state.current_deployer} has a legal placement: deploy a unit instead of passing"
        )
    return None


def deadlock_message(scenario: Scenario, game: Any, units: np.ndarray) -> str:
    """Describe a deadlock: the player, the units left, the sizes of the pools and the occupied hexes.

    `game` and `units` are the GAME and UNIT_STATE records of one game.
    """
    slots, left, occupied = units.size // 2, [], []
    for player, roster in enumerate(scenario.rosters, 1):
        own = list(zip(roster, units[(player - 1) * slots : player * slots], strict=False))
        left.append(", ".join(unit.id for unit, record in own if record["deployable"]) or "none")
        for unit, record in own:
            if record["cell"] != OFF_BOARD:
                occupied.append(f"{unit.id} on {scenario.board.hex_of(int(record['cell']))}")
    pools = ", ".join(f"player {player}: {len(pool)}" for player, pool in enumerate(scenario.pools, 1))
    return (
        f"deployment deadlock: player {game['current_deployer'] + 1} has units left and no legal placement; "
        f"units left: player 1: {left[0]}, player 2: {left[1]}; hexes in the pools: {pools}; "
        f"occupied: {', '.join(occupied) or 'none'}; enlarge the zones or shrink the rosters"
    )


def deadlock(state: GameState) -> DeploymentDeadlockError:
    return DeploymentDeadlockError(deadlock_message(state.scenario, state.game, state.games.units[state.i]))
