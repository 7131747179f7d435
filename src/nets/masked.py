"""A categorical distribution over the legal actions."""

import torch
from torch import Tensor

from ..core.errors import UserError

MASKED_LOGIT = -1e9  # minus infinity would make the gradient of the entropy NaN


class MaskedCategorical:
    """Illegal actions have probability zero and do not contribute to the entropy.

    `require_legal` checks that every row has a legal action, once per batch: a check here would synchronize with the
    GPU at every step.
    """

    def __init__(self, logits: Tensor, mask: Tensor) -> None:
        """`logits` and `mask` are (B, A); computed in float32 whatever the precision of the network."""
        self.mask = mask
        self.log_probs = torch.log_softmax(logits.float().masked_fill(~mask, MASKED_LOGIT), dim=-1)  # (B, A)

    @property
    def probs(self) -> Tensor:
        return self.log_probs.exp()

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Sample actions (B,) with the Gumbel-max trick."""
        uniform = torch.rand(self.log_probs.shape, device=self.log_probs.device, generator=generator)
        return (self.log_probs - (-uniform.clamp_min(1e-20).log()).log()).argmax(dim=-1)

    def log_prob(self, actions: Tensor) -> Tensor:
        return self.log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)

    def entropy(self) -> Tensor:
        return -(self.log_probs * self.log_probs.exp()).sum(dim=-1)


def require_legal(mask: Tensor, where: str) -> None:
    """Raise `UserError` if a row of `mask` (..., A) has no legal action."""
    if not bool(mask.any(dim=-1).all()):
        row = int((~mask.reshape(-1, mask.shape[-1]).any(dim=-1)).nonzero()[0])
        raise UserError(f"{where}: no action is legal in row {row}; the environment must allow one or end the game")
