"""Rewards; their values are set in the `reward` config group."""

from dataclasses import dataclass
from typing import NamedTuple

from ...core.kernels import by_reference
from ..two_player_env import OutcomeReward, outcome_values
from .rules.battle import max_victory_points, surviving_points
from .rules.dice import kernel
from .rules.state import OFF_BOARD, Games
from .rules.world import World

COMPONENTS = ("outcome", "performance", "deployment", "invalid_action")  # a step's reward is their sum


@by_reference
class Terms(NamedTuple):
    """The values as floats, for the compiled step."""

    win: float
    draw: float
    loss: float
    victory_points: float
    survival: float
    objective_placement: float


@dataclass(frozen=True)
class Reward:
    """Outcome at the end; performance and placement are differences of potentials, so they cannot be collected twice.

    A game truncated by a deadlock has no outcome reward.
    """

    win: float
    draw: float
    loss: float
    victory_points: float  # for a lead of all possible victory points
    survival: float  # for a lead of a whole army in surviving points
    objective_placement: float  # for an army placed on objectives; 0 leaves deployment unshaped


def terms(reward: Reward | OutcomeReward) -> Terms:
    """Return the values of a reward as floats; those of an `OutcomeReward` have no shaping."""
    if isinstance(reward, OutcomeReward):
        return Terms(*outcome_values(reward), victory_points=0.0, survival=0.0, objective_placement=0.0)
    return Terms(*(float(getattr(reward, name)) for name in Terms._fields))


@kernel
def performance(world: World, games: Games, i: int, seat: int, terms: Terms) -> float:
    """Return the potential of the battle for a seat."""
    own, other = games.sides[i, seat].victory_points, games.sides[i, 1 - seat].victory_points
    alive = surviving_points(world, games, i, seat) / max(world.points[seat], 1)
    others_alive = surviving_points(world, games, i, 1 - seat) / max(world.points[1 - seat], 1)
    return terms.victory_points * (own - other) / max_victory_points(world) + terms.survival * (alive - others_alive)


@kernel
def placement(world: World, games: Games, i: int, seat: int, terms: Terms) -> float:
    """Return the potential of a seat's placements: proximity to objectives, from 0 to `objective_placement`."""
    if terms.objective_placement == 0:
        return 0.0
    total, units = 0.0, 0
    for u in range(seat * world.slots, (seat + 1) * world.slots):
        units += world.units[u].exists
        cell = games.units[i, u].start
        if cell != OFF_BOARD:
            nearest = world.columns
            for k in range(world.to_objective.shape[0]):
                nearest = min(nearest, world.to_objective[k, cell])
            total += 1.0 - nearest / world.columns
    return terms.objective_placement * total / max(units, 1)
