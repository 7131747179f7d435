"""What a result came from: the code, the packages and the machine."""

import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from src.core import ranks
from src.core.machine import CORES

PACKAGES = ("torch", "numpy", "numba", "gymnasium", "hydra-core", "sb3-contrib", "safetensors", "wandb")


def provenance() -> dict[str, Any]:
    commit = _git("rev-parse", "HEAD")
    return {
        "commit": commit,
        "changed": bool(_git("status", "--porcelain")) if commit else None,  # whether there is more than the commit
        "versions": {"python": platform.python_version(), **_versions()},
        "hardware": {"platform": platform.platform(), "cores": CORES, "gpus": _gpus(), "ranks": ranks.world()},
    }


@cache
def _git(*arguments: str) -> str | None:
    """Asked of the code, wherever the run is; None where it is no repository."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a GPU box needs only some of them
            continue
    return found


def _gpus() -> list[str]:
    """Those torch sees, if the run has loaded it at all."""
    torch = sys.modules.get("torch")
    return [] if torch is None else [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
