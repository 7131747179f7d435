"""Calibration of the mine probabilities of a network, measured on new boards while it plays."""

from typing import Any, Protocol

import numpy as np

BINS = 15
GAMES, STEPS = 32, 16  # parallel games and steps: more than ten thousand cells


class Predictor(Protocol):
    """A trained network: logits of actions (N, A), values, and logits of mines (N, H, W)."""

    def heads(self, observations: np.ndarray) -> Any: ...


def mine_calibration(envs: Any, agent: Predictor, seed: int) -> dict[str, float]:
    """Return the expected calibration error and the AUROC over hidden cells; {} if the agent predicts no mines."""
    observations, info = envs.reset(seed=seed)
    claimed, true = [], []
    for _ in range(STEPS):
        heads = agent.heads(np.asarray(observations))
        mines = envs.mine_mask().reshape(GAMES, -1)
        cells = mines.shape[1]  # reveals only, or the agent might toggle flags forever
        policy, risk = (np.asarray(part.float().cpu()).reshape(GAMES, -1) for part in (heads.policy, heads.aux))
        if risk.shape[1] != cells:
            return {}
        policy, masks = policy[:, :cells], info["action_mask"][:, :cells]
        hidden = masks & mines.any(axis=1, keepdims=True)  # no mines before the first reveal
        claimed.append((1 / (1 + np.exp(-risk)))[hidden])
        true.append(mines[hidden])
        observations, _, _, _, info = envs.step(np.where(masks, policy, -np.inf).argmax(axis=1))
    probability, mine = np.concatenate(claimed), np.concatenate(true)
    return {"eval/mine_ece": calibration_error(probability, mine), "eval/mine_auroc": auroc(probability, mine)}


def calibration_error(probability: np.ndarray, label: np.ndarray) -> float:
    """Return the expected calibration error: the mean gap of prediction and frequency over bins (Guo et al. 2017)."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    gaps = np.abs(np.bincount(bins, probability - label, minlength=BINS))
    return float(gaps.sum() / counts.sum())


def auroc(score: np.ndarray, label: np.ndarray) -> float:
    """Return the probability that a random positive scores above a random negative; ties count half."""
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positives = label.sum()
    negatives = label.size - positives
    return float((ranks[label.astype(bool)].sum() - positives * (positives + 1) / 2) / (positives * negatives))
