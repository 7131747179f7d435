"""How many CPU threads torch computes with: a sum that is split over them is rounded differently for each number."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_LOCK = threading.RLock()  # the number is one for the whole process: threads that set it take turns


@contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """Compute with `count` threads, however many cores there are, then with as many as before; None changes nothing."""
    if count is None:
        yield
        return
    with _LOCK:
        before = torch.get_num_threads()
        if before == count:  # as in every decision of an agent while it is trained
            yield
            return
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)
