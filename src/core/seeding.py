"""One seed, many independent generators, each found again by its name."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from src.core.errors import UserError

Option = TypeVar("Option")


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """The generator of that name under that seed.

    Names keep purposes apart: `generator(0, "training")` and `generator(0, "evaluation", 7)` never overlap, and adding
    a new purpose leaves every other stream as it was.
    """
    if seed < 0:
        raise UserError(f"seed={seed} is negative: a seed is a whole number from 0 upwards")
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    words = np.frombuffer(digest, dtype=np.uint32).tolist()
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=words))


def draw(rng: np.random.Generator, options: Sequence[Option]) -> Option:
    """One of the options, each as likely (`rng.choice` is far slower on a short list)."""
    return options[int(rng.integers(len(options)))]
