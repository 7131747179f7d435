"""Kill a rank of two, or torchrun itself; all ranks must end, and the resumed run must give the same result."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from experiments.faults import forks
from experiments.faults.kills import ROOT, next_arguments
from experiments.faults.report import Row
from experiments.faults.training import PPO, Training, damage, difference

TRAINING = Training(
    "ppo, two ranks",
    (*PPO, "env=minesweeper_8x8", "algo.total_steps=4096", "algo.eval_every=1024", "checkpoint_seconds=0.5"),
)  # long enough that ranks which train on after the kill are still there, or have finished the run
KILLS = 2  # of one run
PATIENCE = 900.0  # seconds for a whole run of two ranks, on a busy machine
ENDING = 60.0  # seconds for the ranks to end after a kill, on a busy machine
VICTIMS = ("torchrun", "rank")


class Torchrun:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed

    def target(self, number: int) -> str:
        return TRAINING.name

    def start(self, arguments: list[str], mark: str) -> subprocess.Popen[bytes]:
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        environment = {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "FAULTS_CASE": mark} | forks.WITHOUT_THREADS
        with (self.folder / f"{mark}.txt").open("ab") as output:
            return subprocess.Popen(
                [*launcher, "-m", "src.train", *arguments],
                cwd=self.folder,
                env=os.environ | environment,
                stdout=subprocess.DEVNULL,
                stderr=output,
            )

    def reference(self) -> Path:
        directory = self.folder / "reference"
        with FileLock(self.folder / "reference.lock"):
            if not (directory / "eval.json").exists():
                process = self.start(TRAINING.arguments(Path("reference")), "reference")
                if not ended_well(process, "reference"):
                    raise RuntimeError((self.folder / "reference.txt").read_text()[-2000:])
        return directory

    def case(self, number: int, row: Row) -> None:
        rng, run = random.Random(f"{self.seed} torchrun {number}"), Path(f"killed-{number}")
        reference = self.reference()
        shutil.rmtree(self.folder / run, ignore_errors=True)
        mark, history, reason = f"case-{number}", list[str](), None
        while reason is None:
            process = self.start(next_arguments(TRAINING, self.folder, run), mark)
            if len(history) == KILLS:
                break
            rows, victim = rng.randrange(6), VICTIMS[(number + len(history)) % 2]
            if not self.wait_for_rows(process, self.folder / run, rows):
                break
            killed = rng.choice(ranks_of(mark, process.pid) or [process.pid]) if victim == "rank" else process.pid
            os.kill(killed, signal.SIGKILL)
            row.tried += 1
            history.append(f"SIGKILL of {'torchrun' if killed == process.pid else 'a rank'} after {rows} rows")
            process.wait()
            reason = self.wait_for_end(mark, process.pid) or damage(self.folder / run)
            if reason is None and (self.folder / run / "eval.json").exists():
                reason = "the ranks have trained on to the end"
        row.tried += not history
        if reason is None:
            text = self.folder / f"{mark}.txt"
            well = ended_well(process, mark)
            reason = difference(self.folder / run, reference) if well else f"does not end: {text.read_text()[-800:]}"
        if reason is not None:
            row.fail(number, f"{reason}; kills: {', '.join(history) or 'none'}")

    def wait_for_rows(self, process: subprocess.Popen[bytes], run: Path, rows: int) -> bool:
        """Wait until the log has this many rows more; return False if the command ended before."""
        log, until = run / "metrics.csv", time.monotonic() + PATIENCE
        wanted = rows + (len(log.read_text().splitlines()) if log.exists() else 0)
        while time.monotonic() < until and process.poll() is None:
            if log.exists() and len(log.read_text().splitlines()) >= wanted:
                return True
            time.sleep(0.02)
        return False

    def wait_for_end(self, mark: str, launcher: int) -> str | None:
        until = time.monotonic() + ENDING
        while left := ranks_of(mark, launcher):
            if time.monotonic() > until:
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                return f"{len(left)} ranks still run {ENDING:.0f} s after the kill"
            time.sleep(0.05)
        return None


def ended_well(process: subprocess.Popen[bytes], mark: str) -> bool:
    """Whether torchrun ends in time without an error; if it does not end, it is killed with its ranks."""
    try:
        return process.wait(PATIENCE) == 0
    except subprocess.TimeoutExpired:
        for pid in (process.pid, *ranks_of(mark, process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        return False


def ranks_of(mark: str, launcher: int) -> list[int]:
    """Return the processes that a launcher has started, found by their environment: they may have outlived it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # ended meanwhile, or of another user
            continue
        if f"FAULTS_CASE={mark}".encode() in words and any(word.startswith(b"LOCAL_RANK=") for word in words):
            found.append(int(folder.name))
    return [pid for pid in found if pid != launcher]
