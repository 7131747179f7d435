"""The rollout buffer: T steps of N environments and their advantages."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...nets.masked import require_legal

STORED = (
    *("observations", "masks", "aux_targets", "aux_logits", "actions", "log_probs", "values", "rewards", "dones"),
    *("chosen", "advantages", "returns"),
)  # (T, N, ...)

FIRST_NAMES = {"mines": "aux_targets", "acted_on": "aux_logits"}  # in checkpoints of earlier versions


class Batch(NamedTuple):
    observations: Tensor  # (B, ...)
    masks: Tensor  # (B, A) bool
    actions: Tensor  # (B,) int64
    log_probs: Tensor  # (B,) at the time of the rollout
    values: Tensor  # (B,) at the time of the rollout
    advantages: Tensor  # (B,)
    returns: Tensor  # (B,)
    aux_targets: Tensor  # (B, H, W) int8, see `SupportsAuxTargets`; (B, 0) in games without an auxiliary task
    chosen: Tensor  # (B,) bool: the policy chose the action; False for steps that played all safe actions
    aux_logits: Tensor  # (B, H, W) at the time of the rollout, or (B, 0) if the policy does not use them


class RolloutBuffer:
    def __init__(
        self, steps: int, observations: Tensor, masks: Tensor, aux_targets: Tensor, aux_logits: Tensor
    ) -> None:
        """The tensors (N, ...) are examples of a step of N environments, for shapes and dtypes."""

        def empty(like: Tensor) -> Tensor:
            return torch.zeros((steps, *like.shape), dtype=like.dtype, device=like.device)

        scalars = torch.zeros(observations.shape[0], device=observations.device)
        self.observations, self.masks = empty(observations), empty(masks)  # (T, N, ...)
        self.aux_targets, self.aux_logits = empty(aux_targets), empty(aux_logits)  # (T, N, ...)
        self.actions = empty(scalars.long())  # this and the following (T, N)
        self.log_probs, self.values, self.rewards = empty(scalars), empty(scalars), empty(scalars)
        self.dones, self.chosen = empty(scalars.bool()), empty(scalars.bool())
        self.advantages, self.returns = empty(scalars), empty(scalars)
        self.filled = 0  # steps

    def add(self, **step: Tensor | bool) -> None:
        """Store one step: the fields of a `Batch`, with rewards and dones instead of advantages and returns."""
        for name, value in step.items():
            getattr(self, name)[self.filled] = value
        self.filled += 1

    def clear(self) -> None:
        self.filled = 0

    def state(self) -> dict[str, Any]:
        """Return the stored steps, for `load_state`."""
        return {name: getattr(self, name)[: self.filled] for name in STORED} if self.filled else {}

    def load_state(self, saved: dict[str, Any]) -> None:
        for name, values in saved.items():
            self.filled = len(values)
            getattr(self, FIRST_NAMES.get(name, name))[: self.filled] = values

    def compute_gae(self, last_values: Tensor, gamma: float, lam: float) -> None:
        """Compute generalised advantage estimates (Schulman et al. 2016); `last_values` (N,) follow the last step.

        For truncated games the reward already includes the bootstrapped value of the last position.
        """
        require_legal(self.masks, "rollout")
        advantage = torch.zeros_like(last_values)
        following = last_values
        for step in reversed(range(self.rewards.shape[0])):
            not_done = (~self.dones[step]).float()
            delta = self.rewards[step] + gamma * following * not_done - self.values[step]
            advantage = delta + gamma * lam * not_done * advantage
            self.advantages[step] = advantage
            following = self.values[step]
        self.returns[:] = self.advantages + self.values

    def minibatches(self, count: int, share: float, generator: torch.Generator) -> Iterator[Batch]:
        """Yield a fraction `share` of all steps once, in random order, in `count` minibatches.

        Steps in which the policy chose the action have priority; the rest is a new random sample of the others.
        """
        fields = [getattr(self, name).flatten(0, 1) for name in Batch._fields]
        steps, device = fields[0].shape[0], fields[0].device
        order = torch.randperm(steps, generator=generator, device=device)
        if share < 1:
            chosen = self.chosen.flatten()[order]
            kept = torch.cat([order[chosen], order[~chosen]])[: round(share * steps)]
            order = kept[torch.randperm(len(kept), generator=generator, device=device)]
        for rows in order.tensor_split(count):
            yield Batch(*(field[rows] for field in fields))
