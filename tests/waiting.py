"""Bounded waits for other threads and processes."""

import time
from collections.abc import Callable

PATIENCE = 180.0  # seconds until something that should happen is missed; a kernel may have to be compiled first


def wait_until(condition: Callable[[], bool], what: str, pause: float = 0.05) -> None:
    """Wait until a condition is true; fail instead of waiting forever."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(pause)
