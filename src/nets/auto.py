"""Choose a network by the shape of the observation, as a default for new environments."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from .boards import CNN, Residual
from .flat import MLP


@dataclass(frozen=True)
class AutoNet:
    board: CNN | Residual  # for observations (H, W) and (C, H, W) of boards larger than 3x3
    flat: MLP  # for all others
    custom: Any = None  # an architecture used instead of both

    def build(self, observation_shape: tuple[int, ...], num_actions: int, aux: bool = False) -> nn.Module:
        is_board = len(observation_shape) in (2, 3) and max(observation_shape[-2:]) > 3
        by_shape = self.board if is_board else self.flat
        return (self.custom or by_shape).build(observation_shape, num_actions, aux)
