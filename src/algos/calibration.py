"""Are the mine probabilities of a network what they claim to be? Asked on fresh boards while it plays."""

from typing import Any

import numpy as np
import torch

from src.algos.network import NetworkAgent
from src.core.algorithm import Environment
from src.nets.masked import MaskedCategorical

BINS = 15
GAMES, STEPS = 32, 16  # played at once and for as long: some ten thousand cells and more


def mine_calibration(env: Environment, agent: NetworkAgent, seed: int) -> dict[str, float]:
    """Expected calibration error and area under the ROC curve over hidden cells; nothing where there are no mines."""
    envs = env.vectorize(GAMES, agent.compute.where)
    if not hasattr(envs, "mine_mask"):
        return {}
    observations, info = envs.reset(seed=seed)
    claimed, true = [], []
    for _ in range(STEPS):
        masks = _on_host(info["action_mask"]).copy()
        heads = agent.heads(_on_host(observations))
        masks[:, heads.mine[0].numel() :] = False  # a flag would be toggled for ever
        mines = _on_host(envs.mine_mask()).reshape(len(masks), -1)
        hidden = masks[:, : mines.shape[1]] & mines.any(axis=1, keepdims=True)  # before the first reveal none is laid
        claimed.append(heads.mine.sigmoid().float().flatten(1).cpu().numpy()[hidden])
        true.append(mines[hidden])
        device = heads.policy.device
        actions = MaskedCategorical(heads.policy, torch.from_numpy(masks).to(device)).best()
        observations, _, _, _, info = envs.step(
            actions if isinstance(observations, torch.Tensor) else _on_host(actions)
        )
    probability, mine = np.concatenate(claimed), np.concatenate(true)
    return {"eval/mine_ece": calibration_error(probability, mine), "eval/mine_auroc": auroc(probability, mine)}


def calibration_error(probability: np.ndarray, label: np.ndarray) -> float:
    """The mean distance between what was claimed and what came true, over bins of claims (Guo et al. 2017)."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    gaps = np.abs(np.bincount(bins, probability - label, minlength=BINS))
    return float(gaps.sum() / counts.sum())


def auroc(score: np.ndarray, label: np.ndarray) -> float:
    """The chance that a random positive scores above a random negative, ties counting half."""
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positives = label.sum()
    negatives = label.size - positives
    return float((ranks[label.astype(bool)].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def _on_host(array: Any) -> np.ndarray:
    return array.cpu().numpy() if isinstance(array, torch.Tensor) else np.asarray(array)
