import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import Lab

# A shell starts what runs in its background with Ctrl-C ignored, and so would be all that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.hookimpl(wrapper=True)
def pytest_sessionstart(session: pytest.Session) -> Iterator[None]:
    """Compile what many tests use before xdist starts its workers."""
    if session.config.pluginmanager.hasplugin("dsession"):
        from tests import warm

        warm.compile_missing()
    return (yield)
