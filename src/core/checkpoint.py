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
    if int(metadata["version"]) > VERSION:
        raise CheckpointError(
            f"{path} was written by a newer version of the laboratory (format {metadata['version']}, this one reads "
            f"up to {VERSION}): update the code to use it"
        )
    return _attach_arrays(json.loads(metadata["tree"]), arrays)


def _detach_arrays(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The tree as JSON, each array replaced by its name in `arrays`."""
    if isinstance(node, np.ndarray) or hasattr(node, "detach"):
        name = str(len(arrays))
        kind = "numpy" if isinstance(node, np.ndarray) else "torch"
        arrays[name] = np.ascontiguousarray(node if kind == "numpy" else node.detach().cpu().numpy())
        return {"array": name, "kind": kind}
    if isinstance(node, dict):  # as pairs, because the keys of optimizer states are numbers
        return {"dict": [[key, _detach_arrays(value, arrays)] for key, value in node.items()]}
    if isinstance(node, list | tuple):
        return [_detach_arrays(value, arrays) for value in node]
    if isinstance(node, np.generic):
        return node.item()
    if node is None or isinstance(node, bool | int | float | str):
        return node
    raise TypeError(f"a checkpoint cannot hold a {type(node).__name__}")


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

    return torch.from_numpy(array)
