"""Report a hyperparameter search: its best settings, their importance, and plots, in the sweep directory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ..errors import UserError
from ..files import write_atomic
from .console import printable
from .curve import new_figure, save_figure
from .sweep import Job
from .trials import JOURNAL, import_optuna, journal_errors, open_study

RESULTS, HISTORY, IMPORTANCE = "optimization_results.yaml", "history.png", "importance.png"
MIN_TRIALS = 4  # finished trials for an estimate of importance


def write_report(directory: Path, jobs: Sequence[Job]) -> str | None:
    """Write the report of a search and return a sentence about its best trial; None if there is nothing to report."""
    if not (directory / JOURNAL).exists():
        return None
    try:
        import_optuna()
    except UserError:  # not installed here
        return None
    with journal_errors(directory):
        study = open_study(directory)
        states = [trial.state.name.lower() for trial in study.get_trials()]
        finished = states.count("complete")
        importance, best = param_importance(study), study.best_trial if finished else None
    metric = next((job.metric for job in jobs if job.metric is not None), "result")
    _draw_history(directory / HISTORY, study, jobs, metric)
    if best is None:
        return None
    if importance:
        _draw_importance(directory / IMPORTANCE, importance, metric, finished)
    report = {
        "name": "optuna",
        "best_value": best.value,
        "best_params": best.params,
        "best_job": best.number,
        "trials": {state: states.count(state) for state in dict.fromkeys(states)},
        "importance": importance,
    }
    write_atomic(directory / RESULTS, yaml.safe_dump(report, sort_keys=False))
    return f"the best of {finished} finished trials is job {best.number}: {metric} {best.value:.4g}"


def param_importance(study: Any) -> dict[str, float]:
    """Return the share of each setting in the difference between the best finished trials and all, by PED-ANOVA.

    It needs no package beyond Optuna. Empty with few trials, or if all have the same result.
    """
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    results = [trial.value for trial in study.get_trials() if trial.state.name == "COMPLETE"]
    if len(results) < MIN_TRIALS or len(set(results)) == 1:
        return {}
    found = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    return {name: round(float(value), 4) for name, value in found.items()}


def _draw_history(path: Path, study: Any, jobs: Sequence[Job], metric: str) -> None:
    """Plot the result of each trial with its 95% interval, the best so far, and the last score of pruned trials."""
    figure = new_figure(7, 3.8)
    done = {job.name: job for job in jobs}
    trials = [trial for trial in study.get_trials() if trial.state.name in ("COMPLETE", "PRUNED")]
    values = {trial.number: trial.value for trial in trials if trial.state.name == "COMPLETE"}
    pruned = {
        trial.number: trial.intermediate_values[trial.last_step]
        for trial in trials
        if trial.state.name == "PRUNED" and trial.last_step is not None
    }
    if figure is None or not trials:
        return
    axes = figure.add_subplot()
    for number, value in values.items():
        job = done.get(str(number))
        low, high = (job.interval if job is not None else None) or (value, value)
        error = [[max(value - low, 0)], [max(high - value, 0)]]
        label = "finished" if number == min(values) else None
        axes.errorbar(number, value, yerr=error, fmt="o", markersize=4, capsize=2, color="C0", label=label)
    if pruned:
        axes.plot(*zip(*pruned.items(), strict=True), "x", color="C3", label="pruned, score of its last evaluation")
    numbers = sorted(values)
    best = [max(values[earlier] for earlier in numbers if earlier <= number) for number in numbers]
    axes.step(numbers, best, where="post", color="C1", label="best so far")
    axes.set(xlabel="trial", ylabel=_label(metric))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")
    save_figure(figure, path, dpi=120)


def _draw_importance(path: Path, importance: dict[str, float], metric: str, trials: int) -> None:
    figure = new_figure(7, 1.2 + 0.35 * len(importance))
    if figure is None:
        return
    axes = figure.add_subplot()
    axes.barh([_label(name) for name in importance][::-1], list(importance.values())[::-1])
    axes.set(xlabel=f"importance for {_label(metric)} (PED-ANOVA, {trials} trials)", xlim=(0, 1))
    axes.grid(alpha=0.3, axis="x")
    save_figure(figure, path, dpi=120)


def _label(text: str) -> str:
    """Return the text of a label, which matplotlib does not read as a formula."""
    return printable(text).replace("$", r"\$")
