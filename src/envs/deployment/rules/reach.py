"""Where a unit can move and charge: a breadth-first search over sets of hexes, a few operations per row and step.

A set of hexes is an array of words with a bit for each hex. Each row of the board has `World.row_words` of them, the
lowest bit is the first column, and the last bit is never used, so that neighbors do not wrap around. Empty rows above
and below the board take the place of its edges. `Games.sets` has room for the sets of one search.
"""

import numpy as np

from .kernels import NOBODY, OFF_BOARD, inlined, kernel
from .world import CHARGE_STEPS, Games, World

# Indices of the sets of a search: open hexes without a unit; free hexes not beside an enemy; where a charge may end;
# scratch space; the hexes reached so far, from the unit's own. CHARGE_STEPS + n: what a charge may enter in n steps.
FREE, CLEAR, TARGETS, SIDES, REACHED = range(CHARGE_STEPS)
FAR = 255  # more steps than any path
NO_HEX = -1
_EVEN, _ODD = np.uint32(0x55555555), np.uint32(0xAAAAAAAA)  # columns
_1, _31 = np.uint32(1), np.uint32(31)


@kernel
def find_moves(world: World, games: Games, i: int, u: int) -> None:
    """Find the hexes that unit u can move to; walls, units and hexes beside enemies block it."""
    _find_obstacles(world, games, i, u)
    _flood(world, games.sets[i], world.units[u].move, False, False)


@kernel
def find_charges(world: World, games: Games, i: int, u: int, first_only: bool) -> bool:
    """Find where unit u can charge to, for `charge_path`; return whether it can charge at all.

    Only the last hex of a charge may be beside enemies. `first_only` stops at the first target, for the answer alone.
    """
    _find_obstacles(world, games, i, u)
    return _flood(world, games.sets[i], world.settings.charge_reach, True, first_only)


@kernel
def _flood(world: World, sets: np.ndarray, limit: int, keeps_steps: bool, first_only: bool) -> bool:
    """Enlarge REACHED by up to `limit` steps; return whether it is beside a target."""
    width, found = world.row_words, np.uint32(0)
    end = sets.shape[1] - width  # views of the board alone, as indices from 0 are faster
    row, clear, targets = sets[REACHED, width:end], sets[CLEAR, width:end], sets[TARGETS, width:end]
    for step in range(1, limit + 1):
        entered = sets[CHARGE_STEPS + (step if keeps_steps else 0), width:end]
        _spread(sets[REACHED], sets[SIDES], entered, width)
        for k in range(row.size):
            found |= entered[k] & targets[k]
            row[k] |= entered[k] & clear[k]
        if first_only and found != 0:
            break
    return found != 0


@kernel
def _find_obstacles(world: World, games: Games, i: int, u: int) -> None:
    """Write the sets of a search before its first step."""
    sets, here, width = games.sets[i], games.units[i, u].cell, world.row_words
    free, clear, targets, reached = sets[FREE], sets[CLEAR], sets[TARGETS], sets[REACHED]
    for k in range(free.size):
        free[k] = world.open[k]
        targets[k] = 0
        reached[k] = 0
    for other in range(world.units.size):
        cell = games.units[i, other].cell
        if cell != OFF_BOARD:
            free[world.cells[cell].word] &= ~world.cells[cell].bit
    first = (1 - u // world.slots) * world.slots
    for enemy in range(first, first + world.slots):
        cell = games.units[i, enemy].cell
        if cell != OFF_BOARD:
            targets[world.cells[cell].word] |= world.cells[cell].bit
            if world.distance[here, cell] <= world.settings.charge_reach:
                reached[world.cells[cell].word] |= world.cells[cell].bit
    _spread(targets, sets[SIDES], clear[width:-width], width)
    _spread(reached, sets[SIDES], targets[width:-width], width)
    for k in range(free.size):
        clear[k] = free[k] & ~clear[k]
        targets[k] &= free[k]
        reached[k] = 0
    reached[world.cells[here].word] = world.cells[here].bit


@inlined
def _spread(hexes: np.ndarray, sides: np.ndarray, out: np.ndarray, width: int) -> None:
    """Write the hexes of a set and their neighbors, closed ones as well, to the board `out`; `sides` is scratch."""
    size = hexes.size - 2 * width
    above, row, below = hexes[:size], hexes[width : width + size], hexes[2 * width :]
    left, middle, right = sides[width - 1 :], sides[width : width + size], sides[width + 1 :]
    for k in range(size):  # odd columns are half a hex lower: also beside the next row, even ones the previous
        middle[k] = row[k] | (above[k] & _ODD) | (below[k] & _EVEN)
    for k in range(size):
        beside = middle[k] << _1 | middle[k] >> _1 | left[k] >> _31 | right[k] << _31
        out[k] = row[k] | above[k] | below[k] | beside


@kernel
def charge_path(world: World, games: Games, i: int, u: int, target: int) -> tuple[int, int]:
    """Return the free cell beside the target that takes the fewest steps, and their number, after `find_charges`.

    Ties are broken by the charging player's view of the board, so that both sides behave symmetrically.
    """
    seen = world.seen[u // world.slots]
    here, there, best = games.units[i, u].cell, games.units[i, target].cell, NO_HEX
    if there == OFF_BOARD or world.distance[here, there] > world.settings.charge_reach:
        return NO_HEX, FAR
    for steps in range(max(world.distance[here, there] - 1, 1), world.settings.charge_reach + 1):
        entered = games.sets[i, CHARGE_STEPS + steps]
        for k in range(6):
            cell = world.near[there, k]
            if cell < 0 or games.occupants[i, cell] != NOBODY:
                continue
            is_entered = entered[world.cells[cell].word] & world.cells[cell].bit != 0
            if is_entered and (best == NO_HEX or seen[cell].turned < seen[best].turned):
                best = cell
        if best != NO_HEX:
            return best, steps
    return NO_HEX, FAR
