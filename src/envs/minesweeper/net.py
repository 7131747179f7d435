"""The compact observation of Minesweeper as input planes of the networks for boards."""

import torch
from torch import Tensor

from ...core.errors import require
from .variant import BASE_PLANES, FLAGGED


def cell_planes(board: Tensor) -> Tensor:
    """Return the planes (B, 11, H, W) bool of boards (B, H, W) int8: revealed, flags, and each of the numbers 0..8."""
    numbers = torch.arange(9, device=board.device).view(1, 9, 1, 1)
    board = board.unsqueeze(1)
    return torch.cat([board >= 0, board == FLAGGED, board == numbers], dim=1)


class CellCodes:
    """An `Encoder` of the compact observation."""

    def planes(self) -> int:
        return BASE_PLANES

    def encode(self, observation: Tensor) -> Tensor:
        codes = not observation.is_floating_point()
        require(codes, "this encoder reads integer codes of cells, not quantities: set net_defaults.encoder=null")
        return cell_planes(observation)
