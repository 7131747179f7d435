"""The results of a comparison of settings: tables, CSV, JSON, the file that marl-eval reads, and a figure."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ..files import write_atomic
from .comparison import Band, Comparison, FinishedRun, Setting
from .console import printable
from .curve import new_figure, save_figure
from .report import PlainConsole, as_percent, as_percents, new_table
from .sweep_jobs import is_rate, short_names

TABLE, DATA, RAW_DATA, FIGURE = "comparison.csv", "comparison.json", "sweep.json", "comparison"
MOST_COLUMNS = 8  # of the table of pairs
MOST_DRAWN = 10  # settings in the figure, as many as there are colors
SUITE = "boardlab"  # the environment in the terms of marl-eval, whose tasks are ours
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999", "#7B3294", "#A6761D")
STYLE: Any = {
    **{"font.size": 8, "axes.titlesize": 8, "lines.linewidth": 1.4},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25},
    "svg.hashsalt": "0",  # for the same file each time
}


def show(comparison: Comparison) -> None:
    """Print the tables, and a line for each run that is left out."""
    console = PlainConsole()
    for table in tables(comparison):
        console.print(table)
    for directory, reason in comparison.left_out.items():
        print(printable(f"left out: {directory}: {' '.join(reason.split())}"))


def write(comparison: Comparison, directory: Path) -> None:
    """Write the results to a directory as CSV, JSON, PNG and SVG."""
    write_atomic(directory / TABLE, as_csv(comparison))
    write_atomic(directory / DATA, json.dumps(as_dict(comparison), indent=2) + "\n")
    write_atomic(directory / RAW_DATA, json.dumps(marl_eval_data(comparison)) + "\n")
    draw(comparison, directory)


def tables(comparison: Comparison) -> list[Table]:
    """Return a row for each setting, and the probability of improvement of each over each other."""
    envs = comparison.envs
    where = f" on {envs[0]}" if len(envs) == 1 else "" if "env" in comparison.group else f" over {', '.join(envs)}"
    settings = comparison.settings
    table = new_table(f"{comparison.metric}{where}, with 95% intervals over seeds")
    table.add_column("", justify="right", no_wrap=True)
    for heading in short_names(comparison.group) or ["runs"]:
        table.add_column(heading, justify="right", overflow="fold")
    for heading in ("seeds", "mean", "95% range", "IQM", "95% range", "lowest", "highest"):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, setting in enumerate(settings, 1):
        lowest, highest = np.min(np.concatenate(setting.scores)), np.max(np.concatenate(setting.scores))
        numbers = [_number(comparison, value) for value in (setting.mean, setting.iqm, float(lowest), float(highest))]
        ranges = [_range(comparison, ends) for ends in (setting.mean_interval, setting.iqm_interval)]
        cells = [str(setting.seeds), numbers[0], ranges[0], numbers[1], ranges[1], *numbers[2:]]
        table.add_row(str(number), *(setting.values.values() or ["all"]), *cells)
    found = [table]
    if 1 < len(settings) <= MOST_COLUMNS and comparison.improvements:
        pairs = new_table("Probability that a run of the row scores higher than one of the column")
        pairs.add_column("", justify="right", no_wrap=True)
        pairs.add_column("setting", overflow="fold")
        for number in range(1, len(settings) + 1):
            pairs.add_column(str(number), justify="right", no_wrap=True)
        for one, setting in enumerate(settings):
            pairs.add_row(
                str(one + 1), setting.label, *(_pair(comparison, one, other) for other in range(len(settings)))
            )
        found.append(pairs)
    return found


def _number(comparison: Comparison, value: float) -> str:
    return as_percent(value) if is_rate(comparison.metric) else f"{value:.4g}"


def _range(comparison: Comparison, ends: tuple[float, float] | None) -> str:
    if ends is None:
        return "-"
    if is_rate(comparison.metric):
        return as_percents(*ends)
    return f"{ends[0]:.4g} to {ends[1]:.4g}"


def _pair(comparison: Comparison, one: int, other: int) -> str:
    found = comparison.improvements.get((one, other))
    if found is None:
        return ""
    ends = "" if found.interval is None else f" ({100 * found.interval[0]:.0f}-{100 * found.interval[1]:.0f})"
    return f"{100 * found.probability:.0f}%{ends}"


def as_csv(comparison: Comparison) -> str:
    """Return a row for each setting, with unrounded numbers."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    columns = ["mean", "mean_low", "mean_high", "iqm", "iqm_low", "iqm_high", "lowest", "highest"]
    writer.writerow([*comparison.group, "metric", "seeds", *columns])
    for setting in comparison.settings:
        scores = np.concatenate(setting.scores)
        mean = [setting.mean, *(setting.mean_interval or (None, None))]
        iqm = [setting.iqm, *(setting.iqm_interval or (None, None))]
        values = [*mean, *iqm, float(scores.min()), float(scores.max())]
        writer.writerow([*setting.values.values(), comparison.metric, setting.seeds, *values])
    return text.getvalue()


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """Return all results as plain values for JSON."""
    settings = [
        {
            "setting": dict(setting.values),
            "seeds": setting.seeds,
            "mean": setting.mean,
            "mean_ci95": setting.mean_interval,
            "iqm": setting.iqm,
            "iqm_ci95": setting.iqm_interval,
            "runs": [
                {"run": str(run.directory), "env": env, "seed": run.seed, "score": run.score}
                for env, runs in setting.runs.items()
                for run in runs
            ],
        }
        for setting in comparison.settings
    ]
    labels = [setting.label for setting in comparison.settings]
    pairs = [
        {"setting": labels[one], "over": labels[other], "probability": found.probability, "ci95": found.interval}
        for (one, other), found in comparison.improvements.items()
    ]
    left_out = [{"run": str(path), "reason": reason} for path, reason in comparison.left_out.items()]
    names = {"metric": comparison.metric, "curve": comparison.curve_metric, "group": comparison.group}
    return {**names, "settings": settings, "improvement": pairs, "left_out": left_out}


def marl_eval_data(comparison: Comparison) -> dict[str, Any]:
    """Return the layout of marl-eval (Gorsane et al. 2022): environment, task, algorithm, run, step, lists of metrics.

    Our environments are tasks of one suite, over which it aggregates, and settings are algorithms. `absolute_metrics`
    are the final evaluation. It needs the same metric there and at every step, as many steps in every run, and the same
    seeds in all settings.
    """
    tasks: dict[str, dict[str, Any]] = {}
    name = comparison.metric.partition("/")[2]
    is_curve = comparison.curve_metric.partition("/")[2] == name
    for setting in comparison.settings:
        for env, runs in setting.runs.items():
            named = tasks.setdefault(env, {}).setdefault(setting.label, {})
            for run in runs:
                steps, values = run.curve if run.curve is not None and is_curve else ((), ())
                found: dict[str, Any] = {
                    f"step_{number}": {"step_count": int(step), name: [float(value)]}
                    for number, (step, value) in enumerate(zip(steps, values, strict=True), 1)
                }
                found["absolute_metrics"] = {name: [run.score]}
                named[_run_name(run, named)] = found
    return {SUITE: tasks}


def _run_name(run: FinishedRun, taken: dict[str, Any]) -> str:
    """Return the name of a run by its seed, or a longer one if a run with another setting has that seed, too."""
    name = f"seed_{run.seed}"
    return name if name not in taken else f"{name}_{len(taken)}"


def draw(comparison: Comparison, directory: Path) -> None:
    """Write the figure as PNG and SVG, if matplotlib is installed."""
    figure = draw_figure(comparison)
    if figure is None:
        return
    from matplotlib import rc_context

    with rc_context(STYLE):
        save_figure(figure, directory / f"{FIGURE}.png", dpi=200)
        save_figure(figure, directory / f"{FIGURE}.svg", metadata={"Date": None})


def draw_figure(comparison: Comparison) -> Any:
    """Plot learning curves for each environment, and beside them the IQM of each setting; None without matplotlib."""
    ranked = sorted(range(len(comparison.settings)), key=lambda number: -comparison.settings[number].iqm)
    drawn = [comparison.settings[number] for number in sorted(ranked[:MOST_DRAWN])]
    curves = {env: [setting.curve(env) for setting in drawn] for env in comparison.envs}
    curves = {env: found for env, found in curves.items() if any(one is not None for one in found)}
    figure = new_figure(2.6 * (len(curves) + 1), max(2.0, 0.8 + 0.22 * len(drawn)))
    if figure is None:
        return None
    from matplotlib import rc_context

    with rc_context(STYLE):
        panels = figure.subplots(1, len(curves) + 1, squeeze=False)[0]
        for axes, (env, found) in zip(panels, curves.items(), strict=False):
            _draw_curves(axes, found, env, comparison.curve_metric)
        _draw_scores(panels[-1], drawn, comparison.metric)
        if len(drawn) < len(comparison.settings):
            figure.suptitle(f"the best {len(drawn)} of {len(comparison.settings)} settings", fontsize=8)
    return figure


def _draw_curves(axes: Any, curves: Sequence[Band | None], env: str, metric: str) -> None:
    """Draw the IQM over seeds at each step, with its 95% interval as a band."""
    from matplotlib.ticker import EngFormatter, PercentFormatter

    for curve, color in zip(curves, COLORS, strict=False):
        if curve is not None:
            steps, middle, (low, high) = curve
            axes.plot(steps, middle, color=color)
            axes.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel="step", ylabel=_axis_label(metric), title=env)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    if is_rate(metric):
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))


def _draw_scores(axes: Any, settings: Sequence[Setting], metric: str) -> None:
    """Draw a row for each setting: the IQM as a line, its 95% interval as a bar, and its runs as dots."""
    from matplotlib.ticker import PercentFormatter

    for row, (setting, color) in enumerate(zip(settings, COLORS, strict=False)):
        low, high = setting.iqm_interval or (setting.iqm, setting.iqm)
        axes.barh(row, high - low, left=low, height=0.6, color=color, alpha=0.3, linewidth=0)
        axes.plot([setting.iqm] * 2, [row - 0.3, row + 0.3], color=color)
        scores = np.concatenate(setting.scores)
        axes.plot(scores, np.full(len(scores), row), ".", color=color, markersize=4)
    axes.set(xlabel=_axis_label(metric), title="IQM, 95% interval and runs")
    axes.use_sticky_edges = False
    axes.autoscale()
    axes.set_yticks(range(len(settings)), [_plain(setting.label) for setting in settings])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    if is_rate(metric):
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))


def _axis_label(metric: str) -> str:
    return _plain(metric.partition("/")[2].replace("_", " "))


def _plain(text: str) -> str:
    """Return text that matplotlib does not read as a formula."""
    return printable(text).replace("$", r"\$")
