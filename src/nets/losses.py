"""Losses shared by several algorithms."""

import torch.nn.functional as F  # noqa: N812 (the name everybody knows)
from torch import Tensor


def aux_loss(logits: Tensor, probability: Tensor, known: Tensor, count: Tensor | None = None) -> Tensor:
    """Return the mean binary cross entropy of logits (B, H, W) over the `known` cells (B, HW).

    For a batch that is split over ranks, `count` is the mean number of known cells per rank.
    """
    loss = F.binary_cross_entropy_with_logits(logits.float().flatten(1), probability.flatten(1), reduction="none")
    return (loss * known).sum() / (known.sum() if count is None else count).clamp_min(1)
