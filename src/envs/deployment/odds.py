"""Exact odds of an attack before its dice are rolled."""

from typing import Any, NamedTuple

from .rules import reach
from .rules.battle import is_target
from .rules.dice import chance, charge_chance, save_needed, wound_needed
from .rules.scenario import Hex
from .rules.state import GameState
from .rules.world import MELEE, RANGED


class Odds(NamedTuple):
    """The chances of each attack, and of all attacks of a weapon together."""

    hit: float
    wound: float  # of a hit
    unsaved: float  # of a wound
    loss: tuple[float, ...]  # probability that the target loses 0, 1, ... hit points, up to all it has

    @property
    def kill(self) -> float:
        return self.loss[-1]

    @property
    def mean(self) -> float:
        """The mean loss of hit points."""
        return sum(lost * probability for lost, probability in enumerate(self.loss))


def attack_odds(weapon: Any, target: Any, hp: int, covered: bool) -> Odds:
    """Return the odds of all attacks of a weapon on a target with `hp` left (records of `World`)."""
    hit = chance(int(weapon["hit"]))
    wound = chance(wound_needed(weapon["strength"], target["toughness"]))
    unsaved = 1 - chance(save_needed(target["save"], target["invulnerable"], weapon["ap"], covered))
    loss = [1.0] + [0.0] * hp
    success, damage = hit * wound * unsaved, int(weapon["damage"])
    for _ in range(int(weapon["attacks"])):
        after = [0.0] * len(loss)
        for lost, probability in enumerate(loss):
            after[lost] += probability * (1 - success)
            after[min(lost + damage, hp)] += probability * success  # damage beyond the last hit point is lost
        loss = after
    return Odds(hit, wound, unsaved, tuple(loss))


def targets(state: GameState) -> dict[str, Odds | float]:
    """Return the odds of the active unit against each of its targets; for a charge the chance that it arrives."""
    u = int(state.game["active"])
    if u < 0 or state.phase not in ("shoot", "charge", "fight"):
        return {}
    if state.phase == "charge":
        reach.find_charges(state.world, state.games, state.i, u, False)
    world, found = state.world, dict[str, Odds | float]()
    for target in state.numbers:
        if target // state.slots == u // state.slots or not is_target(world, state.games, state.i, u, target):
            continue
        unit = state.games.units[state.i, target]
        if state.phase == "charge":
            path = reach.charge_path(world, state.games, state.i, u, target)
            found[state.unit_id(target)] = float(charge_chance(path[1]))
        else:
            covered = state.phase == "shoot" and bool(world.cells["is_cover"][unit["cell"]])
            weapon = world.weapon[MELEE if state.phase == "fight" else RANGED, u]
            found[state.unit_id(target)] = attack_odds(weapon, world.units[target], int(unit["hp"]), covered)
    return found


class Range(NamedTuple):
    """The hexes that a unit can shoot at."""

    within: list[Hex]  # in range
    seen: list[Hex]  # of these, in sight


def range_of(state: GameState, unit: str) -> Range:
    """Return the range of a unit, which is empty if it is off the board or cannot shoot."""
    u, world = state.number(unit), state.world
    cell = -1 if u is None else int(state.games.units["cell"][state.i, u])
    if cell < 0 or world.weapon["attacks"][RANGED, u] == 0:
        return Range([], [])
    near = world.distance[cell] <= world.weapon["reach"][RANGED, u]
    board = state.scenario.board
    within = [state.hex_of(int(other)) for other in near.nonzero()[0]]
    seen = [state.hex_of(int(other)) for other in (near & world.sight[cell]).nonzero()[0]]
    closed = {*board.forbidden, *board.walls}
    return Range([one for one in within if one not in board.forbidden], [one for one in seen if one not in closed])
