"""A network for observations that are not boards."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Annotated

import torch
from torch import Tensor, nn

from ..core.ranges import Bounds, Size
from .boards import Heads


@dataclass(frozen=True)
class MLP:
    """Fully connected layers over the flattened observation."""

    hidden: Annotated[Sequence[Size], Bounds(ge=1)]  # neurons of each layer

    def build(self, observation_shape: tuple[int, ...], num_actions: int, aux: bool = False) -> "FlatNet":
        """Build the network; `aux` is ignored, as an auxiliary task needs the cells of a board."""
        return FlatNet([prod(observation_shape), *self.hidden], num_actions)


class FlatNet(nn.Module):
    def __init__(self, sizes: Sequence[int], num_actions: int) -> None:
        super().__init__()
        layers = [nn.Sequential(nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(sizes)]
        self.trunk = nn.Sequential(nn.Flatten(), *layers)
        self.policy_head, self.value_head = nn.Linear(sizes[-1], num_actions), nn.Linear(sizes[-1], 1)

    def forward(self, observation: Tensor) -> Heads:
        features = self.trunk(observation.to(self.value_head.weight.dtype))
        no_aux = torch.zeros(observation.shape[0], 0, device=observation.device)
        with torch.autocast(features.device.type, enabled=False):  # heads in float32, as in `BoardNet`
            features = features.to(self.value_head.weight.dtype)
            return Heads(self.policy_head(features), self.value_head(features).squeeze(-1), no_aux)
