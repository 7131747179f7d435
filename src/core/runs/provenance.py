"""Provenance of a result: code, packages and machine."""

import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import ranks
from ..parallel import CORES

DIFF = "diff.patch"  # in the run directory: uncommitted changes
MAX_DIFF_CHARS = 1 << 20
PACKAGES = ("boardlab", "torch", "numpy", "numba", "gymnasium", "hydra-core", "sb3-contrib", "safetensors", "wandb")


def provenance() -> dict[str, Any]:
    commit, versions = _git("rev-parse", "HEAD"), {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):  # some are optional
            versions[name] = version(name)
    cuda = sys.modules["torch"].cuda if "torch" in sys.modules else None  # not imported for this
    gpus = [] if cuda is None else [cuda.get_device_name(number) for number in range(cuda.device_count())]
    return {
        "commit": commit,
        "dirty": bool(_git("status", "--porcelain")) if commit else None,  # whether there are uncommitted changes
        "versions": versions,
        "hardware": {"platform": platform.platform(), "cores": CORES, "gpus": gpus, "ranks": ranks.world_size()},
    }


def uncommitted() -> str | None:
    """Return the uncommitted changes as a patch for `git apply`; a header lists untracked files, which are left out.

    Return None without changes or without a repository.
    """
    status = _git("status", "--porcelain")
    if not status:
        return None
    new = [line[3:] for line in status.splitlines() if line.startswith("??")]
    header = [f"# not in this patch, as git does not track it: {name}" for name in new]
    patch = "\n".join([*header, _git("diff", "HEAD", "--binary", "--no-ext-diff", "--no-color") or "", ""])
    cut = len(patch) > MAX_DIFF_CHARS
    return f"{patch[:MAX_DIFF_CHARS]}\n# cut here: it has {len(patch)} characters\n" if cut else patch


def _git(*arguments: str) -> str | None:
    """Return git's output for the repository that has this file, or None without one.

    An installed package may lie in the folder of another repository, such as in a virtual environment.
    """
    tracked = _git_here("ls-files", "--error-unmatch", Path(__file__).name) is not None
    return _git_here(*arguments) if tracked else None


@cache
def _git_here(*arguments: str) -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.rstrip("\n")  # spaces count in a patch
