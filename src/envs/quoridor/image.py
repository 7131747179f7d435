"""A picture of a Quoridor board, rank 1 at the bottom."""

import numpy as np

from ...core.play.canvas import CARD, FIRST, GREEN, INK, SECOND, YELLOW, Canvas, Point, mix
from .notation import COLUMNS, standing
from .rules import Position

CELL, GROOVE = 52, 12
PITCH = CELL + GROOVE
MARGIN = 10
FRAME = 34  # around the cells, for the names of columns and rows
RACK = 38  # above and below the frame, for the walls in hand
LEFT, TOP = MARGIN + FRAME, MARGIN + RACK + FRAME  # where the cells begin
PAWN = 18  # radius
PLAYERS = (FIRST, SECOND)
WOOD, WOOD_EDGE, GROUND, FIELD, FIELD_EDGE = "#a8713f", "#8a5830", "#c39a68", "#f0dcb8", "#d9bd8e"
PLANK, WOOD_INK = "#3a2313", "#fbeed6"


def draw(size: int, position: Position, outcome: int | None) -> np.ndarray:
    """Draw a position; a yellow ring marks the pawn to move, a green one the winner."""
    side = size * PITCH - GROOVE
    canvas = Canvas(side + 2 * LEFT, side + 2 * TOP)
    canvas.rect((LEFT - FRAME, TOP - FRAME, side + 2 * FRAME, side + 2 * FRAME), WOOD, 18, WOOD_EDGE)
    canvas.rect((LEFT - 6, TOP - 6, side + 12, side + 12), GROUND, 8)
    _cells(canvas, size)
    for player, left in enumerate(position.left):
        _rack(canvas, side, player, left)
    for move in standing(size, position):
        _wall(canvas, size, move)
    for player, cell in enumerate(position.pawns):
        x, y = _center(size, cell)
        ring = YELLOW if outcome is None and player == position.ply % 2 else CARD
        ring = GREEN if outcome == (1, -1)[player] else ring
        canvas.circle((x, y + 2), PAWN + 1, mix("#000000", FIELD, 0.3))
        canvas.circle((x, y), PAWN, PLAYERS[player], ring, 3)
        canvas.text((x, y), str(player + 1), 17, CARD)
    return canvas.pixels()


def _center(size: int, cell: int) -> Point:
    row, col = divmod(cell, size)
    return LEFT + col * PITCH + CELL / 2, TOP + (size - 1 - row) * PITCH + CELL / 2


def _cells(canvas: Canvas, size: int) -> None:
    """Draw the cells, their names, and in each goal row bars in the color of its player."""
    for cell in range(size * size):
        (x, y), row = _center(size, cell), cell // size
        canvas.rect((x - CELL / 2, y - CELL / 2, CELL, CELL), FIELD, 7, FIELD_EDGE)
        if row in (0, size - 1):
            below = y + CELL / 2 - 9 if row == 0 else y - CELL / 2 + 5
            canvas.rect((x - CELL / 2 + 8, below, CELL - 16, 4), mix(PLAYERS[row == 0], FIELD, 0.5), 2)
    for number in range(size):
        (x, bottom), (left, y) = _center(size, number), _center(size, number * size)
        top = _center(size, size * (size - 1))[1]
        for name_y in (top - CELL / 2 - 19, bottom + CELL / 2 + 19):
            canvas.text((x, name_y), COLUMNS[number], 13, WOOD_INK)
        for name_x in (left - CELL / 2 - 19, left + (size - 1) * PITCH + CELL / 2 + 19):
            canvas.text((name_x, y), str(number + 1), 13, WOOD_INK)


def _rack(canvas: Canvas, side: int, player: int, left: int) -> None:
    """Draw the walls in hand, below the board for player 1 and above it for player 2."""
    y = MARGIN + 14 if player else side + 2 * TOP - MARGIN - 14
    canvas.circle((LEFT + 13, y), 13, PLAYERS[player])
    canvas.text((LEFT + 13, y), str(player + 1), 14, CARD)
    step = min(22.0, (side - 70) / max(left, 1))
    for number in range(left):
        canvas.rect((LEFT + 38 + number * step, y - 13, min(9.0, step * 0.7), 26), PLANK, 2.5)
    canvas.text((LEFT + side, y), str(left), 16, INK, anchor="rm")


def _wall(canvas: Canvas, size: int, move: int) -> None:
    kind, wall = divmod(move - size * size, (size - 1) ** 2)
    row, col = divmod(wall, size - 1)
    x, y = _center(size, row * size + col)
    x, y = x + PITCH / 2, y - PITCH / 2  # the corner between the four cells
    length = CELL + GROOVE / 2
    half_width, half_height = (length, GROOVE / 2) if kind == 0 else (GROOVE / 2, length)
    canvas.rect((x - half_width, y - half_height + 2, 2 * half_width, 2 * half_height), mix(PLANK, GROUND, 0.4), 3.5)
    canvas.rect((x - half_width, y - half_height, 2 * half_width, 2 * half_height), PLANK, 3.5)
