"""Plots of a run: its learning curve with the final evaluation, and counts of actions.

python -m src.core.runs.curve RUN...     redraw win_rate.png of each run directory from its files
"""

import io
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..files import MAX_DATA_BYTES, read_regular, require_closed, write_atomic
from ..play.arena import wilson_interval
from .config_file import CONFIG, read_config
from .console import printable
from .runlog import LoggedMetrics

log = logging.getLogger(__name__)

PICTURE = "win_rate.png"
TABLE_LABEL = "learner, share of lines not lost over every play of the opponent"


@dataclass(frozen=True)
class Curve:
    """Evaluations during training, with the 95% interval of each point if the number of games is known."""

    label: str
    quantity: str  # label of the vertical axis
    steps: list[float]
    rates: list[float]
    intervals: list[tuple[float, float]]


def draw_run(directory: Path) -> bool:
    """Draw win_rate.png of a run from its files; return False without evaluations or without matplotlib."""
    figure = run_figure(directory)
    if figure is None:
        return False
    legend = "\n".join(text.get_text() for text in figure.legends[0].get_texts())
    save_figure(figure, directory / PICTURE, dpi=120, metadata={"Description": legend})
    return True


def run_figure(directory: Path) -> Any:
    """Plot the metric that selects checkpoints and the final evaluation; return None if there is no curve."""
    path = directory / "eval.json"
    scores = json.loads(read_regular(path, MAX_DATA_BYTES)).get("scores", {}) if path.exists() else {}
    curve = _read_curve(directory, scores)
    figure = None if curve is None else new_figure(7, 3.8 + 0.2 * (1 + len(scores)))
    if curve is None or figure is None:
        return None
    axes = figure.add_subplot()
    axes.plot(curve.steps, curve.rates, marker="o", markersize=3, color="C0", label=curve.label)
    if curve.intervals:
        axes.fill_between(curve.steps, *zip(*curve.intervals, strict=True), color="C0", alpha=0.2, linewidth=0)
    _draw_scores(axes, curve.steps, scores)
    axes.set(xlabel="step", ylabel=curve.quantity)
    _set_axes(axes, [*curve.rates, *(end for interval in curve.intervals for end in interval)], scores)
    figure.legend(loc="outside lower center", fontsize="small")
    return figure


def _read_curve(directory: Path, scores: Mapping[str, Any]) -> Curve | None:
    log, config = LoggedMetrics(directory), read_config(directory) if (directory / CONFIG).exists() else {}
    name, rows = log.curve()
    if not rows:
        return None
    steps, rates = ([float(row[column]) for row in rows] for column in ("step", name))
    if name == "eval/not_lost_share":
        return Curve(TABLE_LABEL, "share of lines not lost, of games won", steps, rates, [])
    default = (config.get("algo") or {}).get("eval_episodes") or 0  # earlier runs did not log eval/episodes
    games = [round(float(row.get(name.replace("win_rate", "episodes")) or default)) for row in rows]
    pairs = zip(rates, games, strict=True) if all(games) else ()
    intervals = [wilson_interval(round(rate * count), count) for rate, count in pairs]
    opponent = "all baselines" if name == "eval/all/win_rate" else next(iter(scores), "")
    against = f" against {opponent}" if _is_two_player(scores) else ""
    fewest, most = min(games), max(games)
    counted = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    label = f"learner{against} during training" + (f" (n={counted} a point, 95% band)" if intervals else "")
    return Curve(label, "win rate", steps, rates, intervals)


def _draw_scores(axes: Any, steps: Sequence[float], scores: Mapping[str, Any]) -> None:
    """Draw the final evaluation: lone baselines as dashed lines, the learner as markers right of the curve."""
    gap = 0.03 * (steps[-1] - steps[0] or steps[-1] or 1)
    for number, (name, score) in enumerate(scores.items(), 1):
        rate, color, games = score["win_rate"], f"C{number}", f"{score['win_rate']:.1%} (n={score['episodes']:,})"
        if not _is_two_player(scores) and name != "trained":
            axes.axhline(rate, linestyle="--", linewidth=1, color=color, label=f"{name}, its own win rate: {games}")
            continue
        low, high = score["win_rate_ci95"]
        who = f"against {name}" if _is_two_player(scores) else "learner"
        axes.errorbar(
            steps[-1] + number * gap,
            rate,
            yerr=[[rate - low], [high - rate]],
            fmt="D",
            markersize=5,
            capsize=3,
            color=color,
            label=f"{who}, final evaluation: {games}",
        )


def _set_axes(axes: Any, drawn: Sequence[float], scores: Mapping[str, Any]) -> None:
    """Limit the vertical axis to the range in use, so that small differences are visible."""
    from matplotlib.ticker import EngFormatter, PercentFormatter

    ends = [end for score in scores.values() for end in score["win_rate_ci95"]]
    lowest, highest = min([*drawn, *ends]), max([*drawn, *ends])
    room = max(0.02, 0.08 * (highest - lowest))
    axes.set(ylim=(max(0, lowest) - room, min(1, highest) + room))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(alpha=0.3)


def _is_two_player(scores: Mapping[str, Any]) -> bool:
    """Return whether the scores have results by seat, as only two-player games have."""
    return any("seats" in score for score in scores.values())


def draw_counts(path: Path, counts: Mapping[str, np.ndarray]) -> bool:
    """Write a PNG with a panel for each array: bars for 1D counts, a heat map for 2D counts."""
    rows = -(-len(counts) // 2)
    figure = new_figure(11, 2.8 * rows, layout=None) if counts else None  # the constrained layout doubles the time
    if figure is None:
        return False
    edge = 0.1 / rows
    figure.subplots_adjust(0.08, edge, 0.98, 1 - edge, wspace=0.16, hspace=0.25)
    for number, (name, values) in enumerate(counts.items(), 1):
        axes = figure.add_subplot(rows, 2, number)
        if values.ndim == 1:
            axes.stairs(values, np.arange(values.size + 1) - 0.5, fill=True)  # one patch, hundreds of bars are slow
        else:
            figure.colorbar(axes.imshow(values, cmap="cividis"), ax=axes)
        axes.set_title(name, fontsize="small")
    save_figure(figure, path, dpi=100)
    return True


def save_figure(figure: Any, path: Path, **options: Any) -> None:
    """Write a figure in the format that the name of the file ends with."""
    data = io.BytesIO()
    figure.savefig(data, format=path.suffix[1:], **options)
    write_atomic(path, data.getvalue())


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Any:
    """Return a new figure, or None without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import
        from matplotlib.figure import Figure
    except ImportError:
        log.warning("no plot of the run: matplotlib is not installed; the metrics are in metrics.csv")
        return None
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def main(directories: Sequence[str]) -> None:
    for name in directories:
        require_closed(Path(name))
        done = Path(name).is_dir() and draw_run(Path(name))
        shown = f"{name}/{PICTURE}" if done else f"{name}: no evaluations in metrics.csv, nothing to draw"
        print(printable(shown))


if __name__ == "__main__":
    main(sys.argv[1:])
