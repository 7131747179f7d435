"""The lock of a run directory, which the process that trains in it holds."""

import threading
from pathlib import Path

from filelock import FileLock, Timeout

LOCK = ".lock"
_PROBING = threading.Lock()  # or two simultaneous probes would take each other for a training


def is_training(directory: Path) -> bool:
    """Return whether a process trains in a run directory; its lock file is not created."""
    path = directory / LOCK
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with _PROBING, FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # deleted meanwhile, or not accessible
        return False
