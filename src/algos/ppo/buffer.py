"""What a rollout leaves to learn from: T steps of N environments, and the advantages computed from them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from src.nets.masked import require_legal

STORED = (
    *("observations", "masks", "aux_targets", "aux_logits", "actions", "log_probs", "values", "rewards", "dones"),
    *("chosen", "advantages", "returns"),
)  # (T, N, ...)

FIRST_NAMES = {"mines": "aux_targets", "acted_on": "aux_logits"}  # in checkpoints of earlier versions


class Batch(NamedTuple):
    observations: Tensor  # (B, ...)
    masks: Tensor  # (B, A) bool
    actions: Tensor  # (B,) int64
    log_probs: Tensor  # (B,) of the actions when they were taken
    values: Tensor  # (B,) as estimated then
    advantages: Tensor  # (B,)
    returns: Tensor  # (B,)
    aux_targets: Tensor  # (B, H, W) int8, see `SupportsAuxTargets`; (B, 0) in games without an auxiliary task
    chosen: Tensor  # (B,) bool: the policy chose the action; elsewhere there was nothing to choose
    aux_logits: Tensor  # (B, H, W) that the policy acted on, or (B, 0) where it does not read them


class RolloutBuffer:
    def __init__(
        self, steps: int, observations: Tensor, masks: Tensor, aux_targets: Tensor, aux_logits: Tensor
    ) -> None:
        """All (N, ...): what a step of N environments holds, for shapes and types."""

        def room(like: Tensor) -> Tensor:
            return torch.zeros((steps, *like.shape), dtype=like.dtype, device=like.device)

        scalars = torch.zeros(observations.shape[0], device=observations.device)
        self.observations, self.masks = room(observations), room(masks)  # (T, N, ...)
        self.aux_targets, self.aux_logits = room(aux_targets), room(aux_logits)  # (T, N, ...)
        self.actions = room(scalars.long())  # this and the following (T, N)
        self.log_probs, self.values, self.rewards = room(scalars), room(scalars), room(scalars)
        self.dones, self.chosen = room(scalars.bool()), room(scalars.bool())
        self.advantages, self.returns = room(scalars), room(scalars)
        self.filled = 0  # steps

    def add(self, **step: Tensor | bool) -> None:
        """Store one step of all environments: the fields of a `Batch`, with rewards and dones instead of advantages."""
        for name, value in step.items():
            getattr(self, name)[self.filled] = value
        self.filled += 1

    def clear(self) -> None:
        """Make room for the next rollout."""
        self.filled = 0

    def state(self) -> dict[str, Any]:
        """What is stored, for `load_state`."""
        return {name: getattr(self, name)[: self.filled] for name in STORED} if self.filled else {}

    def load_state(self, saved: dict[str, Any]) -> None:
        for name, values in saved.items():
            self.filled = len(values)
            getattr(self, FIRST_NAMES.get(name, name))[: self.filled] = values

    def compute_gae(self, last_values: Tensor, gamma: float, lam: float) -> None:
        """Generalised advantage estimation (Schulman et al. 2016); `last_values` (N,) follow the last step.

        A step that ends a game has nothing after it. Where a game was merely cut off, the value of its last position is
        in the reward already.
        """
        require_legal(self.masks, "rollout")
        advantage = torch.zeros_like(last_values)
        following = last_values
        for step in reversed(range(self.rewards.shape[0])):
            goes_on = (~self.dones[step]).float()
            delta = self.rewards[step] + gamma * following * goes_on - self.values[step]
            advantage = delta + gamma * lam * goes_on * advantage
            self.advantages[step] = advantage
            following = self.values[step]
        self.returns[:] = self.advantages + self.values

    def minibatches(self, count: int, share: float, generator: torch.Generator) -> Iterator[Batch]:
        """This share of all steps once, in random order, in `count` parts.

        Steps where the policy chose come first; whichever others there is room for are drawn anew by every call.
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
