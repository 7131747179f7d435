"""A network for units on a board: a list of unit features combined with planes of the board.

    facts (B, f)   units (B, 2S, u)   planes (B, p, H, W)
                       |  scattered to the cells of the units
      board = planes + units -> residual tower -> features of every cell
      units = units + the features of their cells

    placing: unit x cell of the zone -> (B, S * P)    passing: (B, 1)
    moving:  every cell              -> (B, H * W)
    aiming:  every enemy             -> (B, S)        waiting: (B, 1)

The actions are in that order. Cells of the zone are numbered by column and row of the board itself; the observation of
the second seat is rotated by 180 degrees.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from ..core.errors import require
from ..core.ranges import Bounds, Depth, NonNegativeInt, Size
from .boards import Heads, pooled, residual_tower


@dataclass(frozen=True)
class Layout:
    """Layout of an observation vector: facts, own units, enemy units, planes."""

    facts: Size
    slots: Size  # units per side
    unit: Size  # values per unit
    planes: Size
    rows: Size
    columns: Size
    zone_cells: Size  # of the largest zone that units may be placed in
    seat: NonNegativeInt  # index of the fact that is the seat while units are placed
    on_board: NonNegativeInt  # this and the next three: index in the values of a unit
    active: NonNegativeInt
    column: NonNegativeInt
    row: NonNegativeInt
    zone: NonNegativeInt  # index of the plane of that zone

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def size(self) -> int:
        return self.facts + 2 * self.slots * self.unit + self.planes * self.cells

    @property
    def actions(self) -> int:
        return self.slots * self.zone_cells + 1 + self.cells + self.slots + 1


@dataclass(frozen=True)
class Units:
    layout: Layout
    channels: Size
    blocks: Depth
    pool_every: Annotated[int, Bounds(ge=0, le=1000)]  # blocks; 0 for never

    def build(self, observation_shape: tuple[int, ...], num_actions: int, aux: bool = False) -> "UnitsNet":
        described = ((self.layout.size,), self.layout.actions)
        require(
            described == (tuple(observation_shape), num_actions),
            f"net.layout describes observations {described[0]} and {described[1]} actions, but the environment has "
            f"{tuple(observation_shape)} and {num_actions}",
        )
        return UnitsNet(self.layout, self.channels, self.blocks, self.pool_every)


class UnitsNet(nn.Module):
    def __init__(self, layout: Layout, channels: int, blocks: int, pool_every: int) -> None:
        super().__init__()
        self.layout = layout
        self.meet = nn.Sequential(
            nn.Linear(layout.unit + 1 + layout.facts, channels), nn.ReLU(), nn.Linear(channels, channels), nn.ReLU()
        )
        self.sum_up = nn.Sequential(nn.Linear(layout.facts + 3 * channels, channels), nn.ReLU())
        self.stem = nn.Conv2d(layout.planes + channels, channels, 3, padding=1)
        self.tell_all = nn.Linear(channels, channels)
        self.tower = nn.Sequential(*residual_tower(channels, blocks, pool_every), nn.ReLU())
        self.place = nn.Sequential(nn.Linear(3 * channels, channels), nn.ReLU())
        everything = 4 * channels
        self.unit_to_place, self.cell_to_place = nn.Linear(channels, channels), nn.Conv2d(channels, channels, 1)
        self.go = nn.Conv2d(channels, 1, 1)
        self.aim = nn.Linear(channels, 1)
        self.rest = nn.Linear(everything, 2)  # passing and waiting
        self.value = nn.Sequential(nn.Linear(everything, channels), nn.ReLU(), nn.Linear(channels, 1))

    def forward(self, observation: Tensor) -> Heads:
        facts, units, planes = self._parts(observation.to(self.aim.weight.dtype))
        where, stands = self._places(units)
        tokens = self._meet(facts, units)
        summary = self._summary(facts, units, tokens)
        board = torch.cat([planes, self._scatter(tokens * stands, where)], dim=1)
        board = self.stem(board.contiguous(memory_format=torch.channels_last))
        features = self.tower(board + self.tell_all(summary)[:, :, None, None])
        there = _gather(features.flatten(2).transpose(1, 2), where) * stands
        tokens = self.place(torch.cat([tokens, there, summary[:, None].expand_as(tokens)], dim=2))
        with torch.autocast(features.device.type, enabled=False):  # heads in float32, as in `BoardNet`
            dtype = self.aim.weight.dtype
            return self._heads(facts, units, planes, features.to(dtype), tokens.to(dtype), summary.to(dtype))

    def _heads(
        self, facts: Tensor, units: Tensor, planes: Tensor, features: Tensor, tokens: Tensor, summary: Tensor
    ) -> Heads:
        slots = self.layout.slots
        active = (tokens * units[:, :, self.layout.active, None]).sum(dim=1)
        rest = torch.cat([pooled(features), active, summary], dim=1)
        passing, waiting = self.rest(rest).split(1, dim=1)
        placing = self._placing(facts, planes, features, tokens[:, :slots])
        aiming = self.aim(tokens[:, slots:]).squeeze(2)
        policy = torch.cat([placing, passing, self.go(features).flatten(1), aiming, waiting], dim=1)
        return Heads(policy, self.value(rest).squeeze(1), torch.zeros(policy.shape[0], 0, device=policy.device))

    def _parts(self, observation: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        layout = self.layout
        sizes = (layout.facts, 2 * layout.slots * layout.unit, layout.planes * layout.cells)
        facts, units, planes = observation.split(sizes, dim=1)
        units = units.unflatten(1, (2 * layout.slots, layout.unit))
        return facts, units, planes.unflatten(1, (layout.planes, layout.rows, layout.columns))

    def _places(self, units: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cell (B, 2S) of each unit, and whether it is on the board (B, 2S, 1)."""
        layout = self.layout
        column = (units[:, :, layout.column].float() * (layout.columns - 1)).round().long()
        row = (units[:, :, layout.row].float() * (layout.rows - 1)).round().long()
        return row * layout.columns + column, units[:, :, layout.on_board, None]

    def _meet(self, facts: Tensor, units: Tensor) -> Tensor:
        """Embed each unit with its side and the facts, (B, 2S, F)."""
        sides = torch.zeros_like(units[:, :, :1])
        sides[:, self.layout.slots :] = 1
        return self.meet(torch.cat([units, sides, facts[:, None].expand(-1, units.shape[1], -1)], dim=2))

    def _summary(self, facts: Tensor, units: Tensor, tokens: Tensor) -> Tensor:
        own, enemy = tokens.split(self.layout.slots, dim=1)
        active = (tokens * units[:, :, self.layout.active, None]).sum(dim=1)
        return self.sum_up(torch.cat([facts, own.mean(dim=1), enemy.mean(dim=1), active], dim=1))

    def _scatter(self, tokens: Tensor, where: Tensor) -> Tensor:
        """Add the embedding of each unit to its cell, (B, F, H, W)."""
        board = tokens.new_zeros(tokens.shape[0], self.layout.cells, tokens.shape[2])
        board = board.scatter_add(1, where[:, :, None].expand_as(tokens), tokens)
        return board.transpose(1, 2).unflatten(2, (self.layout.rows, self.layout.columns))

    def _placing(self, facts: Tensor, planes: Tensor, features: Tensor, own: Tensor) -> Tensor:
        """Return the logits of each unit and cell of the zone, (B, S * P)."""
        cells = self.cell_to_place(features).transpose(2, 3).flatten(2).transpose(1, 2)  # by column, then row
        outside = 1 - planes[:, self.layout.zone].transpose(1, 2).flatten(1)
        number = torch.arange(self.layout.cells, device=facts.device)
        number = torch.where(facts[:, self.layout.seat, None] > 0.5, -number, number)  # undo the rotation
        order = (outside.long() * 2 * self.layout.cells + number).argsort(dim=1)[:, : self.layout.zone_cells]
        scores = self.unit_to_place(own) @ _gather(cells, order).transpose(1, 2)
        return scores.flatten(1) / cells.shape[2] ** 0.5


def _gather(cells: Tensor, which: Tensor) -> Tensor:
    """Return the rows `which` (B, N) of `cells` (B, C, F), (B, N, F)."""
    return cells.gather(1, which[:, :, None].expand(-1, -1, cells.shape[2]))
