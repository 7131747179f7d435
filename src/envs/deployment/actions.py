"""Action numbers and what they mean. The drawing of the action space is in rules.py."""

from src.envs.deployment import deployment, rules
from src.envs.deployment.scenario import Hex
from src.envs.deployment.state import OFF_BOARD, GameState
from src.envs.deployment.world import World

ATTACK_VERBS = {"shoot": "shoots", "charge": "charges", "fight": "fights"}


class Actions:
    """The discrete action space of a world, from number to meaning and back."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.unit_slots, self.hex_slots = world.units.size // 2, world.hexes.shape[1]
        self.passing = int(rules.pass_action(world))
        self.first_cell = self.passing + 1
        self.first_target = self.first_cell + world.cells.size
        self.waiting = int(rules.wait_action(world))
        self.count = self.waiting + 1

    @property
    def deployment_action_dim(self) -> int:
        """The deployment branch, passing included."""
        return self.unit_slots * self.hex_slots + 1

    def slots_of(self, action: int) -> tuple[int, int]:
        """The (unit_slot, hex_slot) of a placement."""
        return divmod(action, self.hex_slots)

    def deploy(self, u: int, cell: int) -> int:
        """Placing unit u, on a cell of its player's zone."""
        seat, unit_slot = divmod(u, self.unit_slots)
        return unit_slot * self.hex_slots + int(self.world.seen["slot"][seat, cell])

    def go(self, seat: int, cell: int) -> int:
        """Going to a cell, as the player in that seat sees the board."""
        return self.first_cell + int(self.world.seen["turned"][seat, cell])

    def aim(self, u: int) -> int:
        return self.first_target + u % self.unit_slots

    def points_at(self, state: GameState, action: int) -> Hex | None:
        """The hex that a legal action is about: placed on, gone to, or the target's; None for passing and waiting."""
        if action in (self.passing, self.waiting):
            return None
        if action < self.passing:
            return state.hex_of(self._placement(state, action)[1])
        if action < self.first_target:
            return state.hex_of(self._destination(state, action))
        return state.hex_of(state.games.units["cell"][state.i, self.target(state, action)])

    def target(self, state: GameState, action: int) -> int:
        """The unit that an action aims at."""
        return (1 - int(state.game["to_move"])) * self.unit_slots + action - self.first_target

    def is_aimed(self, action: int) -> bool:
        return self.first_target <= action < self.waiting

    def name(self, state: GameState, action: int) -> str:
        """An action in words."""
        if action == self.passing:
            return "pass_deployment"
        if action < self.passing:
            u, cell = self._placement(state, action)
            return f"deploy_unit {state.unit_id(u)} {_on(state, cell)}"
        unit = state.active_unit_id
        if action < self.first_target:
            return f"{unit} goes to {_on(state, self._destination(state, action))}"
        if action < self.waiting:
            return f"{unit} {ATTACK_VERBS.get(state.phase, 'aims at')} {state.unit_id(self.target(state, action))}"
        return f"{unit} waits"

    def word(self, state: GameState, action: int) -> str:
        """A legal action as one word: `deploy:R1:10,13`, `go:12,9`, `shoot:K1` (or charge, fight), `wait`, `pass`."""
        if action in (self.passing, self.waiting):
            return "pass" if action == self.passing else "wait"
        if action < self.passing:
            u, cell = self._placement(state, action)
            return f"deploy:{state.unit_id(u)}:{_at(state, cell)}"
        if action < self.first_target:
            return f"go:{_at(state, self._destination(state, action))}"
        return f"{state.phase}:{state.unit_id(self.target(state, action))}"

    def why_not(self, state: GameState, action: int) -> str:
        """The reason for which an action of a game in progress is illegal."""
        if not 0 <= action < self.count:
            return f"action {action} does not exist: they are 0..{self.count - 1}"
        if action == self.passing:
            reason = deployment.why_not_pass(state)
        elif action < self.passing:
            reason = self._why_not_deploy(state, action)
        elif state.phase == "deployment":
            reason = "the phase is deployment: deploy a unit first"
        elif action < self.first_target:
            reason = self._why_not_go(state, action)
        else:
            reason = self._why_not_aim(state, action)
        assert reason is not None, "the mask and the validation disagree"
        return reason

    def _placement(self, state: GameState, action: int) -> tuple[int, int]:
        unit_slot, hex_slot = self.slots_of(action)
        seat = int(state.game["current_deployer"])
        return seat * self.unit_slots + unit_slot, int(self.world.hexes[seat, hex_slot])

    def _destination(self, state: GameState, action: int) -> int:
        # turning the board twice brings it back, so the same table leads either way
        return int(self.world.seen["turned"][state.game["to_move"], action - self.first_cell])

    def _why_not_deploy(self, state: GameState, action: int) -> str | None:
        if state.phase != "deployment":
            return f"the phase is {state.phase}: deployment is over"
        u, cell = self._placement(state, action)
        unit_slot, hex_slot = self.slots_of(action)
        if not self.world.units["exists"][u]:
            return f"unit slot {unit_slot} of player {state.deployment_state.current_deployer} is empty"
        if cell == OFF_BOARD:
            return f"hex slot {hex_slot} of player {state.deployment_state.current_deployer} is empty"
        return deployment.why_not_deploy(state, state.unit_id(u), *state.hex_of(cell))

    def _why_not_go(self, state: GameState, action: int) -> str:
        unit, cell = state.active_unit_id, self._destination(state, action)
        if state.phase != "move":
            return f"the phase is {state.phase}: {unit} cannot go anywhere, but aim at a target or wait"
        if not self.world.cells["is_open"][cell]:
            return f"{unit} cannot go to {_on(state, cell)}: it is a wall or off the edge"
        if state.games.cells["occupant"][state.i, cell] >= 0:
            return f"{unit} cannot go to {_on(state, cell)}: it is occupied"
        return (
            f"{unit} cannot go to {_on(state, cell)}: no path that short is free of walls, units and enemies beside it"
        )

    def _why_not_aim(self, state: GameState, action: int) -> str:
        target, unit = self.target(state, action), state.active_unit_id
        if state.phase == "move":
            return f"the phase is move: {unit} cannot aim at anything, but go somewhere or wait"
        if not self.world.units["exists"][target]:
            return f"target slot {action - self.first_target} is empty"
        if state.games.units["cell"][state.i, target] == OFF_BOARD:
            return f"{unit} cannot aim at {state.unit_id(target)}, which is no longer on the board"
        return f"{unit} cannot {state.phase} {state.unit_id(target)} from where they stand"


def _on(state: GameState, cell: int) -> str:
    col, row = state.hex_of(cell)
    return f"({col}, {row})"


def _at(state: GameState, cell: int) -> str:
    col, row = state.hex_of(cell)
    return f"{col},{row}"
