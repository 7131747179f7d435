"""A picture of a board of tic-tac-toe."""

from collections.abc import Sequence

import numpy as np

from ...core.play.canvas import CLOSED_EDGE, FIRST, GREEN, SECOND, Canvas, Point

SIZE = 100  # pixels of a cell
MARGIN = 12


def draw(state: str, completed: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Draw nine cells "X", "O" or ".", and a line through each completed row, given by its cells."""
    canvas = Canvas(3 * SIZE + 2 * MARGIN, 3 * SIZE + 2 * MARGIN)
    low, high = MARGIN + 8, MARGIN + 3 * SIZE - 8
    for at in (MARGIN + SIZE, MARGIN + 2 * SIZE):
        canvas.line([(at, low), (at, high)], CLOSED_EDGE, 5)
        canvas.line([(low, at), (high, at)], CLOSED_EDGE, 5)
    for cell, stone in enumerate(state):
        x, y = _center(cell)
        if stone == "X":
            canvas.line([(x - 25, y - 25), (x + 25, y + 25)], FIRST, 11)
            canvas.line([(x - 25, y + 25), (x + 25, y - 25)], FIRST, 11)
        elif stone == "O":
            canvas.circle((x, y), 27, None, SECOND, 11)
    for row in completed:
        (x1, y1), (x2, y2) = _center(row[0]), _center(row[-1])
        dx, dy = (x2 - x1) * 0.2, (y2 - y1) * 0.2
        canvas.line([(x1 - dx, y1 - dy), (x2 + dx, y2 + dy)], GREEN, 7)
    return canvas.pixels()


def _center(cell: int) -> Point:
    return MARGIN + cell % 3 * SIZE + SIZE / 2, MARGIN + cell // 3 * SIZE + SIZE / 2
