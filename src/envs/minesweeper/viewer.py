"""Boards as text, and heatmaps of mine probabilities."""

from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import require
from .variant import FLAGGED, HIDDEN

_SIGNS = {HIDDEN: ".", FLAGGED: "F", 0: " "} | {number: str(number) for number in range(1, 9)}
_NUMBER_COLORS = ("", "#1f4fd8", "#2a7d2a", "#cc2222", "#1b1b7a", "#7a1b1b", "#1b7a7a", "#222222", "#666666")


def text_board(
    visible: np.ndarray,
    mines: int,
    *,
    action_probability: np.ndarray | None = None,
    top_k: int = 3,
    mine_probability: np.ndarray | None = None,
    solution: np.ndarray | None = None,
) -> str:
    """Return a board (H, W) as text: `.` hidden, `F` flag, blank for zero.

    `action_probability` (A,) puts the `top_k` most probable actions in brackets and lists them, `mine_probability` (H,
    W) adds a board of percentages, `solution` (H, W) bool shows the mines as `*` after the game.
    """
    rows, cols = visible.shape
    signs = [[f" {_SIGNS[int(value)]} " for value in row] for row in visible]
    if solution is not None:
        for row, col in np.argwhere(solution):
            signs[row][col] = " * "
    notes = []
    if action_probability is not None:
        for rank, action in enumerate(top_actions(action_probability, top_k), start=1):
            kind, cell = divmod(action, rows * cols)
            row, col = divmod(cell, cols)
            signs[row][col] = f"[{signs[row][col][1]}]"
            verb = ("reveal", "flag")[kind]
            notes.append(f"{rank}. {verb} row {row}, column {col}: {action_probability[action]:.1%}")
    flags = int(np.count_nonzero(visible == FLAGGED))
    text = [f"{mines} mines, {flags} flags, {np.count_nonzero(visible < 0)} cells hidden", *_grid(signs), *notes]
    if mine_probability is not None:
        percent = [
            [f"{100 * mine_probability[r, c]:3.0f} " if visible[r, c] < 0 else "    " for c in range(cols)]
            for r in range(rows)
        ]
        text += ["mine probability, %", *_grid(percent)]
    return "\n".join(line.rstrip() for line in text)


def top_actions(probability: np.ndarray, count: int) -> list[int]:
    """Return the most probable actions, best first, without those of probability 0; the lower index wins ties."""
    order = np.argsort(-probability, kind="stable")[:count]
    return [int(action) for action in order if probability[action] > 0]


def _grid(cells: list[list[str]]) -> list[str]:
    width = len(cells[0][0])
    header = "    " + "".join(f"{col:{width - 1}d} " for col in range(len(cells[0])))
    return [header, *(f"{row:3d} " + "".join(line) for row, line in enumerate(cells))]


def save_heatmap(path: Path, visible: np.ndarray, mine_probability: np.ndarray, title: str = "") -> None:
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
        _draw_cell(axes, row, col, int(visible[row, col]), float(mine_probability[row, col]))
    axes.set_xticks(np.arange(cols + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0, labelsize=7, colors="#888888")
    axes.set_xticks(range(cols))
    axes.set_yticks(range(rows))
    axes.xaxis.tick_top()
    axes.spines[:].set_visible(False)
    if title:
        axes.set_title(title, fontsize=10)
    bar = figure.colorbar(image, ax=axes, fraction=0.035, pad=0.02, format=lambda share, _: f"{share:.0%}")
    bar.set_label("mine probability", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)
    figure.savefig(path, format="png", bbox_inches="tight", pad_inches=0.1)


def _draw_cell(axes: Any, row: int, col: int, value: int, chance: float) -> None:
    if value > 0:
        style = {"color": _NUMBER_COLORS[value], "fontsize": 11, "fontweight": "bold"}
        axes.text(col, row, str(value), ha="center", va="center", **style)
    elif value < 0:
        color, label = "white" if chance > 0.55 else "#444444", f"{100 * chance:.0f}"
        flagged = value == FLAGGED
        axes.text(
            col, row + 0.3 * flagged, label, ha="center", va="center", fontsize=5.5 if flagged else 7, color=color
        )
        if flagged:
            axes.text(col, row - 0.14, "\N{BLACK FLAG}", ha="center", va="center", fontsize=12, color=color)
