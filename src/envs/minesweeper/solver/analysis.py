"""Exact mine probabilities of a position."""

from typing import NamedTuple

import numpy as np

from .exact import find_certain
from .probability import Engine, flatten, with_room


class Analysis(NamedTuple):
    mine_probability: np.ndarray  # (rows, cols) float64, 0.0 on revealed cells
    log_completions: float  # natural logarithm of the number of mine placements that agree with the position


def analyse(visible: np.ndarray, mines: int) -> Analysis:
    """Everything that can be known of a position, exactly."""
    flat, known, probability = flatten(visible), np.zeros(visible.size, np.int8), np.zeros(visible.size)
    no_moves = np.zeros(0, np.int32)

    def attempt(engine: Engine) -> tuple[int, Analysis]:
        status, _, _, log_completions = find_certain(flat, known, mines, engine, probability, no_moves, True)
        return status, Analysis(probability.reshape(visible.shape), log_completions)

    return with_room(visible.shape, mines, attempt)


def mine_probabilities(visible: np.ndarray, mines: int) -> np.ndarray:
    """(rows, cols) float64: 0.0 and 1.0 mean certain, and every certain cell has one of them."""
    return analyse(visible, mines).mine_probability
