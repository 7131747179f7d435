"""A categorical distribution over the legal actions alone."""

import torch
from torch import Tensor

from src.core.errors import UserError

NEVER = -1e9  # as a logit; minus infinity would make the gradient of the entropy not a number


class MaskedCategorical:
    """Illegal actions have probability zero and take no part in the entropy.

    Whether every row allows anything is checked by `require_legal`, once for a whole batch: a check here would make the
    GPU wait for the answer at every step.
    """

    def __init__(self, logits: Tensor, mask: Tensor) -> None:
        """`logits` and `mask` are (B, A); the work is done in float32 whatever the network computes in."""
        self.mask = mask
        self.log_probs = torch.log_softmax(logits.float().masked_fill(~mask, NEVER), dim=-1)  # (B, A)

    @property
    def probs(self) -> Tensor:
        return self.log_probs.exp()

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """(B,) actions, by the Gumbel trick: one pass, and no row has to be normalised again."""
        uniform = torch.rand(self.log_probs.shape, device=self.log_probs.device, generator=generator)
        return (self.log_probs - (-uniform.clamp_min(1e-20).log()).log()).argmax(dim=-1)

    def best(self) -> Tensor:
        return self.log_probs.argmax(dim=-1)

    def log_prob(self, actions: Tensor) -> Tensor:
        return self.log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)

    def entropy(self) -> Tensor:
        return -(self.log_probs * self.log_probs.exp()).sum(dim=-1)


def require_legal(mask: Tensor, where: str) -> None:
    """Refuse rows (..., A) in which no action is legal: any distribution over them would be a lie."""
    if not bool(mask.any(dim=-1).all()):
        row = int((~mask.reshape(-1, mask.shape[-1]).any(dim=-1)).nonzero()[0])
        raise UserError(f"{where}: no action is legal in row {row}; the environment has to offer one or end the game")
