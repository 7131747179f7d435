"""Set the number of CPU threads of torch, which affects the rounding of sums."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

torch.set_num_threads(torch.get_num_threads())  # also turns off MKL's dynamic choice of threads
_LOCK = threading.RLock()  # the number is global to the process


@contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """Use `count` threads in the block, then restore the previous number; None changes nothing."""
    if count is None:
        yield
        return
    with _LOCK:
        before = torch.get_num_threads()
        if before == count:  # fast path: agents call this for every decision
            yield
            return
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)
