import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from src.core.interrupt import CancellationToken, CancelledWorkError, handle_interrupts, stoppable
from tests.lab import ROOT

# A search of one depth that would take years: only the interrupt can end it.
SEARCH = """
import os, signal, threading
import numpy as np
from src.core.interrupt import handle_interrupts
from src.core.play.search import Evaluation
from src.envs.quoridor.evaluation import FACTORS
from src.envs.quoridor.rules import Quoridor

game = Quoridor(size=9, walls=10, ply_limit=200, distance_maps=False)
state = game.initial(np.random.default_rng(0))
searcher = game.searcher(Evaluation(dict.fromkeys(FACTORS, 1), 0, 0, False))
before = searcher.search(state, 3, None, 10**15)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    with handle_interrupts():
        searcher.search(state, 20, None, 10**15)
except KeyboardInterrupt:
    assert searcher.search(state, 3, None, 10**15).line == before.line
    print("interrupted")
"""


def test_ctrl_c_ends_a_compiled_search_amid_one_depth():
    command = [sys.executable, "-c", SEARCH]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180)
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
