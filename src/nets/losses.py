"""Losses that several learners share."""

import torch.nn.functional as F  # noqa: N812 (the name everybody knows)
from torch import Tensor


def mine_loss(logits: Tensor, probability: Tensor, hidden: Tensor) -> Tensor:
    """Binary cross entropy (B, H, W) over the `hidden` cells (B, HW); of the others everything is known."""
    loss = F.binary_cross_entropy_with_logits(logits.float().flatten(1), probability.flatten(1), reduction="none")
    return (loss * hidden).sum() / hidden.sum().clamp_min(1)
