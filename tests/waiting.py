"""Bounded waits for other threads and processes, and a clock that a test sets."""

import time
from collections.abc import Callable

import pytest

PATIENCE = 180.0  # seconds until something that should happen is missed; a kernel may have to be compiled first


def wait_until(condition: Callable[[], bool], what: str, pause: float = 0.05) -> None:
    """Wait until a condition is true; fail instead of waiting forever."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(pause)


def stopped_clock(monkeypatch: pytest.MonkeyPatch, function: str) -> list[float]:
    """Replace a function that returns the time, given by its full name; return a list of the time, to be changed."""
    now = [1000.0]
    monkeypatch.setattr(function, lambda: now[0])
    return now
