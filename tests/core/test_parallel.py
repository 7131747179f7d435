"""Spans of work in threads, and worker processes of numbered tasks."""

import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import active_children, get_context
from pathlib import Path

import pytest

from src.core import parallel
from src.core.parallel import TaskPool, run_in_spans
from tests.lab import ROOT
from tests.waiting import wait_until


@pytest.mark.parametrize(("count", "min_size", "spans"), [(100, 16, 3), (47, 16, 2), (15, 16, 1), (1, 16, 1)])
def test_spans_cover_everything_in_order(monkeypatch: pytest.MonkeyPatch, count: int, min_size: int, spans: int):
    monkeypatch.setattr(parallel, "CORES", 3)
    found = run_in_spans(lambda first, end: (first, end), count, min_size)
    assert len(found) == spans
    assert [item for first, end in found for item in range(first, end)] == list(range(count))
    assert all(end - first >= min(min_size, count) for first, end in found)


def test_the_calling_thread_takes_the_first_span(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parallel, "CORES", 2)
    first, second = run_in_spans(lambda *span: threading.get_ident(), 32, 16)
    assert first == threading.get_ident() != second


@pytest.mark.parametrize("failing", [0, 16])
def test_an_error_is_raised_after_all_spans_have_ended(monkeypatch: pytest.MonkeyPatch, failing: int):
    monkeypatch.setattr(parallel, "CORES", 2)
    ended = []

    def work(first: int, end: int) -> None:
        if first == failing:
            raise ValueError("broken")
        time.sleep(0.05)
        ended.append(first)

    with pytest.raises(ValueError, match="broken"):
        run_in_spans(work, 32, 16)
    assert ended == [16 - failing]


# A file of its own, because spawned workers import the main module again.
SCRIPT = """
import os
import sys
import time
from functools import partial
from pathlib import Path

from src.core.parallel import ordered_results


def task(folder, number):
    Path(folder, str(os.getpid())).touch()
    time.sleep(3600)


if __name__ == "__main__":
    next(ordered_results(partial(task, sys.argv[1]), range(2), 2))
"""


def test_a_pool_ends_its_own_processes_only():
    pool: TaskPool[int, int] = TaskPool(abs, 1)
    with pool:
        assert pool.submit(-3)() == 3
        other = get_context("spawn").Process(target=time.sleep, args=(3600,))
        other.start()
    try:
        assert other.is_alive()
        assert len(active_children()) == 1
    finally:
        other.kill()
        other.join()


RANKS = """
import os
import sys
import time
from multiprocessing import active_children, get_context
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
