"""Kill trainings repeatedly, also during writes; their results must equal those of an uninterrupted one.

Most are forked; some go through the real command line. A case is one run with all its kills.
"""

import gc
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from experiments.faults import forks, lines
from experiments.faults.report import Row
from experiments.faults.training import TRAININGS, Training, damage, difference
from src.core.runs.config_file import CONFIG
from tests import parsed_configs

ROOT = Path(__file__).parents[2]
MAX_SECONDS = 240.0  # of a training, on a busy machine too
MAX_KILLS = 12  # of one run, which may then end
SIGNALS = (*([signal.SIGKILL] * 8), signal.SIGTERM, signal.SIGINT)
COMMAND_KILLS = 4  # of one run by its command
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Kill:
    """When and how a training is killed."""

    aim: str  # time: after so many seconds; operation: at a file operation; cut: in a write, after so many bytes
    moment: float
    signal: int

    def __str__(self) -> str:
        return f"{signal.Signals(self.signal).name} at {self.aim} {self.moment:.6g}"


@dataclass(frozen=True)
class Reference:
    """A run that was not killed."""

    directory: Path
    seconds: float
    operations: int
    largest: int  # bytes of its largest file


class Operations:
    """Counts operations that change files, and ends the process before or after one of them."""

    def __init__(self, last: int, number: int) -> None:
        self.count, self.last, self.number = 0, last, number

    def install(self) -> None:
        for module, name in ((os, "replace"), (os, "unlink"), (os, "mkdir"), (os, "fsync")):
            setattr(module, name, self.counted(getattr(module, name), lambda *_: True))
        os.open = self.counted(os.open, lambda _, flags, *__: bool(flags & WRITES))
        io.open = self.counted(io.open, lambda _, mode="r", *__: mode[0] != "r")

    def counted(self, function: Callable[..., Any], writes: Callable[..., bool]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if not writes(*arguments):
                return function(*arguments, **options)
            self.tick()
            result = function(*arguments, **options)
            self.tick()
            return result

        return call

    def tick(self) -> None:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), self.number)


def train(folder: Path, arguments: Sequence[str], kill: Kill | None, count: Path | None = None) -> None:
    """Run `python -m src.train` in a forked child."""
    from src.train import run

    os.chdir(folder)
    sys.argv = ["src.train", *arguments]
    operations = Operations(int(kill.moment) if kill and kill.aim == "operation" else 0, kill.signal if kill else 0)
    if count is not None or operations.last:
        operations.install()
    if kill is not None and kill.aim == "cut":
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the write that passes the limit is cut short, the next kills
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(kill.moment), int(kill.moment)))
    run()
    if count is not None:
        count.write_text(str(operations.count))


def trained(training: Training, folder: Path, name: str) -> Reference:
    count, began = folder / f"{name}.count", time.monotonic()
    arguments = training.arguments(Path(name))
    child = forks.start(lambda: train(folder, arguments, None, count), folder / f"{name}.txt")
    if not child.wait(MAX_SECONDS) or child.code != 0:
        child.kill()
        raise RuntimeError(f"{training.name} does not even end without a kill:\n{child.text[-2000:]}")
    directory, seconds = folder / name, time.monotonic() - began
    largest = max(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    return Reference(directory, seconds, int(count.read_text()), largest)


class Killer:
    """Runs the cases of one seed in its own folder, which other processes may share."""

    def __init__(self, folder: Path, seed: int, trainings: Sequence[Training] = TRAININGS) -> None:
        self.folder, self.seed, self.trainings = folder, seed, trainings
        import_everything()

    def target(self, number: int) -> str:
        return self.trainings[number % len(self.trainings)].name

    def reference(self, training: Training) -> Reference:
        """Train without a kill, once for all attacks, to get the expected result and the duration."""
        folder = self.folder.parent / "references"
        folder.mkdir(exist_ok=True)
        name = training.name.replace(", ", "-")
        known = folder / f"{name}.json"
        with FileLock(folder / f"{name}.lock"):
            if not known.exists():
                known.write_text(json.dumps(asdict(trained(training, folder, name)), default=str))
        fields = json.loads(known.read_text())
        return Reference(**fields | {"directory": Path(fields["directory"])})

    def case(self, number: int, row: Row) -> None:
        """Kill one run until it ends; every kill counts as one attempt."""
        training = self.trainings[number % len(self.trainings)]
        reference, rng = self.reference(training), random.Random(f"{self.seed} kills {number}")
        run = Path(f"killed-{number}")
        shutil.rmtree(self.folder / run, ignore_errors=True)
        history: list[str] = []
        for kill in (*kills(rng, reference), None):
            arguments = next_arguments(training, self.folder, run)
            child = forks.start(lambda: train(self.folder, arguments, kill), self.folder / f"{run}.txt")  # noqa: B023
            reason, killed = self.end(child, kill)
            if killed:
                row.tried += 1
                history.append(str(kill))
                reason = reason or damage(self.folder / run)
            if reason is not None or not killed:
                break
        reason = reason or difference(self.folder / run, reference.directory)
        row.tried += not history  # a run that no kill has met
        if reason is not None:
            row.fail(number, f"{training.name}: {reason}; kills: {', '.join(history) or 'none'}")
        else:
            shutil.rmtree(self.folder / run)

    def end(self, child: forks.Child, kill: Kill | None) -> tuple[str | None, bool]:
        """Return the failure before the child ended, and whether it was killed."""
        if kill is not None and kill.aim == "time":
            child.wait(kill.moment)
            child.send(kill.signal)
        if not child.wait(MAX_SECONDS):
            child.kill()
            return f"does not end within {MAX_SECONDS:.0f} s", False
        if child.code == 0:
            return None, False
        if kill is not None and was_killed(child.code, child.text, kill):
            return None, True
        return f"ended with code {child.code}: {child.text[-500:]}", False


def was_killed(code: int, text: str, kill: Kill) -> bool:
    if kill.signal == signal.SIGINT:
        last = text.strip().rpartition("\n")[2]
        return code == -signal.SIGINT or last.startswith(("stopped", "KeyboardInterrupt"))
    return code == -kill.signal


def kills(rng: random.Random, reference: Reference) -> Iterator[Kill]:
    for _ in range(rng.randrange(2, MAX_KILLS + 1)):
        aim, number = rng.choice(("time", "operation", "operation", "cut")), rng.choice(SIGNALS)
        share = rng.choice((0.2, 0.4, 1.0))  # of a whole run; what is resumed has less to do
        if aim == "time":
            yield Kill(aim, rng.uniform(0.0, share * reference.seconds), number)
        elif aim == "operation":
            yield Kill(aim, 1 + int(rng.random() * share * reference.operations), number)
        else:
            yield Kill(aim, rng.randrange(1, reference.largest), signal.SIGXFSZ)


def next_arguments(training: Training, folder: Path, run: Path) -> list[str]:
    """Resume, or start again if the run was killed before it had a configuration."""
    if (folder / run / CONFIG).exists():
        return [f"resume={run}", "logger=csv"]
    shutil.rmtree(folder / run, ignore_errors=True)
    return training.arguments(run)


@cache
def import_everything() -> None:
    """Import, read and compile everything that a training needs, so that children need not."""
    import matplotlib
    import torch._dynamo  # noqa: F401 which optimizers import
    from hydra.core.plugins import Plugins

    import src.algos.alphabeta
    import src.algos.alphazero
    import src.algos.imitation
    import src.algos.maskable_ppo
    import src.algos.nnue
    import src.algos.ppo
    import src.algos.qlearning
    import src.config.load
    import src.train
    from src.core.runs.curve import draw_counts
    from src.core.runs.provenance import provenance, uncommitted

    matplotlib.use("agg")
    Plugins.instance()
    src.config.load.allowed_targets()
    provenance()  # caches the output of git
    uncommitted()
    with tempfile.TemporaryDirectory() as folder:
        draw_counts(Path(folder, "counts.png"), {"counts": np.ones((2, 2))})
    for env, agent in (("quoridor", "runner"), ("minesweeper_8x8", "exact"), ("deployment", "greedy")):
        lines.play_out((f"env={env}", f"agent={agent}"), moves=30)
    parsed_configs.keep()
    parsed_configs.parse_all()
    gc.collect()
    gc.freeze()  # a collection in a child would copy all the memory that it shares


class CommandLine:
    """The same through `python -m src.train`: kills at random moments and right after a file has changed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.killer, self.folder = Killer(folder, seed), folder

    def target(self, number: int) -> str:
        return self.killer.target(number)

    def case(self, number: int, row: Row) -> None:
        training = self.killer.trainings[number % len(self.killer.trainings)]
        reference, rng = self.killer.reference(training), random.Random(f"{self.killer.seed} command {number}")
        run = Path(f"command-{number}")
        history: list[str] = []
        shutil.rmtree(self.folder / run, ignore_errors=True)
        while True:
            process = self.start(next_arguments(training, self.folder, run))
            moment = rng.randrange(1, 12) if len(history) < COMMAND_KILLS else None  # changes of files
            killed = moment is not None and kill_after_changes(process, self.folder / run, moment)
            _, text = process.communicate(timeout=MAX_SECONDS)
            if not killed:
                break
            row.tried += 1
            history.append(f"SIGKILL after {moment} changes")
            reason = damage(self.folder / run)
            if reason is not None:
                row.fail(number, f"{training.name}: {reason}; kills: {', '.join(history)}")
                return
        reason = difference(self.folder / run, reference.directory) if process.returncode == 0 else text[-500:]
        if reason is not None:
            row.fail(number, f"{training.name} by its command: {reason}; kills: {', '.join(history)}")

    def start(self, arguments: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "src.train", *arguments],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | forks.WITHOUT_THREADS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )


def kill_after_changes(process: subprocess.Popen[str], directory: Path, changes: int) -> bool:
    """Kill the process right after this many changes in its directory; return False if it had ended before."""
    before, until = _stamps(directory), time.monotonic() + MAX_SECONDS
    while changes > 0 and process.poll() is None and time.monotonic() < until:
        now = _stamps(directory)
        changes -= now != before
        before = now
        time.sleep(0.0005)
    if process.poll() is not None:
        return False
    process.kill()
    return True


def _stamps(directory: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for folder in (directory, directory / "checkpoints"):
        try:
            for entry in os.scandir(folder):
                status = entry.stat()
                found[entry.path] = status.st_mtime_ns, status.st_size
        except OSError:  # not there yet, or a file that is gone again
            continue
    return found
