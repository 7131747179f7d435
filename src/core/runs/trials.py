"""The trials of a hyperparameter search: an Optuna study in a journal file of the sweep directory.

Processes on several machines share the file: the search samples trials and records their results, and each job reports
its evaluations there and learns from it whether to stop.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import UserError, require
from ..files import read_regular
from ..package import install_command
from .run import Pruned

JOURNAL = "optuna.log"
STUDY = "search"  # name of the only study in a journal
STEPS = "steps"  # attribute of a trial: the training step of each evaluation
MAX_BYTES = 1 << 28  # of the journal
MAX_RESULT = 1e15  # of a trial or an evaluation, in either direction
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
    expires if the path is relative, as that of a sweep is.
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
