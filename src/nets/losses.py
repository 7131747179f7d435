"""Losses that several learners share."""

import torch.nn.functional as F  # noqa: N812 (the name everybody knows)
from torch import Tensor


def aux_loss(logits: Tensor, probability: Tensor, known: Tensor, count: Tensor | None = None) -> Tensor:
    """Binary cross entropy (B, H, W) over the cells (B, HW) whose truth is `known`.

    `count` stands for their number where the batch is a part of a larger one: the mean over its parts.
    """
    loss = F.binary_cross_entropy_with_logits(logits.float().flatten(1), probability.flatten(1), reduction="none")
    return (loss * known).sum() / (known.sum() if count is None else count).clamp_min(1)
