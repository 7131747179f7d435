"""The discrete action space: conversion between action indices and their meaning; rules.py has the table of actions."""

import numpy as np

from . import rules
from .rules import deployment
from .rules.scenario import Hex
from .rules.state import OFF_BOARD, GameState
from .rules.world import World

ATTACK_VERBS = {"shoot": "shoots", "charge": "charges", "fight": "fights"}


class Actions:
    """The discrete action space of a scenario."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.unit_slots, self.hex_slots = world.units.size // 2, world.hexes.shape[1]
        self.pass_action = int(rules.pass_action(world))
        self.first_cell = self.pass_action + 1
        self.first_target = self.first_cell + world.cells.size
        self.wait_action = int(rules.wait_action(world))
        self.count = self.wait_action + 1

    @property
    def deployment_action_dim(self) -> int:
        """Return the number of deployment actions, including the pass."""
        return self.unit_slots * self.hex_slots + 1

    def slots_of(self, action: int) -> tuple[int, int]:
        """Return the (unit_slot, hex_slot) of a placement action."""
        return divmod(action, self.hex_slots)

    def deploy(self, u: int, cell: int) -> int:
        """Return the action that places unit u on a cell of its player's zone."""
        seat, unit_slot = divmod(u, self.unit_slots)
        return unit_slot * self.hex_slots + int(self.world.seen["slot"][seat, cell])

    def move_to(self, seat: int, cell: int) -> int:
        """Return the action that moves to a cell; cells are numbered from the seat's point of view."""
        return self.first_cell + int(self.world.seen["turned"][seat, cell])

    def attack(self, u: int) -> int:
        """Return the action that attacks unit u."""
        return self.first_target + u % self.unit_slots

    def target_hex(self, state: GameState, action: int) -> Hex | None:
        """Return the target hex of a legal action: of a placement, a move or an attack; None for pass and wait."""
        if action in (self.pass_action, self.wait_action):
            return None
        if action < self.pass_action:
            return state.hex_of(self._placement(state, action)[1])
        if action < self.first_target:
            return state.hex_of(self._destination(state, action))
        return state.hex_of(state.games.units["cell"][state.i, self.target(state, action)])

    def target(self, state: GameState, action: int) -> int:
        """Return the unit that an attack targets."""
        return (1 - int(state.game["to_move"])) * self.unit_slots + action - self.first_target

    def is_attack(self, action: int) -> bool:
        """Whether the action is an attack."""
        return self.first_target <= action < self.wait_action

    def describe(self, state: GameState, action: int) -> str:
        """Describe an action for a log."""
        if action == self.pass_action:
            return "pass_deployment"
        if action < self.pass_action:
            u, cell = self._placement(state, action)
            return f"deploy_unit {state.unit_id(u)} {_hex_text(state, cell)}"
        unit = state.active_unit_id
        if unit is None:
            return f"player {int(state.game['to_move']) + 1} chooses {self._chosen(state, action)}"
        if action < self.first_target:
            return f"{unit} goes to {_hex_text(state, self._destination(state, action))}"
        if action < self.wait_action:
            return f"{unit} {ATTACK_VERBS.get(state.phase, 'aims at')} {state.unit_id(self.target(state, action))}"
        return f"{unit} waits"

    def move_name(self, state: GameState, action: int) -> str:
        """Return a legal action as one word: `deploy:R1:10,13`, `unit:R1`, `go:12,9`, `shoot:K1`, `wait` or
        `pass`.
        """
        if action in (self.pass_action, self.wait_action):
            return "pass" if action == self.pass_action else "wait"
        if action < self.pass_action:
            u, cell = self._placement(state, action)
            return f"deploy:{state.unit_id(u)}:{_hex_word(state, cell)}"
        if state.active_unit_id is None:
            return f"unit:{self._chosen(state, action)}"
        if action < self.first_target:
            return f"go:{_hex_word(state, self._destination(state, action))}"
        return f"{state.phase}:{state.unit_id(self.target(state, action))}"

    def illegal_reason(self, state: GameState, action: int) -> str:
        """Return the reason why an action is illegal in a game in progress."""
        if not 0 <= action < self.count:
            return f"action {action} does not exist: they are 0..{self.count - 1}"
        if action == self.pass_action:
            reason = deployment.why_not_pass(state)
        elif action < self.pass_action:
            reason = self._deploy_reason(state, action)
        elif state.phase == "deployment":
            reason = "the phase is deployment: deploy a unit first"
        elif state.active_unit_id is None:
            reason = f"no unit is active: choose the hex of {self._candidates(state)}"
        elif action < self.first_target:
            reason = self._move_reason(state, action)
        else:
            reason = self._attack_reason(state, action)
        assert reason is not None, "the action mask and the validation disagree"
        return reason

    def _placement(self, state: GameState, action: int) -> tuple[int, int]:
        unit_slot, hex_slot = self.slots_of(action)
        seat = int(state.game["current_deployer"])
        return seat * self.unit_slots + unit_slot, int(self.world.hexes[seat, hex_slot])

    def _chosen(self, state: GameState, action: int) -> str:
        return state.unit_id(state.games.occupants[state.i, self._destination(state, action)])

    def _candidates(self, state: GameState) -> str:
        return " or ".join(self._chosen(state, int(action)) for action in np.flatnonzero(state.games.mask[state.i]))

    def _destination(self, state: GameState, action: int) -> int:
        # the rotation is its own inverse, so the same table converts both ways
        return int(self.world.seen["turned"][state.game["to_move"], action - self.first_cell])

    def _deploy_reason(self, state: GameState, action: int) -> str | None:
        if state.phase != "deployment":
            return f"the phase is {state.phase}: deployment is over"
        u, cell = self._placement(state, action)
        unit_slot, hex_slot = self.slots_of(action)
        if not self.world.units["exists"][u]:
            return f"unit slot {unit_slot} of player {state.deployment_state.current_deployer} is empty"
        if cell == OFF_BOARD:
            return f"hex slot {hex_slot} of player {state.deployment_state.current_deployer} is empty"
        return deployment.why_not_deploy(state, state.unit_id(u), *state.hex_of(cell))

    def _move_reason(self, state: GameState, action: int) -> str:
        unit, cell = state.active_unit_id, self._destination(state, action)
        if state.phase != "move":
            return f"the phase is {state.phase}: {unit} cannot go anywhere, but aim at a target or wait"
        if not self.world.cells["is_open"][cell]:
            return f"{unit} cannot go to {_hex_text(state, cell)}: it is a wall or off the edge"
        if state.games.occupants[state.i, cell] >= 0:
            return f"{unit} cannot go to {_hex_text(state, cell)}: it is occupied"
        where = _hex_text(state, cell)
        return f"{unit} cannot go to {where}: no path that short is free of walls, units and enemies beside it"

    def _attack_reason(self, state: GameState, action: int) -> str:
        target, unit = self.target(state, action), state.active_unit_id
        if state.phase == "move":
            return f"the phase is move: {unit} cannot aim at anything, but go somewhere or wait"
        if not self.world.units["exists"][target]:
            return f"target slot {action - self.first_target} is empty"
        if state.games.units["cell"][state.i, target] == OFF_BOARD:
            return f"{unit} cannot aim at {state.unit_id(target)}, which is no longer on the board"
        return f"{unit} cannot {state.phase} {state.unit_id(target)} from where they stand"


def _hex_text(state: GameState, cell: int) -> str:
    col, row = state.hex_of(cell)
    return f"({col}, {row})"


def _hex_word(state: GameState, cell: int) -> str:
    col, row = state.hex_of(cell)
    return f"{col},{row}"
