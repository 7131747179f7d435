"""Pictures of a Minesweeper board, and heatmaps of its mine probabilities."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import require
from ...core.play.canvas import CARD, CELL, CLOSED, CLOSED_EDGE, EDGE, GREEN, INK, SECOND, Canvas
from .variant import FLAGGED

SIZE = 30  # pixels of a cell
MARGIN, HEADER = 12, 34
HEATMAP_NUMBERS = ("#1f4fd8", "#2a7d2a", "#cc2222", "#1b1b7a", "#7a1b1b", "#1b7a7a", "#222222", "#666666")  # likewise
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
    y = MARGIN + HEADER / 2 - 6
    _flag(canvas, MARGIN - 8, y - 15)
    canvas.text((MARGIN + 20, y), str(mines - int(np.count_nonzero(visible == FLAGGED))), 17, anchor="lm")
    if ending is not None:
        word, color = RESULTS[ending.outcome]
        canvas.text((MARGIN + cols * SIZE - 2, y), word, 17, color, anchor="rm")
    for cell, value in enumerate(visible.ravel().tolist()):
        x, y = MARGIN + cell % cols * SIZE, MARGIN + HEADER + cell // cols * SIZE
        if value >= 0:
            canvas.rect((x, y, SIZE + 1, SIZE + 1), CELL, edge=EDGE)
            if value:
                canvas.text((x + 15.5, y + 15.5), str(value), 18, NUMBERS[value - 1])
        else:
            _unrevealed(canvas, x, y, cell, value, ending)
    return canvas.pixels()


def _unrevealed(canvas: Canvas, x: float, y: float, cell: int, value: int, ending: Ending | None) -> None:
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
        x, y = x + 15.5, y + 15.5
        for dx, dy in ((0.0, 10.0), (10.0, 0.0), (7.0, 7.0), (7.0, -7.0)):
            canvas.line([(x - dx, y - dy), (x + dx, y + dy)], INK, 2)
        canvas.circle((x, y), 6.5, INK)
        canvas.circle((x - 2, y - 2), 1.6, CARD)


def _flag(canvas: Canvas, x: float, y: float) -> None:
    canvas.polygon([(x + 12, y + 6), (x + 22, y + 10.5), (x + 12, y + 15)], SECOND)
    canvas.line([(x + 12, y + 6), (x + 12, y + 24)], INK, 1.8)


def save_heatmap(path: Path, visible: np.ndarray, mine_probability: np.ndarray) -> None:
    """Save a PNG of a board (H, W) whose unrevealed cells are colored by their mine probability (H, W)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow import, needed for heatmaps only
    from matplotlib.figure import Figure

    require(path.parent.is_dir(), f"there is no folder {path.parent} to draw {path.name} in")
    rows, cols = visible.shape
    figure = Figure(figsize=(0.42 * cols + 1.6, 0.42 * rows + 0.9), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    hidden = np.where(visible < 0, mine_probability, np.nan)
    image = axes.imshow(np.ma.masked_invalid(hidden), cmap="YlOrRd", vmin=0, vmax=1)
    axes.set_facecolor("#f4f4f2")
    for row, col in np.ndindex(rows, cols):
        value, chance = int(visible[row, col]), float(mine_probability[row, col])
        if value > 0:
            style: dict[str, Any] = {"color": HEATMAP_NUMBERS[value - 1], "fontsize": 11, "fontweight": "bold"}
            axes.text(col, row, str(value), ha="center", va="center", **style)
        elif value < 0:
            flagged, color = value == FLAGGED, "white" if chance > 0.55 else "#444444"
            style = {"ha": "center", "va": "center", "color": color}
            axes.text(col, row + 0.3 * flagged, f"{100 * chance:.0f}", fontsize=5.5 if flagged else 7, **style)
            if flagged:
                axes.text(col, row - 0.14, "\N{BLACK FLAG}", fontsize=12, **style)
    axes.set_xticks(np.arange(cols + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0, labelsize=7, colors="#888888")
    axes.set_xticks(range(cols))
    axes.set_yticks(range(rows))
    axes.xaxis.tick_top()
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, fraction=0.035, pad=0.02, format=lambda share, _: f"{share:.0%}")
    bar.set_label("mine probability", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)
    figure.savefig(path, format="png", bbox_inches="tight", pad_inches=0.1)
