"""The game state: views of the arrays in world.py under the names of the deployment contract, without copies.

Only rejected actions are counted outside the arrays, because they must not change the game.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import NOBODY, OFF_BOARD
from .scenario import Hex, Profile, Scenario
from .world import PHASES, Games, World


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
        return (-1, -1) if cell == OFF_BOARD else self.scenario.board.hex_of(int(cell))

    def cell_of(self, one: Hex) -> int:
        return self.scenario.board.cell_of(one)


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
        return "alternated_p1_start" if self._state.world.settings.alternated else "player_by_player"

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
        if not alive and stands:
            broken.append(f"{unit} has no hp left but stands on the board")
        if not units["deployed"][u] and not units["deployable"][u]:
            broken.append(f"{unit} is neither deployed nor deployable")
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
    is_over = state.game["deadlocked"] or state.game["outcome"] in (-1, 0, 1)
    can_act = state.games.mask[state.i].any()
    if deployment.unconfirmed_player is not None:
        broken += ["an action is legal before a confirmation"] * bool(can_act)
    elif can_act == is_over:
        broken.append("a finished game has legal actions" if is_over else "a game that goes on has no legal action")
    if broken:
        raise AssertionError("the game state is inconsistent: " + "; ".join(broken))
