"""A picture of a board of Connect Four."""

from collections.abc import Sequence

import numpy as np

from ...core.play.canvas import CLOSED, CLOSED_EDGE, FAINT, FIRST, SECOND, Canvas

SIZE = 60  # pixels of a cell
MARGIN = 12


def draw(cells: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    """Draw the stones by seat, (2, rows, cols) bool, in a frame, with the names of the columns below."""
    _, rows, cols = cells.shape
    canvas = Canvas(cols * SIZE + 2 * MARGIN, rows * SIZE + 3 * MARGIN + 12)
    canvas.rect((MARGIN, MARGIN, cols * SIZE, rows * SIZE), CLOSED, 12, CLOSED_EDGE)
    for row, col in np.ndindex(rows, cols):
        at = MARGIN + (col + 0.5) * SIZE, MARGIN + (row + 0.5) * SIZE
        color = FIRST if cells[0, row, col] else SECOND if cells[1, row, col] else "#ffffff"
        canvas.circle(at, 0.41 * SIZE, color, CLOSED_EDGE, 1)
    for col, name in enumerate(columns):
        canvas.text((MARGIN + (col + 0.5) * SIZE, 2 * MARGIN + rows * SIZE), name, 16, FAINT)
    return canvas.pixels()
