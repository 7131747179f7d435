"""How many CPU threads torch computes with: a sum that is split over them is rounded differently for each number."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """Compute with `count` threads, however many cores there are, then with as many as before; None changes nothing."""
    before = torch.get_num_threads()
    if count is None or count == before:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
