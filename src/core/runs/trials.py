"""The trials of a hyperparameter search: an Optuna study in a journal file of the sweep directory.

Processes on several machines share the file: the search samples trials and records their results, and each job reports
its evaluations there and learns from it whether to stop.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..errors import UserError, require
from ..package import install_command
from .run import Pruned

JOURNAL = "optuna.log"
LOCK = ".search.lock"  # held by the process that samples the trials
STUDY = "search"  # name of the only study in a journal
STEPS = "steps"  # attribute of a trial: the training step of each evaluation
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
def locked(directory: Path) -> Iterator[None]:
    """Lock the search of a directory, so that two commands do not run the same trials."""
    lock = FileLock(directory / LOCK)
    try:
        lock.acquire(timeout=0.1)
    except Timeout:
        raise UserError(f"another process runs the search in {directory}: wait for it or stop it") from None
    try:
        yield
    finally:
        lock.release()


def open_storage(directory: Path) -> Any:
    """Open the journal of a search for reading and writing.

    Each write takes a lock file that is created exclusively, which is atomic on local disks and on NFS 3 or newer; the
    lock of a killed process expires after 30 seconds. Optuna's default lock is a symlink to the journal, which never
    expires if the path is relative, as that of a sweep is.
    """
    import_optuna()
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    path = str(directory / JOURNAL)
    return JournalStorage(JournalFileBackend(path, lock_obj=JournalFileOpenLock(path)))


def open_study(directory: Path, sampler: Any = None, pruner: Any = None) -> Any:
    """Open the study of a search, or create it; all searches maximize."""
    return import_optuna().create_study(
        study_name=STUDY,
        storage=open_storage(directory),
        sampler=sampler,
        pruner=pruner,
        direction="maximize",
        load_if_exists=True,
    )


def drop_partial_line(directory: Path) -> None:
    """Remove a last line without its end, left by a process that was killed or by a full disk.

    It is read again under the lock of the journal, because a job may be writing that line.
    """
    path = directory / JOURNAL
    if not path.exists() or path.read_bytes().endswith(b"\n"):
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
        self._trial = next(trial for trial in self._study.get_trials() if trial.number == number)
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
