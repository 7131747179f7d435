"""AdamW with warm-up, cosine decay, gradient clipping and mixed precision."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..core import ranks
from ..core.ranges import NonNegative, NonNegativeInt, Positive
from .network import Compute


def cosine_decay(progress: float) -> float:
    """Return the factor of the learning rate after a fraction of the budget: 1 at first, 0 at the end."""
    return 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    compute: Compute
    lr: Positive
    lr_warmup: NonNegativeInt
    weight_decay: NonNegative
    max_grad_norm: Positive


class Optimizer:
    """The learning rate rises over `lr_warmup` gradient steps and falls along a cosine to 0 at `progress` 1."""

    def __init__(self, net: nn.Module, config: OptimizerConfig) -> None:
        self.net, self.config, self.done, self.progress = net, config, 0, 0.0
        self._adamw = torch.optim.AdamW(
            net.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=config.compute.on_gpu
        )
        self._scaler = config.compute.scaler()

    @property
    def current_lr(self) -> float:
        rise = min(1.0, (self.done + 1) / (self.config.lr_warmup + 1))
        return self.config.lr * rise * cosine_decay(self.progress)

    def step(self, loss: Tensor) -> Tensor:
        """Take a gradient step; return the gradient norm before clipping."""
        for group in self._adamw.param_groups:
            group["lr"] = self.current_lr
        self._adamw.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self._average_gradients()  # before unscaling, so that all ranks detect the same overflow
        self._scaler.unscale_(self._adamw)
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), self.config.max_grad_norm)
        self._scaler.step(self._adamw)
        self._scaler.update()
        self.done += 1
        return norm

    def _average_gradients(self) -> None:
        """Average the gradients over the ranks, in one all-reduce."""
        if ranks.world_size() == 1:
            return
        gradients = [weight.grad for weight in self.net.parameters() if weight.grad is not None]
        averaged = ranks.mean(torch.cat([gradient.flatten() for gradient in gradients]))
        parts = averaged.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def state(self) -> dict[str, Any]:
        return {
            "adamw": self._adamw.state_dict(),
            "scaler": self._scaler.state_dict(),
            "done": self.done,
            "progress": self.progress,
        }

    def load(self, saved: dict[str, Any]) -> None:
        self._adamw.load_state_dict(saved["adamw"])
        for weight, state in self._adamw.state.items():
            for name in ("exp_avg", "exp_avg_sq"):
                # The fused kernel needs the memory format of the weight, which a checkpoint does not store.
                state[name] = torch.empty_like(weight).copy_(state[name])
        self._scaler.load_state_dict(saved["scaler"])
        self.done, self.progress = saved["done"], saved["progress"]
