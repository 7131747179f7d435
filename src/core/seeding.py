"""Independent random generators from one seed, identified by name."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from .errors import UserError

Option = TypeVar("Option")


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator of a seed and a name.

    Streams are independent: `generator(0, "training")` and `generator(0, "evaluation", 7)` never overlap, and a new
    name does not change any other stream.
    """
    if seed < 0:
        raise UserError(f"seed={seed} must be a whole number >= 0")
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    words = np.frombuffer(digest, dtype=np.uint32).tolist()
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=words))


def draw(rng: np.random.Generator, options: Sequence[Option]) -> Option:
    """Draw one of the options uniformly (`rng.choice` is far slower on a short list)."""
    return options[int(rng.integers(len(options)))]
