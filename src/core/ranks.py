"""Several processes that learn as one, started by torchrun: who this one is, and what they tell each other.

A process that torchrun did not start is the only one: rank 0 of 1, to which every function here hands back what it was
given, without torch.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Value = TypeVar("Value")

_joined = False


def rank() -> int:
    """The first, 0, is the one that logs and saves."""
    return int(os.environ["RANK"]) if _joined else 0


def world() -> int:
    return int(os.environ["WORLD_SIZE"]) if _joined else 1


def stream() -> tuple[str | int, ...]:
    """What a rank adds to the name of a generator that has to differ from the others'."""
    return ("rank", rank()) if rank() > 0 else ()


@contextmanager
def joined() -> Iterator[None]:
    """Meet the other ranks. Where one of them fails it does not take leave: torchrun notices and ends them all."""
    global _joined
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        yield
        return
    import torch

    gpus = torch.cuda.device_count()
    if gpus > 0:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % gpus)
    one_each = gpus >= int(os.environ["LOCAL_WORLD_SIZE"])  # ranks that share a GPU are refused by NCCL
    torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if one_each else "gloo")
    _joined = True
    yield
    _joined = False
    # A thread of gloo drops the tensors of the last exchange, for which it needs Python's lock: a process that exits
    # before it did is aborted. While this one waits for the others the lock is free.
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def from_first(value: Value) -> Value:
    """What the first rank gave, on all of them."""
    if world() == 1:
        return value
    import torch

    box = [_on_host(value)]
    torch.distributed.broadcast_object_list(box, src=0)
    return box[0]


def gather(value: Value) -> list[Value]:
    """What each rank gave, in their order, on all of them."""
    if world() == 1:
        return [value]
    import torch

    boxes: list[Any] = [None] * world()
    torch.distributed.all_gather_object(boxes, _on_host(value))
    return boxes


def mean(tensor: Any) -> Any:
    """The mean of a tensor over the ranks."""
    if world() == 1:
        return tensor
    import torch

    total = tensor.detach().float().clone()
    torch.distributed.all_reduce(total)
    return total / world()


def _on_host(node: Any) -> Any:
    """A tree without the device its tensors are on, which another process may not have."""
    if hasattr(node, "detach"):
        return node.detach().cpu()
    if isinstance(node, dict):
        return {key: _on_host(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_on_host(value) for value in node]
    return node
