"""Rewards; their values are set in the `reward` config group."""

from typing import NamedTuple

from ...core.kernels import by_reference
from ..two_player_env import OutcomeReward, outcome_values
from .rules.battle import max_victory_points, surviving_points
from .rules.kernels import OFF_BOARD, kernel
from .rules.world import Games, World

COMPONENTS = ("outcome", "performance", "deployment", "invalid_action")  # a step's reward is their sum


@by_reference
class Reward(NamedTuple):
    """Outcome and performance at the end; before it, changes of the performance are given as gamma * after - before.

    So over a game their discounted sum is the performance at the end alone, and giving it early does not change which
    policy is best. A placement is rewarded once. A game truncated by a deadlock has no outcome reward.
    """

    win: float
    draw: float
    loss: float
    victory_points: float  # for a lead of all possible victory points
    survival: float  # for a lead of a whole army in surviving points
    gamma: float  # discount factor of the learner
    objective_placement: float  # for an army placed on objectives; 0 leaves deployment unshaped


def as_floats(reward: Reward | OutcomeReward) -> Reward:
    """Return a reward for the compiled step; an `OutcomeReward` has no shaping."""
    if isinstance(reward, OutcomeReward):
        return Reward(*outcome_values(reward), victory_points=0.0, survival=0.0, gamma=1.0, objective_placement=0.0)
    return Reward(*map(float, reward))


@kernel
def performance(world: World, games: Games, i: int, seat: int, reward: Reward) -> float:
    """Return the potential of the battle for a seat."""
    own, other = games.sides[i, seat].victory_points, games.sides[i, 1 - seat].victory_points
    alive = surviving_points(world, games, i, seat) / max(world.points[seat], 1)
    others_alive = surviving_points(world, games, i, 1 - seat) / max(world.points[1 - seat], 1)
    return reward.victory_points * (own - other) / max_victory_points(world) + reward.survival * (alive - others_alive)


@kernel
def placement(world: World, games: Games, i: int, seat: int, reward: Reward) -> float:
    """Return the potential of a seat's placements: proximity to objectives, from 0 to `objective_placement`."""
    if reward.objective_placement == 0:
        return 0.0
    total = 0.0
    for u in range(seat * world.slots, (seat + 1) * world.slots):
        cell = games.units[i, u].start
        if cell != OFF_BOARD:
            nearest = world.columns
            for k in range(world.to_objective.shape[0]):
                nearest = min(nearest, world.to_objective[k, cell])
            total += 1.0 - nearest / world.columns
    return reward.objective_placement * total / world.roster_sizes[seat]
