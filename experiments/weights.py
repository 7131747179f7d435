"""Digests of weights, to name cached results."""

import hashlib
from pathlib import Path

from src.core.runs.run import checkpoint_path


def digest(run: Path) -> str:
    """Return eight characters that identify the best weights of a run."""
    return hashlib.sha256(checkpoint_path(run, "best").read_bytes()).hexdigest()[:8]
