"""Actions as indices, words and reasons, and a position as text; rules/actions.py has the table of actions."""

import numpy as np

from .rules import deployment
from .rules.kernels import OFF_BOARD
from .rules.scenario import Hex
from .rules.state import GameState
from .rules.world import World

ATTACK_VERBS = {"shoot": "shoots", "charge": "charges", "fight": "fights"}


class Actions:
    """The discrete action space of a scenario."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.unit_slots, self.hex_slots = world.slots, world.hex_slots
        self.pass_action, self.wait_action = world.pass_action, world.wait_action
        self.deployment_action_dim = world.pass_action + 1  # including the pass
        self.count = world.wait_action + 1

    def slots_of(self, action: int) -> tuple[int, int]:
        """Return the (unit_slot, hex_slot) of a placement action."""
        return divmod(action, self.hex_slots)

    def deploy(self, u: int, cell: int) -> int:
        """Return the action that places unit u on a cell of its player's zone."""
        seat, unit_slot = divmod(u, self.unit_slots)
        return unit_slot * self.hex_slots + int(self.world.seen["slot"][seat, cell])

    def move_to(self, seat: int, cell: int) -> int:
        """Return the action that moves to a cell; cells are numbered from the seat's point of view."""
        return self.world.first_move + int(self.world.seen["turned"][seat, cell])

    def attack(self, u: int) -> int:
        """Return the action that attacks unit u."""
        return self.world.first_target + u % self.unit_slots

    def is_attack(self, action: int) -> bool:
        return self.world.first_target <= action < self.wait_action

    def target(self, state: GameState, action: int) -> int:
        """Return the unit that an attack targets."""
        return (1 - int(state.game["to_move"])) * self.unit_slots + action - self.world.first_target

    def target_hex(self, state: GameState, action: int) -> Hex | None:
        """Return the target hex of a legal action: of a placement, a move or an attack; None for pass and wait."""
        return self._decoded(state, action)[2]

    def describe(self, state: GameState, action: int) -> str:
        """Describe a legal action for a log."""
        verb, unit, at = self._decoded(state, action)
        if verb in ("pass", "deploy"):
            return "pass_deployment" if verb == "pass" else f"deploy_unit {unit} {at}"
        if verb == "unit":
            return f"player {int(state.game['to_move']) + 1} chooses {unit}"
        active = state.active_unit_id
        if verb in ATTACK_VERBS:
            return f"{active} {ATTACK_VERBS[verb]} {unit}"
        return f"{active} waits" if verb == "wait" else f"{active} goes to {at}"

    def move_name(self, state: GameState, action: int) -> str:
        """Return a legal action as one word: `deploy:R1:10,13`, `unit:R1`, `go:12,9`, `shoot:K1`, `wait` or
        `pass`.
        """
        verb, unit, at = self._decoded(state, action)
        if at is None:
            return verb
        where = f"{at[0]},{at[1]}"
        return {"deploy": f"deploy:{unit}:{where}", "go": f"go:{where}"}.get(verb, f"{verb}:{unit}")

    def _decoded(self, state: GameState, action: int) -> tuple[str, str, Hex | None]:
        """Return the verb of a legal action, the unit that it places, chooses, moves or attacks, and the target hex."""
        if action in (self.pass_action, self.wait_action):
            return "pass" if action == self.pass_action else "wait", "", None
        if action < self.pass_action:
            u, cell = self._placement(state, action)
            return "deploy", state.unit_id(u), state.hex_of(cell)
        if action < self.world.first_target:
            cell, unit = self._destination(state, action), state.active_unit_id
            verb = "unit" if unit is None else "go"
            return verb, unit or state.unit_id(int(state.games.occupants[state.i, cell])), state.hex_of(cell)
        u = self.target(state, action)
        return state.phase, state.unit_id(u), state.hex_of(state.games.units["cell"][state.i, u])

    def illegal_reason(self, state: GameState, action: int) -> str:
        """Return the reason why an action is illegal in a game in progress."""
        if not 0 <= action < self.count:
            return f"action {action} does not exist: they are 0..{self.count - 1}"
        if action <= self.pass_action:
            placing = action < self.pass_action
            reason = self._deploy_reason(state, action) if placing else deployment.why_not_pass(state)
            assert reason is not None, "the action mask and the validation disagree"
            return reason
        if state.phase == "deployment":
            return "the phase is deployment: deploy a unit first"
        unit = state.active_unit_id
        if unit is None:
            legal = np.flatnonzero(state.games.mask[state.i])
            candidates = " or ".join(self._decoded(state, int(choice))[1] for choice in legal)
            return f"no unit is active: choose the hex of {candidates}"
        if action < self.world.first_target:
            if state.phase != "move":
                return f"the phase is {state.phase}: {unit} cannot go anywhere, but aim at a target or wait"
            cell = self._destination(state, action)
            refused = f"{unit} cannot go to {state.hex_of(cell)}: "
            if not self.world.cells["is_open"][cell]:
                return f"{refused}it is a wall or off the edge"
            if state.games.occupants[state.i, cell] >= 0:
                return f"{refused}it is occupied"
            return f"{refused}no path that short is free of walls, units and enemies beside it"
        if state.phase == "move":
            return f"the phase is move: {unit} cannot aim at anything, but go somewhere or wait"
        target = self.target(state, action)
        if not self.world.units["exists"][target]:
            return f"target slot {action - self.world.first_target} is empty"
        if state.games.units["cell"][state.i, target] == OFF_BOARD:
            return f"{unit} cannot aim at {state.unit_id(target)}, which is no longer on the board"
        return f"{unit} cannot {state.phase} {state.unit_id(target)} from where they stand"

    def _deploy_reason(self, state: GameState, action: int) -> str | None:
        if state.phase != "deployment":
            return f"the phase is {state.phase}: deployment is over"
        (u, cell), (unit_slot, hex_slot) = self._placement(state, action), self.slots_of(action)
        player = state.deployment_state.current_deployer
        if not self.world.units["exists"][u]:
            return f"unit slot {unit_slot} of player {player} is empty"
        if cell == OFF_BOARD:
            return f"hex slot {hex_slot} of player {player} is empty"
        return deployment.why_not_deploy(state, state.unit_id(u), *state.hex_of(cell))

    def _placement(self, state: GameState, action: int) -> tuple[int, int]:
        unit_slot, hex_slot = self.slots_of(action)
        seat = int(state.game["current_deployer"])
        return seat * self.unit_slots + unit_slot, int(self.world.hexes[seat, hex_slot])

    def _destination(self, state: GameState, action: int) -> int:
        # the rotation is its own inverse, so the same table converts both ways
        return int(self.world.seen["turned"][state.game["to_move"], action - self.world.first_move])


def board_text(state: GameState) -> str:
    """Return the board with unit ids, and a status line. Odd columns are half a row lower."""
    board = state.scenario.board
    signs = {(col, row): "." for col in range(board.cols) for row in range(board.rows)}
    for center in board.objectives:
        signs |= dict.fromkeys(board.objective_hexes(center), "o")
    signs |= dict.fromkeys(board.cover, "*") | dict.fromkeys(board.walls, "##") | dict.fromkeys(board.forbidden, " ")
    signs |= {(unit.col, unit.row): unit.id[:2] for unit in state.units.values() if unit.col >= 0}
    lines = ["    " + "".join(f"{col:<3}" for col in range(board.cols)).rstrip()]
    for row in range(board.rows):
        lines.append(f"{row:>2}  " + "".join(f"{signs[col, row]:<3}" for col in range(board.cols)).rstrip())
    return "\n".join([*lines, _status(state)])


def _status(state: GameState) -> str:
    if state.phase == "deployment":
        left = state.deployment_state.deployable_units_by_player
        waiting = "; ".join(f"player {player}: {' '.join(units) or 'none'}" for player, units in left.items())
        return f"deployment, player {state.deployment_state.current_deployer} to place; left: {waiting}"
    points = state.victory_points
    wounded = " ".join(f"{unit.id}:{unit.hp}" for unit in state.units.values() if 0 < unit.hp < unit.profile.hp)
    held = " ".join(f"({col},{row}):{owner}" for (col, row), owner in state.objectives.items() if owner)
    return (
        f"round {state.round}, player {state.current_player}, {state.phase}, active {state.active_unit_id or 'none'}; "
        f"points {points[1]}-{points[2]}; held {held or 'none'}; wounded {wounded or 'none'}"
    )
