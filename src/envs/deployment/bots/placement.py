"""Scripted deployments: for each unit, the cells of its zone in order of preference.

Units are placed by id, each on a free cell of the lowest rank, drawn at random if there are several.
"""

from typing import Literal

import numpy as np

from ....core.errors import UserError
from ....core.ranges import checked
from ..rules.scenario import Scenario
from ..rules.world import World, zone_cells

DISTANCES = 256  # a number of distances that no board exceeds
UNRANKED = np.iinfo(np.int32).max  # a cell that is never chosen
Ties = Literal["first", "random"]  # which of equally good cells is chosen


class Placement:
    """The same order of a zone's cells for every unit."""

    ties: Ties = "first"

    def check(self, scenario: Scenario) -> None:
        """Raise `UserError` if the placement does not fit a scenario; most fit every one."""

    def order(self, world: World, seat: int, cells: np.ndarray) -> np.ndarray:
        """Return a sort key for each of the cells (M,), lowest first; equal ones are equally good."""
        raise NotImplementedError

    def ranks(self, world: World) -> np.ndarray:
        """Return the rank of every cell for every unit, (2S, C) int32; UNRANKED if it is never chosen."""
        ranks = np.full((2, world.slots, world.cells.size), UNRANKED, np.int32)
        for seat in (0, 1):
            cells = zone_cells(world, seat)
            order = self.order(world, seat, cells)
            if self.ties == "first":
                row, col = np.divmod(world.seen["turned"][seat, cells], world.columns)
                from_flank = np.where(col % 2 == 0, col, -col)
                order = np.lexsort((row, from_flank, order)).argsort()  # by the last of these, then the one before it
            ranks[seat][:, cells] = order
        return ranks.reshape(world.units.size, -1)


class Deterministic(Placement):
    """Hexes by column and row."""

    def order(self, world: World, seat: int, cells: np.ndarray) -> np.ndarray:
        return np.arange(cells.size)


class FrontLine(Placement):
    """As close to the enemy's zone as possible, then as close to an objective.

    Of equal hexes `first` takes the same one in every game, chosen from the player's point of view, so that both sides
    behave alike: odd columns from the right, then even ones from the left, which leaves the scenarios balanced.
    """

    sign = 1

    @checked
    def __init__(self, ties: Ties) -> None:
        self.ties = ties

    def order(self, world: World, seat: int, cells: np.ndarray) -> np.ndarray:
        to_enemy = world.distance[np.ix_(cells, zone_cells(world, 1 - seat))].min(axis=1).astype(int)
        return self.sign * to_enemy * DISTANCES + world.to_objective[:, cells].min(axis=0)


class BackLine(FrontLine):
    """As far from the enemy's zone as possible, then as close to an objective."""

    sign = -1


class Scripted(Placement):
    """Each unit on the position given by its scenario."""

    def check(self, scenario: Scenario) -> None:
        try:
            scenario.require_positions()
        except UserError as error:
            raise UserError(f"it places by script, and the scenario's script does not fit: {error}") from error

    def ranks(self, world: World) -> np.ndarray:
        ranks = np.full((world.units.size, world.cells.size), UNRANKED, np.int32)
        units = np.flatnonzero(world.units["exists"])
        ranks[units, world.units["position"][units]] = 0
        return ranks
