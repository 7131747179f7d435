"""One gradient step of PPO."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from src.algos.network import Compute
from src.algos.optimizer import Optimizer
from src.algos.ppo.buffer import Batch
from src.core import ranks
from src.nets.losses import mine_loss
from src.nets.masked import MaskedCategorical


@dataclass(frozen=True)
class LossWeights:
    clip_eps: float  # how far a ratio of probabilities may move before it earns nothing more
    clip_eps_v: float | None  # the same for values; None leaves them free
    vf_coef: float
    ent_coef: float
    aux_mine_weight: float


def ppo_update(
    net: Any, optimizer: Optimizer, batch: Batch, weights: LossWeights, compute: Compute
) -> dict[str, Tensor]:
    """Learn from a batch; returns the parts of the loss and what tells whether the step was sound."""
    losses = ppo_losses(net, batch, weights, compute)
    return {**losses, "grad_norm": optimizer.step(losses["loss"])}


def ppo_losses(net: Any, batch: Batch, weights: LossWeights, compute: Compute) -> dict[str, Tensor]:
    with compute.autocast():
        heads = net(batch.observations)
    policy = MaskedCategorical(heads.policy, batch.masks)
    log_ratio = policy.log_prob(batch.actions) - batch.log_probs
    policy_loss, clip_fraction = clipped_policy_loss(log_ratio, batch.advantages, weights.clip_eps)
    losses = {
        "policy_loss": policy_loss,
        "value_loss": value_loss(heads.value.float(), batch.values, batch.returns, weights.clip_eps_v),
        "entropy": policy.entropy().mean(),
    }
    loss = policy_loss + weights.vf_coef * losses["value_loss"] - weights.ent_coef * losses["entropy"]
    if weights.aux_mine_weight > 0 and batch.mines.shape[1] > 0:
        mines = batch.mines.flatten(1)
        hidden = batch.masks[:, : mines.shape[1]] & mines.any(
            dim=1, keepdim=True
        )  # before the first reveal none is laid
        losses["mine_loss"] = mine_loss(heads.mine, mines.float(), hidden, ranks.mean(hidden.sum()))
        loss = loss + weights.aux_mine_weight * losses["mine_loss"]
    with torch.no_grad():
        approx_kl = (log_ratio.exp() - 1 - log_ratio).mean()  # Schulman's estimator: never negative, little variance
    return {"loss": loss, **losses, "approx_kl": approx_kl, "clip_fraction": clip_fraction}


def clipped_policy_loss(log_ratio: Tensor, advantages: Tensor, clip_eps: float) -> tuple[Tensor, Tensor]:
    """The loss, and the share of actions whose ratio lies outside the clip."""
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_eps, 1 + clip_eps)
    loss = -torch.minimum(ratio * advantages, clipped * advantages).mean()
    return loss, ((ratio - 1).abs() > clip_eps).float().mean()


def value_loss(value: Tensor, old: Tensor, returns: Tensor, clip_eps_v: float | None) -> Tensor:
    error = (value - returns) ** 2
    if clip_eps_v is not None:
        near = old + (value - old).clamp(-clip_eps_v, clip_eps_v)
        error = torch.maximum(error, (near - returns) ** 2)
    return 0.5 * error.mean()


def normalised(advantages: Tensor) -> Tensor:
    """By mean and deviation over the batch, of which each rank holds as large a part."""
    if ranks.world() == 1:
        return (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    centred = advantages - ranks.mean(advantages.mean())
    size = advantages.numel() * ranks.world()
    variance = ranks.mean(centred.square().sum()) * ranks.world() / (size - 1)
    return centred / (variance.sqrt() + 1e-8)
