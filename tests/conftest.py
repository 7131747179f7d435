import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import Lab

# Read when torch is imported, which is after this. A thread that spins while it waits for work takes the time of
# others, and the workers of xdist share the cores among them.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

gc.disable()  # while modules are imported, which leaves nothing to collect; see pytest_collection_finish

# A shell starts what runs in its background with Ctrl-C ignored, and so would be all that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.hookimpl(wrapper=True)
def pytest_sessionstart(session: pytest.Session) -> Iterator[None]:
    """Compile kernels that many tests use before xdist starts its workers."""
    if session.config.pluginmanager.hasplugin("dsession"):
        from src import compile_kernels

        compile_kernels.compile_missing()
    return (yield)


def pytest_collection_finish() -> None:
    """Leave what is imported by now out of garbage collections, which otherwise take a seventh of a composition."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)  # objects; by default 700, and then a collection of the young ones takes most of its time
    gc.enable()
