"""The course of a run as a picture: the score over the steps, beside what the baselines reach."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

log = logging.getLogger(__name__)


def draw_curve(path: Path, steps: Sequence[float], scores: Sequence[float], baselines: Mapping[str, float]) -> bool:
    """Writes a PNG; False where there is nothing to draw, or nothing to draw with."""
    if not steps:
        return False
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # heavy, and only pictures need it
        from matplotlib.figure import Figure
    except ImportError:
        log.warning("no picture of the run: matplotlib is not installed; metrics.csv has the figures")
        return False
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot(steps, scores, marker="o", markersize=3, color="tab:blue", label="learner, while it learns")
    for number, (name, rate) in enumerate(baselines.items()):
        axes.axhline(rate, linestyle="--", linewidth=1, color=f"C{number + 1}", label=f"{name}: {rate:.1%}")
    axes.set(xlabel="step", ylabel="score", ylim=(0, 1.02))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)
    return True
