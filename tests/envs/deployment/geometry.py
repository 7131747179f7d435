"""Hexes by the geometry of their centers in the plane; shares no code and no coordinates with the engine."""

import math
from functools import cache

from src.envs.deployment.rules.scenario import Hex

STEP = math.sqrt(3)  # between the centers of neighbors, for hexes of circumradius 1
SIDEWAYS = (1.5, -2.5 * STEP)  # where a line is shifted that runs between two hexes
TIE = 1e-9


def center(one: Hex) -> tuple[float, float]:
    """Return the center of a hex; odd columns are half a hex lower."""
    col, row = one
    return 1.5 * col, STEP * (row + (0.5 if col % 2 else 0.0))


def neighbors(one: Hex) -> list[Hex]:
    """Return the six hexes whose centers are one step away, also off the board."""
    around = [(one[0] + dc, one[1] + dr) for dc in (-1, 0, 1) for dr in (-1, 0, 1)]
    return [other for other in around if abs(math.dist(center(one), center(other)) - STEP) < TIE]


@cache
def distance(a: Hex, b: Hex) -> int:
    """Return the fewest steps: every column crossed also moves up or down by half a hex, as far as needed."""
    across = abs(a[0] - b[0])
    halves = round(2 * abs(center(a)[1] - center(b)[1]) / STEP)
    return across + max(0, halves - across) // 2


def turned(one: Hex, cols: int, rows: int) -> Hex:
    """Return the hex opposite the middle of a board, found by its center."""
    x, y = center(one)
    bottom = center((0, rows - 1))[1]
    col = cols - 1 - round(x / 1.5)
    return col, round((bottom - y) / STEP - (0.5 if col % 2 else 0.0))


@cache
def hex_at(x: float, y: float, side: int) -> Hex:
    """Return the hex that a point lies in; on an edge the one toward SIDEWAYS or away from it."""
    col = round(x / 1.5)
    near = [(c, r) for c in range(col - 1, col + 2) for r in range(int(y / STEP) - 2, int(y / STEP) + 3)]
    closest = min(math.dist((x, y), center(one)) for one in near)
    ties = [one for one in near if math.dist((x, y), center(one)) < closest + TIE]
    return max(ties, key=lambda one: side * sum(p * q for p, q in zip(center(one), SIDEWAYS, strict=True)))


def sees(walls: frozenset[Hex], a: Hex, b: Hex) -> bool:
    """Whether the line between two centers, on one side of the edges that it runs along, crosses no wall."""
    (ax, ay), (bx, by), steps = center(a), center(b), distance(a, b)
    points = [(ax + (bx - ax) * k / steps, ay + (by - ay) * k / steps) for k in range(1, steps)]
    return any(all(hex_at(x, y, side) not in walls for x, y in points) for side in (1, -1))
