"""A network that fits the observation, so that no network has to be chosen to train in a new environment."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from src.nets.boards import CNN, Residual
from src.nets.flat import MLP


@dataclass(frozen=True)
class AutoNet:
    board: CNN | Residual  # for observations (H, W) and (C, H, W)
    flat: MLP  # for all others
    custom: Any = None  # an architecture used instead of both

    def build(self, observation_shape: tuple[int, ...], num_actions: int) -> nn.Module:
        by_shape = self.board if len(observation_shape) in (2, 3) else self.flat
        return (self.custom or by_shape).build(observation_shape, num_actions)
