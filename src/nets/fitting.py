"""A network that fits what is observed, so that a learner of every game needs none to be chosen."""

from dataclasses import dataclass

from torch import nn

from src.nets.boards import CNN, Residual
from src.nets.flat import MLP


@dataclass(frozen=True)
class Fitting:
    board: CNN | Residual  # where a board is observed
    flat: MLP  # where anything else is

    def build(self, observation_shape: tuple[int, ...], num_actions: int) -> nn.Module:
        architecture = self.board if len(observation_shape) in (2, 3) else self.flat
        return architecture.build(observation_shape, num_actions)
