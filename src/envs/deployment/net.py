"""A network for units on a board, which combines the list of units with the planes of the board.

    features (B, 17)   units (B, 2S, 31)   planes (B, 10, H, W)
                           |  scattered to the cells of the units
      board = planes + units -> residual tower -> features of every cell
      units = units + the features of their cells

    placing: unit x cell of the zone -> (B, S * P)    passing: (B, 1)
    moving:  every cell              -> (B, H * W)
    target:  every enemy             -> (B, S)        waiting: (B, 1)

The actions are in that order. Cells of the zone are numbered by column and row of the board itself; the observation of
the second seat is rotated by 180 degrees.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from ...core.errors import require
from ...core.ranges import Bounds, Depth, Size
from ...nets.boards import Heads, pooled, residual_tower
from .observation import ACTIVE, COLUMN, GLOBAL, ON_BOARD, OWN_ZONE, PLANES, ROW, SECOND, UNIT, sizes


@dataclass(frozen=True)
class Units:
    unit_slots: Size  # units per side
    hex_slots: Size  # hexes of the largest zone that units may be placed in
    rows: Size
    columns: Size
    channels: Size
    blocks: Depth
    pool_every: Annotated[int, Bounds(ge=0, le=1000)]  # blocks; 0 for never

    def build(self, observation_shape: tuple[int, ...], num_actions: int, aux: bool = False) -> "UnitsNet":
        cells = self.rows * self.columns
        shape = (sum(sizes(2 * self.unit_slots, cells)),)
        actions = self.unit_slots * self.hex_slots + 1 + cells + self.unit_slots + 1
        require(
            (shape, actions) == (tuple(observation_shape), num_actions),
            f"net.unit_slots, hex_slots, rows and columns describe observations {shape} and {actions} actions, but the "
            f"environment has {tuple(observation_shape)} and {num_actions}",
        )
        return UnitsNet(self)


class UnitsNet(nn.Module):
    def __init__(self, config: Units) -> None:
        super().__init__()
        channels, self.slots, self.hex_slots = config.channels, config.unit_slots, config.hex_slots
        self.rows, self.columns, self.cells = config.rows, config.columns, config.rows * config.columns
        self.unit_encoder = nn.Sequential(
            nn.Linear(len(UNIT) + 1 + len(GLOBAL), channels), nn.ReLU(), nn.Linear(channels, channels), nn.ReLU()
        )
        self.global_encoder = nn.Sequential(nn.Linear(len(GLOBAL) + 3 * channels, channels), nn.ReLU())
        self.stem = nn.Conv2d(len(PLANES) + channels, channels, 3, padding=1)
        self.broadcast_global = nn.Linear(channels, channels)
        self.tower = nn.Sequential(*residual_tower(channels, config.blocks, config.pool_every), nn.ReLU())
        self.unit_decoder = nn.Sequential(nn.Linear(3 * channels, channels), nn.ReLU())
        self.unit_to_place, self.cell_to_place = nn.Linear(channels, channels), nn.Conv2d(channels, channels, 1)
        self.move_head = nn.Conv2d(channels, 1, 1)
        self.target_head = nn.Linear(channels, 1)
        self.wait_head = nn.Linear(4 * channels, 2)  # passing and waiting
        self.value = nn.Sequential(nn.Linear(4 * channels, channels), nn.ReLU(), nn.Linear(channels, 1))

    def forward(self, observation: Tensor) -> Heads:
        dtype, slots = self.target_head.weight.dtype, self.slots
        features, units, planes = self.split(observation.to(dtype))
        cells, on_board, active = self.cells_of(units), units[:, :, ON_BOARD, None], units[:, :, ACTIVE, None]
        sides = torch.zeros_like(units[:, :, :1])
        sides[:, slots:] = 1
        repeated = features[:, None].expand(-1, units.shape[1], -1)
        tokens = self.unit_encoder(torch.cat([units, sides, repeated], dim=2))  # (B, 2S, F)
        own, enemy = tokens.split(slots, dim=1)
        pools = [own.mean(dim=1), enemy.mean(dim=1), (tokens * active).sum(dim=1)]
        summary = self.global_encoder(torch.cat([features, *pools], dim=1))  # (B, F)
        board = torch.cat([planes, self.scatter(tokens * on_board, cells)], dim=1)
        board = self.stem(board.contiguous(memory_format=torch.channels_last))
        board = self.tower(board + self.broadcast_global(summary)[:, :, None, None])  # (B, F, H, W)
        here = _gather(board.flatten(2).transpose(1, 2), cells) * on_board
        tokens = self.unit_decoder(torch.cat([tokens, here, summary[:, None].expand_as(tokens)], dim=2))
        with torch.autocast(board.device.type, enabled=False):  # heads in float32, as in `BoardNet`
            board, tokens, summary = board.to(dtype), tokens.to(dtype), summary.to(dtype)
            everything = torch.cat([pooled(board), (tokens * active).sum(dim=1), summary], dim=1)
            passing, waiting = self.wait_head(everything).split(1, dim=1)
            placing = self.placement_logits(features, planes, board, tokens[:, :slots])
            target = self.target_head(tokens[:, slots:]).squeeze(2)
            policy = torch.cat([placing, passing, self.move_head(board).flatten(1), target, waiting], dim=1)
            value = self.value(everything).squeeze(1)
        return Heads(policy, value, torch.zeros(policy.shape[0], 0, device=policy.device))

    def split(self, observation: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return global features, units and planes."""
        features, units, planes = observation.split(sizes(2 * self.slots, self.cells), dim=1)
        return features, units.unflatten(1, (-1, len(UNIT))), planes.unflatten(1, (-1, self.rows, self.columns))

    def cells_of(self, units: Tensor) -> Tensor:
        """Return the cell of each unit, (B, 2S)."""
        column = (units[:, :, COLUMN].float() * (self.columns - 1)).round().long()
        row = (units[:, :, ROW].float() * (self.rows - 1)).round().long()
        return row * self.columns + column

    def scatter(self, tokens: Tensor, cells: Tensor) -> Tensor:
        """Add the embedding of each unit to its cell, (B, F, H, W)."""
        board = tokens.new_zeros(tokens.shape[0], self.cells, tokens.shape[2])
        board = board.scatter_add(1, cells[:, :, None].expand_as(tokens), tokens)
        return board.transpose(1, 2).unflatten(2, (self.rows, self.columns))

    def placement_logits(self, features: Tensor, planes: Tensor, board: Tensor, own: Tensor) -> Tensor:
        """Return the logits of each unit and cell of the zone, (B, S * P)."""
        cells = self.cell_to_place(board).transpose(2, 3).flatten(2).transpose(1, 2)  # by column, then row
        outside = 1 - planes[:, OWN_ZONE].transpose(1, 2).flatten(1)
        number = torch.arange(self.cells, device=features.device)
        number = torch.where(features[:, SECOND, None] > 0.5, -number, number)  # undo the rotation
        order = (outside.long() * 2 * self.cells + number).argsort(dim=1)[:, : self.hex_slots]
        scores = self.unit_to_place(own) @ _gather(cells, order).transpose(1, 2)
        return scores.flatten(1) / cells.shape[2] ** 0.5


def _gather(cells: Tensor, which: Tensor) -> Tensor:
    """Return the rows `which` (B, N) of `cells` (B, C, F), (B, N, F)."""
    return cells.gather(1, which[:, :, None].expand(-1, -1, cells.shape[2]))
