"""A network that fits the observation, so that no network has to be chosen to train in a new environment."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from src.nets.boards import CNN, Residual
from src.nets.flat import MLP


@dataclass(frozen=True)
class AutoNet:
    board: CNN | Residual  # for observations (H, W) and (C, H, W) of boards that a 3x3 convolution does not cover
    flat: MLP  # for all others
    custom: Any = None  # an architecture used instead of both

    def build(self, observation_shape: tuple[int, ...], num_actions: int, aux: bool = False) -> nn.Module:
        is_board = len(observation_shape) in (2, 3) and max(observation_shape[-2:]) > 3
        by_shape = self.board if is_board else self.flat
        return (self.custom or by_shape).build(observation_shape, num_actions, aux)
