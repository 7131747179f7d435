"""The game state: arrays with all values that the rules use, for N games.

`GameState` gives access to one game under the names of the deployment contract, without copies. Only rejected actions
are counted outside the arrays, because they must not change the game.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....core.kernels import by_reference
from .scenario import Hex, Profile, Scenario
from .world import PHASES, World

OFF_BOARD = -1  # the cell of a unit that is not placed yet, or dead
NOBODY = -1
UNDECIDED = 2  # outcomes are +1, 0 or -1 if player 1 has won, drawn or lost
CHARGE_STEPS = 5  # index of the first set in `Games.sets` that belongs to a step of a charge
LONGEST_TRAIL = 8  # the most phases that one action can enter

# Records instead of an array per field: kernels with few array arguments compile and run faster.
GAME = np.dtype(
    [
        ("deployment_steps", np.int32),
        ("passes", np.int32),
        ("random", np.uint64),  # state of the dice; not the first field, or Numba would treat RNG as a prefix
        ("active", np.int32),  # the unit to act in battle, or NOBODY
        ("phase", np.int8),
        ("round", np.int8),  # 1..5 in battle, 0 before
        ("first", np.int8),  # the seat with the first turn of every round
        ("turn", np.int8),  # the seat whose turn it is
        ("to_move", np.int8),  # the seat to act; in the fight phase it may differ from `turn`
        ("current_deployer", np.int8),  # a seat
        ("next_fighter", np.int8),  # the seat that selects the next unit to fight
        ("outcome", np.int8),
        ("trail_length", np.int8),
        ("deployment_complete", np.bool_),
        ("deadlocked", np.bool_),
    ],
    align=True,
)


UNIT_STATE = np.dtype(
    [
        ("cell", np.int32),  # its current cell, or OFF_BOARD
        ("hp", np.int32),
        ("start", np.int32),  # where it was placed
        ("order", np.int32),  # how many units of its player were placed before it
        ("dealt", np.int32),  # damage dealt
        ("deployed", np.bool_),
        ("deployable", np.bool_),  # still to be placed
        ("acted", np.bool_),  # in this phase
        ("fled", np.bool_),  # moved away from an adjacent enemy in this turn
        ("charged", np.bool_),  # in this turn
    ],
    align=True,
)
SIDE = np.dtype(
    [
        ("victory_points", np.int32),
        ("locked_units", np.int32),  # units placed before the other side's latest one; they cannot be taken back
        ("confirmed", np.bool_),
    ],
    align=True,
)
RIVAL = np.dtype(
    [
        ("cell", np.uint32),  # unsigned, as an index that cannot be negative is faster
        ("head_start", np.int32),  # its distance plus this is the index of its charge in `World.roll_chance`
        ("range", np.int32),  # of its ranged weapon
        ("shot", np.float64),  # expected points taken from it by an attack of the active unit
        ("strike", np.float64),
        ("shot_back", np.float64),  # and by it from the active unit
        ("shot_into_cover", np.float64),  # the same if the active unit is in cover
        ("strike_back", np.float64),
    ],
    align=True,
)


@by_reference
class Games(NamedTuple):
    games: np.ndarray  # (N,) GAME
    units: np.ndarray  # (N, 2S) UNIT_STATE
    occupants: np.ndarray  # (N, C) int16: the unit on each cell, or NOBODY
    sides: np.ndarray  # (N, 2) SIDE
    control: np.ndarray  # (N, O) int8: the seat that holds each objective, or NOBODY
    trail: np.ndarray  # (N, LONGEST_TRAIL) int8: the phases entered by the latest action, in order
    mask: np.ndarray  # (N, A) bool: the legal actions
    sets: np.ndarray  # (N, K, B) uint32: scratch space of reach.py
    rivals: np.ndarray  # (N, S) RIVAL: scratch space of bots/policy.py


SCRATCH = ("sets", "rivals")  # members whose values mean nothing between two actions


def new_games(count: int, world: World, num_actions: int) -> Games:
    """Allocate `count` games; start each with `rules.start`."""
    return Games(
        games=np.zeros(count, GAME),
        units=np.zeros((count, world.units.size), UNIT_STATE),
        occupants=np.zeros((count, world.cells.size), np.int16),
        sides=np.zeros((count, 2), SIDE),
        control=np.zeros((count, len(world.to_objective)), np.int8),
        trail=np.zeros((count, LONGEST_TRAIL), np.int8),
        mask=np.zeros((count, num_actions), np.bool_),
        sets=np.zeros((count, CHARGE_STEPS + 1 + world.charge_reach, world.open.size), np.uint32),
        rivals=np.zeros((count, world.slots), RIVAL),
    )


@dataclass(frozen=True)
class Unit:
    """A snapshot of a unit, for people and tests."""

    id: str
    player: int  # 1 or 2
    profile: Profile
    col: int  # -1 while it is not on the board
    row: int
    hp: int
    acted: bool
    fled: bool
    charged: bool


class GameState:
    """A view of one game of the arrays."""

    def __init__(self, scenario: Scenario, world: World, games: Games, i: int) -> None:
        self.scenario, self.world, self.games, self.i = scenario, world, games, i
        self.slots = world.slots  # unit slots per player
        self.invalid_attempts = 0  # rejected actions of the deployment phase; they do not change the arrays
        self.deployment_state = DeploymentState(self)

    @property
    def game(self) -> Any:
        return self.games.games[self.i]

    @property
    def phase(self) -> str:
        return PHASES[self.game["phase"]]

    @property
    def phases_entered(self) -> list[str]:
        """Return the phases that the latest action led through, the current one last."""
        return [PHASES[phase] for phase in self.games.trail[self.i, : self.game["trail_length"]]]

    @property
    def round(self) -> int:
        return int(self.game["round"])

    @property
    def current_player(self) -> int:
        """Return the player whose turn it is: 1 or 2."""
        return int(self.game["turn"]) + 1

    @property
    def active_unit_id(self) -> str | None:
        active = int(self.game["active"])
        return None if active == NOBODY else self.unit_id(active)

    @property
    def victory_points(self) -> dict[int, int]:
        return {player: int(self.games.sides["victory_points"][self.i, player - 1]) for player in (1, 2)}

    @property
    def objectives(self) -> dict[Hex, int | None]:
        """Return the player that holds each objective, by its center."""
        holders = (None if seat == NOBODY else int(seat) + 1 for seat in self.games.control[self.i])
        return dict(zip(self.scenario.board.objectives, holders, strict=True))

    @property
    def units(self) -> dict[str, Unit]:
        found = {}
        for u in self.numbers:
            spec, unit = self.scenario.rosters[u // self.slots][u % self.slots], self.games.units[self.i, u]
            flags = (bool(unit[name]) for name in ("acted", "fled", "charged"))
            where = self.hex_of(unit["cell"])
            found[spec.id] = Unit(spec.id, u // self.slots + 1, spec.profile, *where, int(unit["hp"]), *flags)
        return found

    @property
    def numbers(self) -> list[int]:
        """Return the indices of all units, ordered by player and id."""
        return [int(u) for u in np.flatnonzero(self.world.units["exists"])]

    def unit_id(self, u: int) -> str:
        return self.scenario.rosters[u // self.slots][u % self.slots].id

    def number(self, unit_id: str) -> int | None:
        """Return the index of a unit, or None if there is no such unit."""
        return next((u for u in self.numbers if self.unit_id(u) == unit_id), None)

    def hex_of(self, cell: int) -> Hex:
        if cell == OFF_BOARD:
            return (-1, -1)
        row, col = divmod(int(cell), self.scenario.board.cols)
        return col, row

    def cell_of(self, one: Hex) -> int:
        return one[1] * self.scenario.board.cols + one[0]


class DeploymentState:
    """The deployment phase of a game under the names of the contract."""

    def __init__(self, state: GameState) -> None:
        self._state = state

    @property
    def current_deployer(self) -> int:
        return int(self._state.game["current_deployer"]) + 1

    @property
    def deployable_units_by_player(self) -> dict[int, list[str]]:
        return {player: self._ids("deployable", player) for player in (1, 2)}

    @property
    def deployed_units(self) -> set[str]:
        return {*self._ids("deployed", 1), *self._ids("deployed", 2)}

    @property
    def deployment_pools_by_player(self) -> dict[int, tuple[Hex, ...]]:
        return dict(enumerate(self._state.scenario.pools, 1))

    @property
    def deployment_complete(self) -> bool:
        return bool(self._state.game["deployment_complete"])

    @property
    def active_unit_id(self) -> str | None:
        """Return the active unit; None in this phase, in which an action names the unit that it places."""
        return self._state.active_unit_id

    @property
    def deployment_order_mode(self) -> str:
        return "alternated_p1_start" if self._state.world.alternated else "player_by_player"

    @property
    def unconfirmed_player(self) -> int | None:
        """Return the deployer if it has placed all its units and has to confirm."""
        placing = self._state.phase == "deployment" and not self._state.game["deadlocked"]
        return self.current_deployer if placing and not self._ids("deployable", self.current_deployer) else None

    @property
    def confirmed_players(self) -> list[int]:
        return [seat + 1 for seat in (0, 1) if self._state.games.sides["confirmed"][self._state.i, seat]]

    def _ids(self, flag: str, player: int) -> list[str]:
        state = self._state
        flags = state.games.units[flag][state.i]
        return [state.unit_id(u) for u in state.numbers if u // state.slots == player - 1 and flags[u]]


def check_invariants(state: GameState) -> None:
    """Raise `AssertionError` listing all violated invariants between two actions, for tests and `debug: true`."""
    broken: list[str] = []
    units, deployment, world = state.games.units[state.i], state.deployment_state, state.world
    deployed = deployment.deployed_units
    # The five invariants of the deployment contract, in its order.
    for u in state.numbers:
        unit, alive = state.unit_id(u), units["hp"][u] > 0
        stands, where = units["cell"][u] != OFF_BOARD, state.hex_of(units["cell"][u])
        if alive and stands != (unit in deployed):
            broken.append(f"{unit} {'stands' if stands else 'does not stand'} on the board, against deployed_units")
        if unit not in deployed and where != (-1, -1):
            broken.append(f"{unit} is not deployed but has the position {where}")
    for player, left in deployment.deployable_units_by_player.items():
        if both := deployed & set(left):
            broken.append(f"player {player}: {sorted(both)} are deployed and deployable at once")
    complete = len(deployed) == len(state.numbers) and deployment.unconfirmed_player is None
    if deployment.deployment_complete != complete:
        broken.append(f"deployment_complete is {deployment.deployment_complete} with {len(deployed)} units deployed")
    if deployment.deployment_complete and state.phase == "deployment":
        broken.append("deployment is complete but the phase still deployment")
    # What the kernels rely on.
    standing = {int(cell): u for u, cell in enumerate(units["cell"]) if cell != OFF_BOARD}
    occupied = {cell: int(u) for cell, u in enumerate(state.games.occupants[state.i]) if u != NOBODY}
    if standing != occupied:
        broken.append(f"units stand on {standing}, but occupied are {occupied}")
    if len(standing) != (units["cell"] != OFF_BOARD).sum():
        broken.append("two units stand on one hex")
    broken += [f"a unit stands on closed {state.hex_of(cell)}" for cell in standing if not world.cells["is_open"][cell]]
    for u in state.numbers:
        if units["hp"][u] <= 0 and units["cell"][u] != OFF_BOARD:
            broken.append(f"{state.unit_id(u)} has no hp left but stands on the board")
        if not units["deployed"][u] and not units["deployable"][u]:
            broken.append(f"{state.unit_id(u)} is neither deployed nor deployable")
    is_over = state.game["deadlocked"] or state.game["outcome"] in (-1, 0, 1)
    can_act = state.games.mask[state.i].any()
    if deployment.unconfirmed_player is not None:
        broken += ["an action is legal before a confirmation"] * bool(can_act)
    elif can_act == is_over:
        broken.append("a finished game has legal actions" if is_over else "a game that goes on has no legal action")
    if broken:
        raise AssertionError("the game state is inconsistent: " + "; ".join(broken))
