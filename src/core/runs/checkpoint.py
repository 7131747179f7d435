"""Checkpoints: a safetensors file with a tree of arrays, numbers, strings, lists and dicts.

The arrays are tensors of the file, the rest of the tree is JSON in its header, so reading one cannot execute code.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from ..errors import UserError
from ..files import write_atomic

FORMAT = "tactical-board-games checkpoint"
VERSION = 1
CHECKSUM = "sha256"  # missing in files of the first versions
MAX_BYTES = 1 << 33  # of a file: the rollout of a large batch takes some gigabytes
MAX_HEADER_BYTES = 1 << 25  # names, shapes and tree
LOAD_ERRORS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RuntimeError)


class CheckpointError(UserError):
    """A file that is not a checkpoint, or not one that this version can read."""


def save(path: Path, tree: dict[str, Any]) -> None:
    """Save a tree; raise `CheckpointError` if it is larger than `load` reads, and keep the file that is there."""
    arrays: dict[str, np.ndarray] = {}
    skeleton = _detach_arrays(tree, arrays)
    text = json.dumps(skeleton)
    metadata = {"format": FORMAT, "version": str(VERSION), "tree": text, CHECKSUM: _checksum(text, arrays)}
    data = safetensors.numpy.save(arrays, metadata)
    excess = _excess(len(data), data[:8])
    if excess is not None:
        raise CheckpointError(
            f"{path} is not written: {excess}. Train with a smaller rollout (algo.num_envs, algo.steps_per_env), "
            "replay buffer (algo.buffer_size), network or table"
        )
    write_atomic(path, data)


def load(path: Path) -> dict[str, Any]:
    """Load a tree; raise `CheckpointError` if the file is damaged or an array has values that are not finite."""
    if not path.is_file():
        raise CheckpointError(f"there is no checkpoint at {path}")
    try:
        with path.open("rb") as file:
            excess = _excess(path.stat().st_size, file.read(8))
        if excess is not None:  # before memory is allocated for it
            raise CheckpointError(f"{path} is damaged or not a checkpoint: {excess}")
        with safetensors.safe_open(path, framework="np") as tensors:
            metadata = tensors.metadata() or {}
            arrays = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118 (not a dict)
    except (safetensors.SafetensorError, OSError, TypeError, ValueError) as error:  # also a dtype numpy lacks
        raise CheckpointError(f"{path} is damaged or not a checkpoint ({error}); use another or a new run") from error
    if metadata.get("format") != FORMAT:
        raise CheckpointError(f"{path} is a safetensors file of another program, not a checkpoint of this repository")
    try:
        version, text = int(metadata["version"]), metadata["tree"]
        if version > VERSION:
            raise CheckpointError(
                f"{path} was written by a newer version (format {version}, this one reads up to {VERSION}): "
                "update the code to use it"
            )
        if metadata.get(CHECKSUM, "") not in ("", _checksum(text, arrays)):
            raise CheckpointError(f"{path} is damaged: its contents do not match its checksum; use another or a copy")
        tree = _attach_arrays(json.loads(text), arrays)
    except (KeyError, ValueError, TypeError, RuntimeError) as error:  # a RecursionError is a RuntimeError
        raise CheckpointError(f"{path} is damaged: its contents are inconsistent ({error!r})") from error
    if not isinstance(tree, dict):
        raise CheckpointError(f"{path} is damaged: its content is not a dict")
    broken = next(_not_finite(tree, ""), None)
    if broken is not None:
        raise CheckpointError(
            f"{path} cannot be used: {broken} holds NaN or infinite values, probably because training diverged"
        )
    return tree


def size_limit() -> int:
    """Return the largest size of a file that is written and read here, in bytes."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(MAX_BYTES, memory // 2)


def _excess(size: int, prefix: bytes) -> str | None:
    """Return what is too large in a file of `size` bytes, or None; its first 8 bytes are the length of its header."""
    header, limit = int.from_bytes(prefix, "little"), size_limit()
    if size <= limit and header <= MAX_HEADER_BYTES:
        return None
    limits = f"{limit:,} and {MAX_HEADER_BYTES:,}"
    return f"it has {size:,} bytes with a header of {header:,}, but at most {limits} are read here"


@contextmanager
def as_checkpoint_errors(reader: str, path: Path) -> Iterator[None]:
    """Convert errors in the block to `CheckpointError`: the content of `path` is not what `reader` expects."""
    try:
        yield
    except LOAD_ERRORS as error:
        if "OutOfMemory" in type(error).__name__:  # of the GPU, not caused by the file
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise CheckpointError(f"{path} does not hold what {reader} expects ({reason})") from error


def _checksum(tree: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(tree.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _not_finite(node: Any, path: str) -> Iterator[str]:
    """Yield the paths of arrays and tensors with NaN or infinite values."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in pairs:
        yield from _not_finite(child, f"{path}.{key}" if path else str(key))
    if isinstance(node, np.ndarray) and node.dtype.kind == "f":
        yield from () if np.isfinite(node).all() else (path,)
    elif hasattr(node, "isfinite"):  # a tensor
        yield from () if bool(node.isfinite().all()) else (path,)


def _detach_arrays(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return the tree as JSON and move its arrays to `arrays`, leaving their names."""
    if isinstance(node, np.ndarray):
        return _detach(node, "numpy", arrays)
    if hasattr(node, "detach"):  # a tensor; runs without tensors do not import torch
        import torch

        tensor = node.detach().cpu()
        if tensor.dtype == torch.bfloat16:  # which numpy lacks
            return _detach(tensor.view(torch.int16).numpy(), "bfloat16", arrays)
        return _detach(tensor.numpy(), "torch", arrays)
    if isinstance(node, dict):  # as pairs, because optimizer states have integer keys
        return {"dict": [[key, _detach_arrays(value, arrays)] for key, value in node.items()]}
    if isinstance(node, list | tuple):
        return [_detach_arrays(value, arrays) for value in node]
    if isinstance(node, np.generic):
        return node.item()
    if node is None or isinstance(node, bool | int | float | str):
        return node
    raise TypeError(f"a checkpoint cannot hold a {type(node).__name__}")


def _detach(array: np.ndarray, kind: str, arrays: dict[str, np.ndarray]) -> dict[str, str]:
    name = str(len(arrays))
    arrays[name] = np.array(array, order="C")
    return {"array": name, "kind": kind}


def _attach_arrays(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(node, list):
        return [_attach_arrays(value, arrays) for value in node]
    if not isinstance(node, dict):
        return node
    if "dict" in node:
        return {key: _attach_arrays(value, arrays) for key, value in node["dict"]}
    array = arrays[node["array"]]
    if node["kind"] == "numpy":
        return array
    import torch

    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if node["kind"] == "bfloat16" else tensor
