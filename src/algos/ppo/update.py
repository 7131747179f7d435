"""The losses of PPO."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ...core import ranks
from ...core.ranges import NonNegative, Positive
from ...nets.losses import aux_loss
from ...nets.masked import MaskedCategorical
from ..network import Compute
from ..optimizer import Optimizer
from .buffer import Batch


@dataclass(frozen=True)
class LossWeights:
    clip_range: Positive  # of the probability ratio
    clip_range_vf: Positive | None  # of the values; None for no clipping
    vf_coef: NonNegative
    ent_coef: NonNegative
    aux_coef: NonNegative  # weight of the auxiliary task of the game
    ent_coef_end: NonNegative | None = None  # final value of a linear schedule of `ent_coef`; None: constant

    def at(self, progress: float) -> "LossWeights":
        """Return the weights at a fraction `progress` of the training."""
        if self.ent_coef_end is None:
            return self
        return replace(self, ent_coef=self.ent_coef + (self.ent_coef_end - self.ent_coef) * min(progress, 1.0))


def ppo_update(
    net: Any,
    optimizer: Optimizer,
    batch: Batch,
    weights: LossWeights,
    compute: Compute,
    target_kl: float | None = None,
) -> dict[str, Tensor] | None:
    """Take a gradient step and return the losses; return None without a step if the KL exceeds `target_kl`."""
    losses = ppo_losses(net, batch, weights, compute)
    if target_kl is not None and float(ranks.mean(losses["approx_kl"])) > target_kl:
        return None
    return {**losses, "grad_norm": optimizer.step(losses["loss"])}


def ppo_losses(net: Any, batch: Batch, weights: LossWeights, compute: Compute) -> dict[str, Tensor]:
    """Return the loss of a batch, its parts, and the KL divergence from the policy of the rollout."""
    with compute.autocast():
        heads = net(batch.observations, batch.aux_logits) if batch.aux_logits.shape[1] > 0 else net(batch.observations)
    policy = MaskedCategorical(heads.policy, batch.masks)
    log_ratio = policy.log_prob(batch.actions) - batch.log_probs
    each, clipped = clipped_policy_loss(log_ratio, batch.advantages, weights.clip_range)
    mean = partial(mean_over, batch.chosen, count=count_chosen(batch.chosen))
    policy_loss, entropy = mean(each), mean(policy.entropy())
    losses = {
        "policy_loss": policy_loss,
        "value_loss": value_loss(heads.value.float(), batch.values, batch.returns, weights.clip_range_vf),
        "entropy": entropy,
    }
    loss = policy_loss + weights.vf_coef * losses["value_loss"] - weights.ent_coef * entropy
    if weights.aux_coef > 0 and batch.aux_targets.shape[1] > 0:
        targets = batch.aux_targets.flatten(1)
        known = targets >= 0  # also for actions excluded by a restricted mask
        losses["aux_loss"] = aux_loss(heads.aux, targets.float(), known, ranks.mean(known.sum()))
        loss = loss + weights.aux_coef * losses["aux_loss"]
    with torch.no_grad():
        approx_kl = log_ratio.exp() - 1 - log_ratio  # Schulman's k3 estimator: non-negative, low variance
        diagnostics = {"approx_kl": mean(approx_kl), "clip_fraction": mean(clipped)}
    return {"loss": loss, **losses, **diagnostics}


def mean_over(chosen: Tensor, values: Tensor, count: Tensor) -> Tensor:
    """Return this rank's part of the mean over the `chosen` steps; `count` is their mean number per rank."""
    return torch.where(chosen, values, 0.0).sum() / count


def count_chosen(chosen: Tensor) -> Tensor:
    """Return the mean number of chosen steps per rank, at least one over all ranks."""
    count: Tensor = ranks.mean(chosen.sum())
    return count.clamp_min(1 / ranks.world_size())


def clipped_policy_loss(log_ratio: Tensor, advantages: Tensor, clip_range: float) -> tuple[Tensor, Tensor]:
    """Return the loss of each action (B,), and whether its ratio is clipped (B,)."""
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.minimum(ratio * advantages, clipped * advantages), (ratio - 1).abs() > clip_range


def value_loss(value: Tensor, old: Tensor, returns: Tensor, clip_range_vf: float | None) -> Tensor:
    error = (value - returns) ** 2
    if clip_range_vf is not None:
        clipped = old + (value - old).clamp(-clip_range_vf, clip_range_vf)
        error = torch.maximum(error, (clipped - returns) ** 2)
    return 0.5 * error.mean()


def normalised(batch: Batch) -> Batch:
    """Normalise advantages by mean and standard deviation over the chosen steps of all ranks."""
    count = count_chosen(batch.chosen)
    centred = batch.advantages - ranks.mean(mean_over(batch.chosen, batch.advantages, count))
    variance = ranks.mean(mean_over(batch.chosen, centred.square(), count))
    return batch._replace(advantages=centred / (variance.sqrt() + 1e-8))
