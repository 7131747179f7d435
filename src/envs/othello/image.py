"""A picture of a board of Othello."""

from collections.abc import Sequence

import numpy as np

from ...core.play.canvas import CLOSED, CLOSED_EDGE, FAINT, FIRST, SECOND, Canvas, mix

SIZE = 48  # pixels of a cell
MARGIN = 28


def draw(discs: np.ndarray, legal: Sequence[tuple[int, int]], seat: int) -> np.ndarray:
    """Draw the discs by seat, (2, size, size) bool, and where `seat` may place one."""
    size = discs.shape[1]
    canvas = Canvas(size * SIZE + 2 * MARGIN, size * SIZE + 2 * MARGIN)
    for row, col in np.ndindex(size, size):
        canvas.rect((MARGIN + col * SIZE, MARGIN + row * SIZE, SIZE, SIZE), CLOSED, edge=CLOSED_EDGE)
        at = MARGIN + (col + 0.5) * SIZE, MARGIN + (row + 0.5) * SIZE
        if discs[:, row, col].any():
            canvas.circle(at, 0.4 * SIZE, FIRST if discs[0, row, col] else SECOND)
        elif (row, col) in legal:
            canvas.circle(at, 0.1 * SIZE, mix((FIRST, SECOND)[seat], CLOSED, 0.6))
    for number in range(size):
        middle = MARGIN + (number + 0.5) * SIZE
        canvas.text((middle, MARGIN / 2), chr(ord("a") + number), 15, FAINT)
        canvas.text((MARGIN / 2, middle), str(number + 1), 15, FAINT)
    return canvas.pixels()
