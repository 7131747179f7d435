"""The trials of a hyperparameter search: an Optuna study in a journal file of the sweep directory, and its report.

Processes on several machines share the file: the search samples trials and records their results, and each job reports
its evaluations there and learns from it whether to stop. The report has the best settings, their importance, and plots.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from ..errors import UserError, require
from ..files import read_regular, write_atomic
from ..package import install_command
from .console import printable
from .curve import new_figure, save_figure
from .run import Pruned
from .sweep_jobs import Job

JOURNAL = "optuna.log"
STUDY = "search"  # name of the only study in a journal
STEPS = "steps"  # attribute of a trial: the training step of each evaluation
MAX_BYTES = 1 << 28  # of the journal
MAX_RESULT = 1e15  # of a trial or an evaluation, in either direction
RESULTS, HISTORY, IMPORTANCE = "optimization_results.yaml", "history.png", "importance.png"
MIN_TRIALS = 4  # finished trials for an estimate of importance
INSTALL = f"a search needs Optuna 4 or newer: {install_command('sweep')}"


def import_optuna() -> Any:
    """Import Optuna, which comes with an extra."""
    try:
        import optuna
        from optuna.storages.journal import JournalFileOpenLock  # noqa: F401 (missing in earlier versions)
    except ImportError as error:
        raise UserError(INSTALL) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


@contextmanager
def journal_errors(directory: Path) -> Iterator[None]:
    """Raise errors of Optuna about the contents of a journal, which it does not check, as `UserError`."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise UserError(f"{directory / JOURNAL} is not readable as the journal of a search: {reason}") from error


def open_study(directory: Path, sampler: Any = None, pruner: Any = None) -> Any:
    """Open the study of a search, or create it; all searches maximize.

    Each write takes a lock file that is created exclusively, which is atomic on local disks and on NFS 3 or newer; the
    lock of a killed process expires after 30 seconds. Optuna's default lock is a symlink to the journal, which never
    expires if the path is relative, as for a sweep.
    """
    optuna, path = import_optuna(), directory / JOURNAL
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    if path.exists():
        read_regular(path, MAX_BYTES)  # Optuna would wait for a pipe
    with journal_errors(directory):
        storage = JournalStorage(JournalFileBackend(str(path), lock_obj=JournalFileOpenLock(str(path))))
        if not storage.get_all_studies():
            optuna.create_study(study_name=STUDY, storage=storage, direction="maximize")
        study = optuna.load_study(study_name=STUDY, storage=storage, sampler=sampler, pruner=pruner)
        for trial in study.get_trials(deepcopy=False):
            for value in (*(trial.values or ()), *trial.intermediate_values.values()):
                valid = -MAX_RESULT <= value <= MAX_RESULT
                require(valid, f"{path}: the result {value} of trial {trial.number} must be within {MAX_RESULT}")
            valid = all(isinstance(step, int) for step in trial.user_attrs.get(STEPS, ()))
            require(valid, f"{path}: the {STEPS} of trial {trial.number} are not integers")
    return study


def drop_partial_line(directory: Path) -> None:
    """Remove a last line without its end, left by a process that was killed or by a full disk.

    It is read again under the lock of the journal, because a job may be writing that line.
    """
    path = directory / JOURNAL
    if not path.exists() or read_regular(path, MAX_BYTES).endswith(b"\n"):
        return
    from optuna.storages.journal import JournalFileOpenLock

    lock = JournalFileOpenLock(str(path))
    lock.acquire()
    try:
        with path.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
    finally:
        lock.release()


class TrialObserver:
    """Reports the evaluations of a job to the study, and raises `Pruned` if the pruner decides to stop it.

    Trials are compared after the same number of evaluations, not of training steps: those depend on the size of a
    rollout, which may itself be searched.
    """

    def __init__(self, directory: Path, number: int, pruner: Any) -> None:
        require((directory / JOURNAL).exists(), f"{directory} has no {JOURNAL}: the search was deleted")
        self._study = open_study(directory, pruner=pruner)
        found = [trial for trial in self._study.get_trials() if trial.number == number]
        require(bool(found), f"{directory / JOURNAL} has no trial {number}: the search was deleted and begun anew")
        self._trial = found[0]
        self._storage = self._study._storage
        self._steps: list[int] = list(self._trial.user_attrs.get(STEPS, ()))  # before the run was resumed

    def __call__(self, step: int, score: float) -> None:
        trial_id = self._trial._trial_id
        if step not in self._steps:
            self._steps = sorted([*self._steps, step])
            self._storage.set_trial_user_attr(trial_id, STEPS, self._steps)
        self._storage.set_trial_intermediate_value(trial_id, self._steps.index(step) + 1, score)
        if self._study.pruner.prune(self._study, self._storage.get_trial(trial_id)):
            raise Pruned(f"{score:.4g} at step {step}")


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
