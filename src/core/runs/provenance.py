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

DIFF = "diff.patch"  # in the run's directory: what was not committed
MOST_DIFF = 1 << 20  # characters of it
PACKAGES = ("torch", "numpy", "numba", "gymnasium", "hydra-core", "sb3-contrib", "safetensors", "wandb")


def provenance() -> dict[str, Any]:
    commit = _git("rev-parse", "HEAD")
    return {
        "commit": commit,
        "dirty": bool(_git("status", "--porcelain")) if commit else None,  # whether there is more than the commit
        "versions": {"python": platform.python_version(), **_versions()},
        "hardware": {"platform": platform.platform(), "cores": CORES, "gpus": _gpus(), "ranks": ranks.world_size()},
    }


def uncommitted() -> str | None:
    """The changes since the commit as a patch for `git apply`, headed by the names of new files, which it leaves out.

    None where there are none, or no repository.
    """
    status = _git("status", "--porcelain")
    if not status:
        return None
    new = [line[3:] for line in status.splitlines() if line.startswith("??")]
    header = [f"# not in this patch, as git does not track it: {name}" for name in new]
    patch = "\n".join([*header, _git("diff", "HEAD", "--binary", "--no-ext-diff", "--no-color") or "", ""])
    return patch if len(patch) <= MOST_DIFF else f"{patch[:MOST_DIFF]}\n# cut here: it has {len(patch)} characters\n"


@cache
def _git(*arguments: str) -> str | None:
    """Asked of the code, wherever the run is; None where it is no repository."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.rstrip("\n")  # spaces count in a patch


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
