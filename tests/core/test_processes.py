"""Worker processes of numbered tasks."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab import ROOT
from tests.waiting import wait_until

# A file of its own, because spawned workers import the main module again.
SCRIPT = """
import os
import sys
import time
from pathlib import Path

from src.core.parallel import ordered_results


def start(folder):
    Path(folder, str(os.getpid())).touch()


def task(number):
    time.sleep(3600)


if __name__ == "__main__":
    next(ordered_results(task, range(2), 2, start, (sys.argv[1],)))
"""

RANKS = """
import os
import sys
import time
from pathlib import Path

from src.core import ranks

with ranks.joined():
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(3600)
"""
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for a parent that collects it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.mark.slow
def test_ranks_end_when_torchrun_is_killed(tmp_path: Path):
    workers_end_with_their_parent(tmp_path, RANKS, *TORCHRUN)


def test_workers_end_when_their_parent_is_killed(tmp_path: Path):
    workers_end_with_their_parent(tmp_path, SCRIPT)


def workers_end_with_their_parent(tmp_path: Path, text: str, *launcher: str) -> None:
    script, folder = tmp_path / "script.py", tmp_path / "workers"
    script.write_text(text)
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, *launcher, script, folder], env=environment)

    def workers() -> list[int]:
        return [int(path.name) for path in folder.iterdir()]

    try:
        wait_until(lambda: len(workers()) == 2 or parent.poll() is not None, "two workers")
        assert parent.poll() is None, "it ended before it was killed"
        assert all(is_alive(pid) for pid in workers())
        parent.kill()
        parent.wait()
        wait_until(lambda: not any(is_alive(pid) for pid in workers()), "the end of the workers")
    finally:
        parent.kill()
        parent.wait()
        for pid in filter(is_alive, workers()):
            os.kill(pid, signal.SIGKILL)
