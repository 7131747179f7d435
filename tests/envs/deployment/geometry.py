"""Hexes by the geometry of their centres in the plane; shares no code and no coordinates with the engine."""

import math
from functools import cache

from src.envs.deployment.rules.scenario import Hex

STEP = math.sqrt(3)  # between the centres of neighbours, for hexes of circumradius 1
SIDEWAYS = (1.5, -2.5 * STEP)  # where a line is shifted that runs between two hexes
TIE = 1e-9


def centre(one: Hex) -> tuple[float, float]:
    """Return the centre of a hex; odd columns are half a hex lower."""
    col, row = one
    return 1.5 * col, STEP * (row + (0.5 if col % 2 else 0.0))


def neighbors(one: Hex) -> list[Hex]:
    """Return the six hexes whose centres are one step away, also off the board."""
    around = [(one[0] + dc, one[1] + dr) for dc in (-1, 0, 1) for dr in (-1, 0, 1)]
    return [other for other in around if abs(math.dist(centre(one), centre(other)) - STEP) < TIE]


@cache
def distance(a: Hex, b: Hex) -> int:
    """Return the fewest steps: every column crossed also moves up or down by half a hex, as far as needed."""
    across = abs(a[0] - b[0])
    halves = round(2 * abs(centre(a)[1] - centre(b)[1]) / STEP)
    return across + max(0, halves - across) // 2


def turned(one: Hex, cols: int, rows: int) -> Hex:
    """Return the hex opposite the middle of a board, found by its centre."""
    x, y = centre(one)
    bottom = centre((0, rows - 1))[1]
    col = cols - 1 - round(x / 1.5)
    return col, round((bottom - y) / STEP - (0.5 if col % 2 else 0.0))


@cache
def hex_at(x: float, y: float, side: int) -> Hex:
    """Return the hex that a point lies in; on an edge the one towards SIDEWAYS or away from it."""
    col = round(x / 1.5)
    near = [(c, r) for c in range(col - 1, col + 2) for r in range(int(y / STEP) - 2, int(y / STEP) + 3)]
    closest = min(math.dist((x, y), centre(one)) for one in near)
    ties = [one for one in near if math.dist((x, y), centre(one)) < closest + TIE]
    return max(ties, key=lambda one: side * sum(p * q for p, q in zip(centre(one), SIDEWAYS, strict=True)))


def sees(walls: frozenset[Hex], a: Hex, b: Hex) -> bool:
    """Whether the line between two centres, on one side of the edges that it runs along, crosses no wall."""
    (ax, ay), (bx, by), steps = centre(a), centre(b), distance(a, b)
    points = [(ax + (bx - ax) * k / steps, ay + (by - ay) * k / steps) for k in range(1, steps)]
    return any(all(hex_at(x, y, side) not in walls for x, y in points) for side in (1, -1))
