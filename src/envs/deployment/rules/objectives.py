"""Control of objectives, victory points, and the points of surviving units."""

from .dice import kernel
from .state import OFF_BOARD, Games
from .world import World


@kernel
def take_objectives(world: World, games: Games, i: int) -> None:
    """Give each objective to the side with the larger sum of objective control; it stays unchanged on a tie."""
    slots = world.units.size // 2
    for k in range(games.control.shape[1]):
        balance = 0
        for u in range(world.units.size):
            cell = games.units[i, u].cell
            if cell != OFF_BOARD and world.cells[cell].objective == k:
                balance += world.units[u].control if u < slots else -world.units[u].control
        if balance != 0:
            games.control[i, k] = 0 if balance > 0 else 1


@kernel
def score(world: World, games: Games, i: int, seat: int) -> None:
    held, theirs = 0, 0
    for k in range(games.control.shape[1]):
        held += games.control[i, k] == seat
        theirs += games.control[i, k] == 1 - seat
    games.sides[i, seat].victory_points += world.victory_points * (int(held >= 1) + int(held >= 2) + int(held > theirs))


@kernel
def max_victory_points(world: World) -> int:
    """Return the most points of a player, who scores from the second round on."""
    return 3 * world.victory_points * (world.rounds - 1)


@kernel
def surviving_points(world: World, games: Games, i: int, seat: int) -> int:
    slots, points = world.units.size // 2, 0
    for u in range(seat * slots, (seat + 1) * slots):
        if games.units[i, u].hp > 0:
            points += world.units[u].points
    return points
