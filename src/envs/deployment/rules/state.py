"""The game state: arrays with all values that the rules use, for N games.

`GameState` gives access to one game under the names of the deployment contract, without copies. Only rejected actions
are counted outside the arrays, because they must not change the game.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....core.kernel_references import by_reference
from .scenario import Hex, Profile, Scenario
from .world import PHASES, World

OFF_BOARD = -1  # the cell of a unit that is not placed yet, or dead
NOBODY = -1
UNDECIDED = 2  # outcomes are +1, 0 or -1 if player 1 has won, drawn or lost
CHARGE_STEPS = 5  # the sets in `Games.sets` before those of the steps of a charge
LONGEST_TRAIL = 8  # the most phases that one action can enter

# Records instead of an array per field: kernels with few array arguments compile and run faster.
GAME = np.dtype(
    [
        ("deployment_steps", np.int32),
        ("passes", np.int32),
        (
            "random",
            np.uint64,
        ),  # generator state of the dice; not the first field, or Numba would treat LUCK as a prefix of this type
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
    rivals: np.ndarray  # (N, S) RIVAL: scratch space of bot_policy.py


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
        rivals=np.zeros((count, world.units.size // 2), RIVAL),
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

    def __init__(self, scenario: Scenario, world: World, games: Games, i: int, order_mode: str) -> None:
        self.scenario, self.world, self.games, self.i = scenario, world, games, i
        self.deployment_order_mode = order_mode
        self.invalid_attempts = 0  # rejected actions of the deployment phase; they do not change the arrays
        self.deployment_state = DeploymentState(self)

    @property
    def slots(self) -> int:
        """Return the number of unit slots per player."""
        return self.world.units.size // 2

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
        """Return the player that holds each objective, by its centre."""
        held = self.games.control[self.i]
        return {
            centre: None if held[k] == NOBODY else int(held[k]) + 1
            for k, centre in enumerate(self.scenario.board.objectives)
        }

    @property
    def units(self) -> dict[str, Unit]:
        return {self.unit_id(u): self._unit(u) for u in self.numbers}

    @property
    def numbers(self) -> list[int]:
        """Return the indices of all units, ordered by player and id."""
        return [int(u) for u in np.flatnonzero(self.world.units["exists"])]

    def unit_id(self, u: int) -> str:
        seat, slot = divmod(u, self.slots)
        return self.scenario.rosters[seat][slot].id

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

    def _unit(self, u: int) -> Unit:
        seat, slot = divmod(u, self.slots)
        spec, unit = self.scenario.rosters[seat][slot], self.games.units[self.i, u]
        col, row = self.hex_of(unit["cell"])
        flags = (bool(unit[name]) for name in ("acted", "fled", "charged"))
        return Unit(spec.id, seat + 1, spec.profile, col, row, int(unit["hp"]), *flags)


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
        return {one for player in (1, 2) for one in self._ids("deployed", player)}

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
        return self._state.deployment_order_mode

    @property
    def unconfirmed_player(self) -> int | None:
        """Return the deployer if it has placed all its units and has to confirm."""
        seat = int(self._state.game["current_deployer"])
        placing = self._state.phase == "deployment" and not self._state.game["deadlocked"]
        done = not self.deployable_units_by_player[seat + 1]
        return seat + 1 if placing and done else None

    @property
    def confirmed_players(self) -> list[int]:
        return [seat + 1 for seat in (0, 1) if self._state.games.sides["confirmed"][self._state.i, seat]]

    def _ids(self, flag: str, player: int) -> list[str]:
        state, slots = self._state, self._state.slots
        set_for = state.games.units[flag][state.i]
        return [state.unit_id(u) for u in range((player - 1) * slots, player * slots) if set_for[u]]
