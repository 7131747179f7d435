"""The results of a study as a table and as learning curves."""

import hashlib
import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from src.core.play.arena import Tally
from src.core.runs.report import as_interval, as_percent
from src.core.runs.runlog import LoggedMetrics

# 97.5% points by degrees of freedom; between two the larger point is used.
STUDENT = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
    19: 2.093,
    29: 2.045,
}
DESCRIPTION = "Description"  # text of a picture: the digest of its data


@dataclass(frozen=True)
class Outcome:
    """One finished run."""

    arm: str
    seed: int
    steps: list[float]  # of each evaluation while it learned, those before it began included
    seconds: list[float]  # of the run itself
    curve: list[float]  # the score then
    tallies: dict[str, Tally]  # the final evaluation by its name in eval.json

    @staticmethod
    def read(directory: Path, arm: str, seed: int, steps_before: float) -> "Outcome":
        name, rows = LoggedMetrics(directory).curve()
        scores = json.loads((directory / "eval.json").read_text())["scores"]
        return Outcome(
            arm,
            seed,
            [steps_before + float(row["step"]) for row in rows],
            [float(row["time/seconds"]) for row in rows],
            [float(row[name]) for row in rows],
            {
                name: Tally(one["wins"], one["draws"], one["losses"], one.get("aborted", 0))
                for name, one in scores.items()
            },
        )

    @staticmethod
    def from_dict(saved: dict[str, Any]) -> "Outcome":
        """Return an outcome of runs.json."""
        tallies = {
            name: Tally(one["wins"], one["draws"], one["losses"], one.get("aborted", 0))
            for name, one in saved["tallies"].items()
        }
        return Outcome(**(saved | {"tallies": tallies}))

    def as_dict(self, scores: Sequence[str]) -> dict[str, Any]:
        return vars(self) | {"tallies": {name: self.tallies[name].as_dict() for name in scores}}


def by_arm(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    names = dict.fromkeys(outcome.arm for outcome in outcomes)
    return {name: [outcome for outcome in outcomes if outcome.arm == name] for name in names}


def pooled(tallies: Sequence[Tally]) -> Tally:
    return Tally(*(sum(getattr(tally, kind) for tally in tallies) for kind in ("wins", "draws", "losses", "aborted")))


def difference(ones: Sequence[Outcome], others: Sequence[Outcome], score: str) -> str:
    """Return the mean difference in points, paired by seed, with Student's 95% interval over the seeds."""
    base = {other.seed: other.tallies[score].win_rate for other in others}
    gains = [100 * (one.tallies[score].win_rate - base[one.seed]) for one in ones if one.seed in base]
    if len(gains) < 2:
        return " ".join(f"{gain:+.1f}" for gain in gains) or "-"
    mean, half = statistics.mean(gains), half_width(gains)
    return f"{mean:+.1f} ({mean - half:+.1f} to {mean + half:+.1f})"


def half_width(values: Sequence[float]) -> float:
    """Return half the width of Student's 95% interval of the mean of at least two values."""
    quantile = STUDENT[max(degrees for degrees in STUDENT if degrees < len(values))]
    return quantile * statistics.stdev(values) / math.sqrt(len(values))


def table(outcomes: Sequence[Outcome], score: str) -> str:
    """Return one row per arm: the games of all seeds together, then each seed."""
    arms = by_arm(outcomes)
    first = next(iter(arms.values()))
    lines = [
        f"| {score} | seeds | games | won (95%, games alone) | of each seed | difference (95%, over seeds) | steps/s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, runs in arms.items():
        total = pooled([run.tallies[score] for run in runs])
        each = ", ".join(as_percent(run.tallies[score].win_rate) for run in runs)
        gain = "" if runs is first else difference(runs, first, score)
        speed = statistics.median(own_speed(run) for run in runs)
        won = f"{as_percent(total.win_rate)} ({as_interval(total)})"
        lines.append(f"| {name} | {len(runs)} | {total.games:,} | {won} | {each} | {gain} | {speed:,.0f} |")
    return "\n".join(lines)


def own_speed(run: Outcome) -> float:
    """Return steps per second from the first evaluation, when everything is compiled, to the last; with evaluations."""
    if len(run.steps) < 2:
        return math.nan
    return (run.steps[-1] - run.steps[0]) / (run.seconds[-1] - run.seconds[0])


def read_outcomes(path: Path) -> list[Outcome]:
    """Read runs.json."""
    return [Outcome.from_dict(saved) for saved in json.loads(path.read_text())]


def digest(outcomes: Sequence[Outcome]) -> str:
    """Return a digest of the curves, which is kept in their picture."""
    curves = [[one.arm, one.seed, one.steps, one.seconds, one.curve] for one in outcomes]
    return hashlib.sha256(json.dumps(curves).encode()).hexdigest()


def draw(path: Path, outcomes: Sequence[Outcome], axes: Sequence[str]) -> None:
    """Plot the score during training over steps and over seconds."""
    figure = Figure(figsize=(6 * len(axes), 4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(axes), sharey=True, squeeze=False)[0]
    for panel, over in zip(panels, axes, strict=True):
        overlay(panel, outcomes, over)
    panels[0].set_ylabel("score while learning")
    panels[0].legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, metadata={DESCRIPTION: digest(outcomes)})


def overlay(axes: Axes, outcomes: Sequence[Outcome], over: str) -> None:
    """Plot the mean of each arm over its seeds, with Student's 95% interval as a band if there are several."""
    for number, (name, runs) in enumerate(by_arm(outcomes).items()):
        places, scores = (aligned(runs, key) for key in (over, "curve"))
        mean, color = scores.mean(axis=0), f"C{number}"
        seeds = f"{len(runs)} seeds, 95%" if len(runs) > 1 else "1 seed"
        axes.plot(places.mean(axis=0), mean, color=color, marker="o", markersize=2, label=f"{name} ({seeds})")
        if len(runs) > 1:
            half = np.array([half_width(column) for column in scores.T.tolist()])
            low, high = (mean - half).clip(0, 1), (mean + half).clip(0, 1)
            axes.fill_between(places.mean(axis=0), low, high, color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel=over)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def aligned(runs: Sequence[Outcome], key: str) -> np.ndarray:
    """Return a list of all runs as rows (runs, evaluations), as far as every run goes."""
    rows = [getattr(run, key) for run in runs]
    return np.array([row[: min(map(len, rows))] for row in rows], float)
