"""Kill hyperparameter searches, or start one twice; the trials must be those of a search that was not killed."""

import atexit
import csv
import json
import random
import shutil
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from filelock import FileLock

from experiments.faults import forks
from experiments.faults.kills import MAX_SECONDS, Kill, import_everything, train, was_killed
from experiments.faults.report import Row
from experiments.faults.training import difference
from src.core.runs import trials

SWEEP = "hydra.sweep.dir=sweep"
COMMAND = (
    *("hparams_search=tictactoe_qlearning", "pruner=median", "hydra.sweeper.pruner.n_startup_trials=1", SWEEP),
    *("hydra.sweeper.n_trials=5", "algo.episodes=300", "algo.eval_every=100", "evaluation.episodes=4"),
    *("logger=csv", "checkpoint_seconds=0.05"),
)
MAX_KILLS = 5  # of one search, which may then end
TOGETHER = 4  # one case in so many starts two searches at once


def result(folder: Path) -> tuple[list[object], list[list[str]]]:
    """Return the trials of a search and its table, without numbers: sampling that was killed leaves one unused."""
    found = trials.open_study(folder / "sweep").get_trials()
    settings = max(len(trial.params) for trial in found)
    whole: list[object] = [
        (trial.params, trial.values, trial.state.name, trial.intermediate_values)
        for trial in found
        if len(trial.params) == settings
    ]
    with (folder / "sweep/sweep.csv").open(newline="") as file:
        return whole, [row[1:] for row in csv.reader(file)]


class Searches:
    """The cases of one seed."""

    def __init__(self, folder: Path, seed: int, command: Sequence[str] = COMMAND) -> None:
        self.folder, self.seed, self.command = folder, seed, command
        import_everything()
        trials.import_optuna()

    def target(self, number: int) -> str:
        return "killed" if number % TOGETHER else "two at once"

    def start(self, folder: Path, kill: Kill | None = None, output: str = "output") -> forks.Child:
        folder.mkdir(exist_ok=True)
        return forks.start(lambda: search(folder, self.command, kill), folder / f"{output}.txt")

    def reference(self) -> tuple[Path, float, int]:
        """Run the search once; return its folder, how long it took, and the operations that changed files."""
        folder, measured = self.folder / "reference", self.folder / "reference.json"
        with FileLock(self.folder / "reference.lock"):
            if not measured.exists():
                folder.mkdir()
                count, began = self.folder / "count", time.monotonic()
                child = forks.start(lambda: search(folder, self.command, None, count), self.folder / "reference.txt")
                if not child.wait(MAX_SECONDS) or child.code != 0:
                    raise RuntimeError(f"the search does not end without a kill: {child.text[-2000:]}")
                measured.write_text(json.dumps([time.monotonic() - began, int(count.read_text())]))
        return (folder, *json.loads(measured.read_text()))

    def case(self, number: int, row: Row) -> None:
        rng, folder = random.Random(f"{self.seed} searches {number}"), self.folder / f"case-{number}"
        reference, seconds, operations = self.reference()
        shutil.rmtree(folder, ignore_errors=True)
        if self.target(number) == "killed":
            reason = self.killed(folder, kills(rng, seconds, operations), row)
        else:
            row.tried += 1
            reason = self.together(rng, folder)
        reason = reason or self.compared(folder, reference)
        if reason is not None:
            row.fail(number, reason)
        else:
            shutil.rmtree(folder)

    def killed(self, folder: Path, moments: Iterable[Kill], row: Row) -> str | None:
        """Kill the search again and again, then let it end."""
        history: list[str] = []
        for kill in (*moments, None):
            child = self.start(folder, kill)
            if kill is not None and kill.aim == "time":
                child.wait(kill.moment)
                child.send(kill.signal)
            if not child.wait(MAX_SECONDS):
                child.kill()
                return f"does not end within {MAX_SECONDS:.0f} s; kills: {', '.join(history)}"
            if child.code == 0:
                break
            if kill is None or not was_killed(child.code, child.text, kill):
                return f"ended with code {child.code}: {child.text[-800:]}; kills: {', '.join(history)}"
            row.tried += 1
            history.append(str(kill))
        row.tried += not history
        return None

    def together(self, rng: random.Random, folder: Path) -> str | None:
        """Start the same search twice: one of them runs it, the other does too later or is refused in a sentence."""
        first = self.start(folder, output="first")
        time.sleep(rng.choice((0.0, 0.05, 0.3)))
        second = self.start(folder, output="second")
        for child in (first, second):
            if not child.wait(MAX_SECONDS):
                child.kill()
                return "does not end"
        texts = [child.text for child in (first, second)]
        if first.code and second.code:
            return f"both ended with an error: {texts[0][-800:]} {texts[1][-800:]}"
        for child, text in zip((first, second), texts, strict=True):
            if child.code and ("Traceback" in text or "error: " not in text):
                return f"one of two ended with code {child.code}: {text[-800:]}"
        return None

    def compared(self, folder: Path, reference: Path) -> str | None:
        """Return how the search differs from one that was not killed."""
        (ours, our_table), (other, table) = result(folder), result(reference)
        if ours != other or our_table != table:
            return f"the trials differ from those of a search that was not killed: {ours} instead of {other}"
        for job, its in zip(_jobs(folder), _jobs(reference), strict=True):
            reason = difference(job, its)
            if reason is not None:
                return f"job {job.name}: {reason}"
        return None


def _jobs(folder: Path) -> list[Path]:
    return sorted(file.parent for file in (folder / "sweep").glob("[0-9]/eval.json"))


def kills(rng: random.Random, seconds: float, operations: int) -> Iterator[Kill]:
    for _ in range(rng.randrange(1, MAX_KILLS + 1)):
        aim, share = rng.choice((("time", seconds), ("operation", operations)))
        number = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
        yield Kill(aim, share * rng.choice((0.2, 0.5, 1.0)) * rng.random() + (aim == "operation"), number)


def search(folder: Path, command: Sequence[str], kill: Kill | None, count: Path | None = None) -> None:
    """Run the search and what its command does at exit: a forked child has no other exit."""
    atexit._clear()  # of the parent
    try:
        train(folder, command, kill, count)
    finally:
        atexit._run_exitfuncs()
