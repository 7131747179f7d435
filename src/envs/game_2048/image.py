"""A picture of a board of 2048."""

import numpy as np

from ...core.play.canvas import CLOSED, CLOSED_EDGE, FIRST, INK, SECOND, Canvas, mix

SIZE = 76  # pixels of a cell
MARGIN = 12


def draw(exponents: np.ndarray, score: int) -> np.ndarray:
    """Draw the tiles of exponents (rows, cols), 0 for an empty cell; larger tiles are darker."""
    rows, cols = exponents.shape
    canvas = Canvas(cols * SIZE + 2 * MARGIN, rows * SIZE + 3 * MARGIN + 16)
    canvas.rect((MARGIN, MARGIN, cols * SIZE, rows * SIZE), CLOSED, 8, CLOSED_EDGE)
    for row, col in np.ndindex(rows, cols):
        exponent, x, y = int(exponents[row, col]), MARGIN + col * SIZE, MARGIN + row * SIZE
        color = mix(FIRST, mix(SECOND, "#ffffff", min(0.12 * exponent, 1.0)), max(0.0, min(0.12 * (exponent - 7), 1.0)))
        canvas.rect((x + 4, y + 4, SIZE - 8, SIZE - 8), color if exponent else mix(CLOSED, "#ffffff", 0.4), 6)
        if exponent:
            text = str(1 << exponent)
            canvas.text((x + SIZE / 2, y + SIZE / 2), text, 34 - 4 * len(text), INK if exponent < 5 else "#ffffff")
    canvas.text((MARGIN, rows * SIZE + 2 * MARGIN + 8), f"score {score}", 18, INK, "lm")
    return canvas.pixels()
