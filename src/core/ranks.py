"""Distributed training with torchrun: rank, world size, and collective operations.

Without torchrun the process is rank 0 of 1, and every operation returns its input without importing torch.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Value = TypeVar("Value")

_joined = False


def rank() -> int:
    """Rank 0 logs and saves."""
    return int(os.environ["RANK"]) if _joined else 0


def world_size() -> int:
    return int(os.environ["WORLD_SIZE"]) if _joined else 1


def stream() -> tuple[str | int, ...]:
    """Return the name suffix of a random stream that must differ between ranks."""
    return ("rank", rank()) if rank() > 0 else ()


@contextmanager
def joined() -> Iterator[None]:
    """Join the process group. A rank that fails does not leave it, so torchrun stops all ranks."""
    global _joined
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        yield
        return
    import torch

    from .parallel import exit_with_parent

    exit_with_parent()
    gpus = torch.cuda.device_count()
    if gpus > 0:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % gpus)
    one_each = gpus >= int(os.environ["LOCAL_WORLD_SIZE"])  # NCCL does not support ranks that share a GPU
    torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if one_each else "gloo")
    _joined = True
    yield
    _joined = False
    # A gloo thread frees the tensors of the last collective and needs the GIL for it: a process that exits earlier
    # is aborted. The barrier releases the GIL while it waits.
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def broadcast(value: Value) -> Value:
    """Return the value of rank 0 on all ranks."""
    if world_size() == 1:
        return value
    import torch

    box: list[Value] = [_on_host(value)]
    torch.distributed.broadcast_object_list(box, src=0)
    return box[0]


def gather(value: Value) -> list[Value]:
    """Return the values of all ranks in order, on all ranks."""
    if world_size() == 1:
        return [value]
    import torch

    boxes: list[Any] = [None] * world_size()
    torch.distributed.all_gather_object(boxes, _on_host(value))
    return boxes


def mean(tensor: Any) -> Any:
    """Average a tensor over the ranks."""
    if world_size() == 1:
        return tensor
    import torch

    total = tensor.detach().float().clone()
    torch.distributed.all_reduce(total)
    return total / world_size()


def _on_host(node: Any) -> Any:
    """Copy a tree with its tensors on the CPU: another process may not have their device."""
    if hasattr(node, "detach"):
        return node.detach().cpu()
    if isinstance(node, dict):
        return {key: _on_host(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_on_host(value) for value in node]
    return node
