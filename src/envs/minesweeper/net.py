"""The compact observation of Minesweeper as input planes of the networks for boards."""

import torch
from torch import Tensor

from .encoding import BASE_PLANES
from .variant import FLAGGED


class CellCodes:
    """An `Encoder` of codes (B, H, W) int8: planes for revealed cells, flags, and each of the numbers 0..8."""

    def planes(self) -> int:
        return BASE_PLANES

    def encode(self, observation: Tensor) -> Tensor:
        numbers = torch.arange(9, device=observation.device).view(1, 9, 1, 1)
        board = observation.unsqueeze(1)
        return torch.cat([board >= 0, board == FLAGGED, board == numbers], dim=1)
