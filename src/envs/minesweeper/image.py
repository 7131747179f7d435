"""A picture of a Minesweeper board."""

from typing import NamedTuple

import numpy as np

from ...core.play.canvas import CARD, CELL, CLOSED, CLOSED_EDGE, EDGE, GREEN, INK, SECOND, Canvas
from .variant import FLAGGED

SIZE = 30  # of a cell
MARGIN, HEADER = 12, 34
NUMBERS = ("#0063a0", "#007d5a", "#c04d00", "#8d4373", "#8a5a00", "#1a7fa8", "#1c2430", "#6a7482")  # colors of 1..8
RESULTS = {1: ("won", GREEN), 0: ("out of steps", INK), -1: ("lost", SECOND)}


class Ending(NamedTuple):
    """What is shown only once the game is over."""

    outcome: int
    mines: np.ndarray  # (H, W) bool
    exploded: int | None  # a cell


def draw(visible: np.ndarray, mines: int, ending: Ending | None) -> np.ndarray:
    """Draw a board (H, W) as the player sees it, below the number of mines without a flag."""
    rows, cols = visible.shape
    canvas = Canvas(cols * SIZE + 2 * MARGIN, rows * SIZE + 2 * MARGIN + HEADER)
    _header(canvas, cols, mines - int(np.count_nonzero(visible == FLAGGED)), ending)
    for cell, value in enumerate(visible.ravel().tolist()):
        x, y = MARGIN + cell % cols * SIZE, MARGIN + HEADER + cell // cols * SIZE
        if value >= 0:
            canvas.rect((x, y, SIZE + 1, SIZE + 1), CELL, edge=EDGE)
            if value:
                canvas.text((x + 15.5, y + 15.5), str(value), 18, NUMBERS[value - 1])
        else:
            _unrevealed(canvas, x, y, cell, value, ending)
    return canvas.pixels()


def _header(canvas: Canvas, cols: int, left: int, ending: Ending | None) -> None:
    y = MARGIN + HEADER / 2 - 6
    _flag(canvas, MARGIN - 8, y - 15)
    canvas.text((MARGIN + 20, y), str(left), 17, anchor="lm")
    if ending is not None:
        word, color = RESULTS[ending.outcome]
        canvas.text((MARGIN + cols * SIZE - 2, y), word, 17, color, anchor="rm")


def _unrevealed(canvas: Canvas, x: int, y: int, cell: int, value: int, ending: Ending | None) -> None:
    exploded = ending is not None and cell == ending.exploded
    color, edge = (SECOND, SECOND) if exploded else (CLOSED, CLOSED_EDGE)
    canvas.rect((x + 1, y + 1, SIZE - 1, SIZE - 1), color, 4, edge)
    mined = ending is not None and bool(ending.mines.flat[cell])
    if value == FLAGGED:
        _flag(canvas, x, y)
        if ending is not None and not mined:
            canvas.line([(x + 7, y + 7), (x + 24, y + 24)], INK, 2.4)
            canvas.line([(x + 24, y + 7), (x + 7, y + 24)], INK, 2.4)
    elif mined:
        _mine(canvas, x + 15.5, y + 15.5)


def _flag(canvas: Canvas, x: float, y: float) -> None:
    canvas.polygon([(x + 12, y + 6), (x + 22, y + 10.5), (x + 12, y + 15)], SECOND)
    canvas.line([(x + 12, y + 6), (x + 12, y + 24)], INK, 1.8)


def _mine(canvas: Canvas, x: float, y: float) -> None:
    for dx, dy in ((0.0, 10.0), (10.0, 0.0), (7.0, 7.0), (7.0, -7.0)):
        canvas.line([(x - dx, y - dy), (x + dx, y + dy)], INK, 2)
    canvas.circle((x, y), 6.5, INK)
    canvas.circle((x - 2, y - 2), 1.6, CARD)
