"""Checkpoints: one safetensors file holding any tree of arrays, numbers, strings, lists and dicts.

The arrays are tensors of the file, the rest of the tree is JSON in its header, so reading one cannot execute code.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from src.core.errors import LabError
from src.core.files import write_atomic

FORMAT = "tactical-board-games checkpoint"
VERSION = 1


class CheckpointError(LabError):
    """A file that is not a checkpoint this version can read."""


def save(path: Path, tree: dict[str, Any]) -> None:
    arrays: dict[str, np.ndarray] = {}
    skeleton = _detach_arrays(tree, arrays)
    metadata = {"format": FORMAT, "version": str(VERSION), "tree": json.dumps(skeleton)}
    write_atomic(path, safetensors.numpy.save(arrays, metadata))


def load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise CheckpointError(f"there is no checkpoint at {path}")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except safetensors.SafetensorError as error:
        raise CheckpointError(f"{path} is damaged or not a checkpoint ({error}); use another or start anew") from error
    if metadata.get("format") != FORMAT:
        raise CheckpointError(f"{path} is a safetensors file of another program, not a checkpoint of this laboratory")
    try:
        version, skeleton = int(metadata["version"]), json.loads(metadata["tree"])
        if version <= VERSION:
            return _attach_arrays(skeleton, arrays)
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: its contents do not fit together ({error!r})") from error
    raise CheckpointError(
        f"{path} was written by a newer version of the laboratory (format {version}, this one reads up to {VERSION}): "
        "update the code to use it"
    )


def _detach_arrays(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The tree as JSON, each array replaced by its name in `arrays`."""
    if isinstance(node, np.ndarray):
        return _detach(node, "numpy", arrays)
    if hasattr(node, "detach"):  # a tensor; torch is not imported for runs that have none
        import torch

        tensor = node.detach().cpu()
        if tensor.dtype == torch.bfloat16:  # which numpy lacks
            return _detach(tensor.view(torch.int16).numpy(), "bfloat16", arrays)
        return _detach(tensor.numpy(), "torch", arrays)
    if isinstance(node, dict):  # as pairs, because the keys of optimizer states are numbers
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
