"""A run in pictures: its score over the steps beside what the baselines reach, and counts of what was done in it."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

log = logging.getLogger(__name__)


def draw_curve(path: Path, steps: Sequence[float], scores: Sequence[float], baselines: Mapping[str, float]) -> bool:
    """Writes a PNG; False where there is nothing to draw, or nothing to draw with."""
    figure = _figure(7, 4) if steps else None
    if figure is None:
        return False
    axes = figure.add_subplot()
    axes.plot(steps, scores, marker="o", markersize=3, color="tab:blue", label="learner, while it learns")
    for number, (name, rate) in enumerate(baselines.items()):
        axes.axhline(rate, linestyle="--", linewidth=1, color=f"C{number + 1}", label=f"{name}: {rate:.1%}")
    axes.set(xlabel="step", ylabel="score", ylim=(0, 1.02))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)
    return True


def draw_counts(path: Path, counts: Mapping[str, np.ndarray]) -> bool:
    """Writes a PNG, a panel for each: bars for what is counted along a line, a map for what is counted on a board."""
    rows = -(-len(counts) // 2)
    figure = _figure(11, 2.8 * rows) if counts else None
    if figure is None:
        return False
    for number, (name, values) in enumerate(counts.items(), 1):
        axes = figure.add_subplot(rows, 2, number)
        if values.ndim == 1:
            axes.bar(range(values.size), values)
        else:
            figure.colorbar(axes.imshow(values, cmap="cividis"), ax=axes)
        axes.set_title(name, fontsize="small")
    figure.savefig(path, dpi=100)
    return True


def _figure(width: float, height: float) -> Any:
    """A figure to draw on, or None where there is nothing to draw with."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # heavy, and only pictures need it
        from matplotlib.figure import Figure
    except ImportError:
        log.warning("no picture of the run: matplotlib is not installed; metrics.csv has the figures")
        return None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
