import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from src.core.interrupt import CancellationToken, CancelledWorkError, handle_interrupts, stoppable
from src.core.runs.console import progress_bar
from tests.lab import ROOT, python

# A search of one depth that would take years: only the interrupt can end it.
SEARCH = """
import os, signal, threading
import numpy as np
from src.core.interrupt import handle_interrupts
from src.core.play.search_interface import UNLIMITED_PLIES, SearcherConfig
from src.envs.quoridor.search.evaluation import FACTORS
from src.envs.quoridor.game import Quoridor

game = Quoridor(size=9, walls=10, ply_limit=200, distance_maps=False)
state = game.initial(np.random.default_rng(0))
searcher = game.searcher(SearcherConfig(dict.fromkeys(FACTORS, 1), 0, 0, False, UNLIMITED_PLIES, True))
before = searcher.search(state, 3, None, 10**15)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    with handle_interrupts():
        searcher.search(state, 20, None, 10**15)
except KeyboardInterrupt:
    assert searcher.search(state, 3, None, 10**15).line == before.line
    print("interrupted")
"""

# LLVM calls a hook when it has compiled a kernel. A signal that arrives during a compilation is handled there.
TRAINING = """
import signal
import sys

from numba.core.codegen import JITCodeLibrary

hook, left = JITCodeLibrary._object_compiled_hook.__func__, int(sys.argv.pop(1))


def interrupted(cls, *arguments):
    global left
    left -= 1
    hook(cls, *arguments)
    if left == 0:
        signal.raise_signal(signal.SIGINT)


JITCodeLibrary._object_compiled_hook = classmethod(interrupted)
from src.train import run

run()
"""


@pytest.mark.slow
def test_training_is_stopped_while_kernels_are_compiled(tmp_path: Path):
    words = ["env=minesweeper_8x8", "algo=ppo", "logger=csv", "device=cpu", "algo.total_steps=400"]
    command = [sys.executable, "-c", TRAINING, "4", *words, "algo.num_envs=4", "algo.steps_per_env=10"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "ctypes callback" in done.stderr, "the exception of the signal was not lost"
    assert done.stderr.splitlines()[-1].startswith("stopped")


def test_ctrl_c_ends_a_compiled_search_amid_one_depth():
    done = python("-c", SEARCH)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_code_that_runs_is_stopped_and_nothing_else():
    stops: list[str] = []
    before = threading.active_count()
    with handle_interrupts():
        with stoppable(lambda: stops.append("over")):
            pass
        with stoppable(lambda: stops.append("running")):
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
            until = time.monotonic() + 60
            while not stops and time.monotonic() < until:
                time.sleep(0.001)
        with stoppable(lambda: stops.append("later")):
            pass
    assert stops == ["running"]
    assert threading.active_count() == before
    assert signal.set_wakeup_fd(-1) == -1, "what was there before is there again"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_lost_in_a_callback_from_c_ends_a_loop():
    callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
    with handle_interrupts(), progress_bar("steps", 1) as advance:
        callback()  # as one of LLVM: the exception is printed and ignored
        until = time.monotonic() + 60
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (the watcher may need a moment)
            while time.monotonic() < until:
                advance(0)
    with handle_interrupts(), progress_bar("steps", 1) as advance:
        advance(1)  # that one is over


def test_signals_are_left_alone_in_other_threads():
    def watch() -> None:
        with handle_interrupts():
            counts.append(threading.active_count())

    counts: list[int] = []
    worker = threading.Thread(target=watch)
    worker.start()
    worker.join()
    assert counts == [threading.active_count() + 1]


def test_a_token_cancels_what_its_thread_runs_and_nothing_else():
    token, other, begun, stopped = CancellationToken(), CancellationToken(), threading.Event(), threading.Event()
    ended: list[str] = []

    def compiled() -> None:
        with stoppable(stopped.set):
            begun.set()
            stopped.wait(60)
        raise KeyboardInterrupt

    def work() -> None:
        try:
            token.run(compiled)
        except CancelledWorkError:
            ended.append("cancelled")

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    other.cancel()
    assert not stopped.is_set()
    token.cancel()
    thread.join(60)
    assert ended == ["cancelled"]


def test_a_cancelled_token_runs_nothing_more():
    token, stops = CancellationToken(), []
    assert token.run(lambda: 3) == 3

    def work() -> None:
        token.cancel()
        with stoppable(lambda: stops.append("next")):
            pass

    with pytest.raises(CancelledWorkError):
        token.run(work)
    assert stops == ["next"], "what begins after the cancellation is stopped too"
    with pytest.raises(CancelledWorkError):
        token.run(lambda: stops.append("never"))
    with stoppable(lambda: stops.append("outside")):
        pass
    assert stops == ["next"]


def test_ctrl_c_is_not_taken_for_a_cancellation():
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CancellationToken().run(interrupted)
