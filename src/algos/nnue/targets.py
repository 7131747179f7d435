"""What the network learns from labelled positions: winning probabilities."""

import numpy as np

from .games import PROVEN

SCALES = np.geomspace(3, 1000, 100)  # that are tried
DEFAULT_SCALE = 100.0  # where no outcome tells


def score_scale(records: np.ndarray) -> float:
    """Return the points per unit of log odds that fit the outcomes best (maximum likelihood)."""
    known = (np.abs(records["score"]) < PROVEN) & (records["outcome"] != 0)
    if not known.any():
        return DEFAULT_SCALE
    scores, won = records["score"][known].astype(float), records["outcome"][known] > 0
    losses = [np.logaddexp(0, np.where(won, -scores, scores) / scale).mean() for scale in SCALES]
    return float(SCALES[int(np.argmin(losses))])


def win_probabilities(records: np.ndarray, scale: float, score_weight: float) -> np.ndarray:
    """Return targets (N,) float32: a mean of the score as a winning probability and the outcome.

    `score_weight` is the weight of the score. A proven result is its own target.
    """
    scores, outcomes = records["score"].astype(np.float32), (records["outcome"] + 1) / 2
    expected = 0.5 + 0.5 * np.tanh(scores / scale / 2)
    proven = np.abs(scores) == PROVEN
    mixed = score_weight * expected + (1 - score_weight) * outcomes
    return np.where(proven, scores > 0, mixed).astype(np.float32)
