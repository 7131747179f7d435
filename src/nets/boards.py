"""Networks for boards: three heads on a fully convolutional trunk.

    planes (B, C, H, W), or a board (B, H, W) as one plane or as the planes of an `Encoder`
      -> trunk (B, F, H, W)
           policy: 1x1 conv, one plane per kind of action -> (B, A), all actions of the first kind first
           value:  pooled -> MLP                          -> (B,)
           aux:    1x1 conv, if the game has an `AuxTask` -> (B, H, W)

The weights do not depend on H and W, so they work for boards of every size if actions belong to cells or to the corners
between four cells. Otherwise the policy head is a dense layer for one board size.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, NamedTuple, Protocol, runtime_checkable

import torch
import torch.nn.functional as F  # noqa: N812 (the name everybody knows)
from torch import Tensor, nn

from ..core import ranks
from ..core.errors import require
from ..core.ranges import Bounds, Depth, Size

ValuePool = Literal["mean", "mean_max"]
AuxCells = Literal["labeled", "all"]


@runtime_checkable
class Encoder(Protocol):
    """Converts boards whose values are codes and not quantities; the game that has such codes provides it."""

    def planes(self) -> int:
        """Return the number of planes."""

    def encode(self, observation: Tensor) -> Tensor:
        """Return boards (B, H, W) as planes (B, C, H, W)."""


class Heads(NamedTuple):
    policy: Tensor  # (B, A) logits
    value: Tensor  # (B,)
    aux: Tensor  # (B, H, W) logits of the auxiliary task, or (B, 0) without one


@dataclass(frozen=True)
class CNN:
    """Three convolutions: small and fast to train."""

    hidden: Annotated[int, Bounds(ge=8, le=65_536, multiple_of=8)]  # channels of the last two
    policy_from_aux: float | None = None  # see `BoardNet`
    corner_planes: bool = False  # see `policy_head`; False for runs of earlier versions
    encoder: Encoder | None = None  # of observations (H, W)
    _: KW_ONLY
    value_pool: ValuePool  # input of the value head, over the board

    def build(self, observation_shape: tuple[int, ...], num_actions: int, aux: bool = False) -> "BoardNet":
        inputs = input_planes(observation_shape, self.encoder)
        trunk = nn.Sequential(
            nn.Conv2d(inputs, 32, 3, padding=1),
            nn.ReLU(),
            nn.GroupNorm(4, 32),
            nn.Conv2d(32, self.hidden, 3, padding=1),
            nn.ReLU(),
            nn.GroupNorm(8, self.hidden),
            nn.Conv2d(self.hidden, self.hidden, 3, padding=1),
            nn.ReLU(),
        )
        heads = HeadsConfig(num_actions, aux, self.policy_from_aux, self.corner_planes, self.value_pool)
        return BoardNet(trunk, self.hidden, observation_shape, heads, self.encoder)


@dataclass(frozen=True)
class Residual:
    """A residual tower; every `pool_every`-th block adds a global pooling of the board to every cell."""

    channels: Size
    blocks: Depth
    pool_every: Annotated[int, Bounds(ge=0, le=1000)]  # blocks; 0 for never
    policy_from_aux: float | None = None  # see `BoardNet`
    corner_planes: bool = False  # see `policy_head`; False for runs of earlier versions
    encoder: Encoder | None = None  # of observations (H, W)
    _: KW_ONLY
    value_pool: ValuePool  # input of the value head, over the board

    def build(self, observation_shape: tuple[int, ...], num_actions: int, aux: bool = False) -> "BoardNet":
        tower = residual_tower(self.channels, self.blocks, self.pool_every)
        stem = nn.Conv2d(input_planes(observation_shape, self.encoder), self.channels, 3, padding=1)
        trunk = nn.Sequential(stem, *tower, nn.ReLU())
        heads = HeadsConfig(num_actions, aux, self.policy_from_aux, self.corner_planes, self.value_pool)
        return BoardNet(trunk, self.channels, observation_shape, heads, self.encoder)


class ResidualBlock(nn.Module):
    """A block without normalization: the last convolution is initialized to zero, so the block starts as identity."""

    def __init__(self, channels: int, pooled: bool) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.summary = nn.Linear(2 * channels, channels) if pooled else None
        nn.init.kaiming_normal_(self.first.weight, nonlinearity="relu")
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        inner = self.first(torch.relu(x))
        if self.summary is not None:
            inner = inner + self.summary(pooled(torch.relu(inner)))[:, :, None, None]
        return x + self.second(torch.relu(inner))


def residual_tower(channels: int, blocks: int, pool_every: int) -> list[ResidualBlock]:
    return [
        ResidualBlock(channels, pooled=pool_every > 0 and (number + 1) % pool_every == 0) for number in range(blocks)
    ]


@dataclass(frozen=True)
class HeadsConfig:
    num_actions: int
    aux: bool  # predict the auxiliary task of the game
    policy_from_aux: float | None
    corner_planes: bool
    value_pool: ValuePool


class BoardNet(nn.Module):
    """Heads on `trunk`, computed in float32 whatever precision autocast uses for the trunk.

    With `policy_from_aux` the logits of the first kind of action are initially minus that weight (which is trained)
    times the logits of the auxiliary task: the policy starts as "lowest risk first". PPO passes the auxiliary logits of
    the rollout as `aux_logits` when it compares the policy with the one that acted: otherwise training the auxiliary
    head would change the probability ratios too.
    """

    def __init__(
        self,
        trunk: nn.Module,
        channels: int,
        observation_shape: tuple[int, ...],
        config: HeadsConfig,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__()
        self.trunk, self.encoder = trunk, encoder
        board = observation_shape[-2:]
        self.policy_head = policy_head(channels, board, config.num_actions, config.corner_planes)
        self.value_pool = config.value_pool
        inputs = channels if config.value_pool == "mean" else 2 * channels
        self.value_head = nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 1))
        self.aux_head = nn.Conv2d(channels, 1, 1) if config.aux else None
        self.aux_weight: nn.Parameter | None = None
        if config.policy_from_aux is not None:
            self._start_from_aux(config, board[0] * board[1])

    @property
    def policy_reads_aux(self) -> bool:
        return self.aux_weight is not None

    def _start_from_aux(self, config: HeadsConfig, cells: int) -> None:
        weight = config.policy_from_aux
        require(
            config.aux,
            f"net.policy_from_aux={weight} needs a game with an auxiliary task and an algorithm that learns it (ppo, "
            "imitation): set it to null",
        )
        require(
            config.num_actions % cells == 0,
            f"net.policy_from_aux={weight} needs one action per cell, but there are {config.num_actions} actions on "
            f"{cells} cells: set it to null",
        )
        self.aux_weight = nn.Parameter(torch.tensor(float(weight or 0)))
        for parameter in self.policy_head.parameters():
            nn.init.zeros_(parameter)

    def forward(self, observation: Tensor, aux_logits: Tensor | None = None) -> Heads:
        dtype = next(self.value_head.parameters()).dtype
        planes = as_planes(observation, self.encoder).to(dtype)
        features = self.trunk(planes.contiguous(memory_format=torch.channels_last))
        with torch.autocast(features.device.type, enabled=False):
            features = features.to(dtype)
            aux = (
                features.new_zeros(features.shape[0], 0)
                if self.aux_head is None
                else self.aux_head(features).squeeze(1)
            )
            policy = self.policy_head(features)
            if self.aux_weight is not None:
                # Detached: the auxiliary head is trained by its own loss only, not by the policy loss.
                known = aux.detach() if aux_logits is None else aux_logits
                safety = -self.aux_weight * known.flatten(1)
                policy = policy + F.pad(safety, (0, policy.shape[1] - safety.shape[1]))
            summary = features.mean(dim=(2, 3)) if self.value_pool == "mean" else pooled(features)
            return Heads(policy, self.value_head(summary).squeeze(-1), aux)


def policy_head(channels: int, board: tuple[int, ...], num_actions: int, corner_planes: bool) -> nn.Sequential:
    """Build a head with one plane per kind of action if actions belong to cells, else a dense layer for this board.

    With `corner_planes`, actions may also belong to the corners between four cells; they come after those on cells.
    """
    rows, cols = board
    cells, corners = rows * cols, (rows - 1) * (cols - 1)
    if num_actions % cells == 0:
        return nn.Sequential(nn.Conv2d(channels, num_actions // cells, 1), nn.Flatten())
    for on_cells in range(num_actions // cells, -1, -1) if corner_planes and corners > 1 else ():
        on_corners, rest = divmod(num_actions - on_cells * cells, corners)
        if rest == 0:
            return nn.Sequential(nn.Conv2d(channels, on_cells + on_corners, 1), CellsThenCorners(on_cells))
    thin = nn.Conv2d(channels, 8, 1)
    return nn.Sequential(thin, nn.ReLU(), nn.Flatten(), nn.Linear(8 * cells, num_actions))


class CellsThenCorners(nn.Module):
    """Flatten planes (B, K, H, W) to (B, A); those for corners are cropped by their last row and column."""

    def __init__(self, on_cells: int) -> None:
        super().__init__()
        self.on_cells = on_cells

    def forward(self, planes: Tensor) -> Tensor:
        cells, corners = planes[:, : self.on_cells], planes[:, self.on_cells :, :-1, :-1]
        return torch.cat([cells.flatten(1), corners.flatten(1)], dim=1)


def pooled(features: Tensor) -> Tensor:
    """Return the mean and maximum of each channel over the board, (B, 2F)."""
    return torch.cat([features.mean(dim=(2, 3)), features.amax(dim=(2, 3))], dim=1)


def input_planes(observation_shape: tuple[int, ...], encoder: Encoder | None) -> int:
    require(
        len(observation_shape) in (2, 3),
        f"an observation of shape {observation_shape} is not a board: this network takes (H, W) or (C, H, W)",
    )
    if len(observation_shape) == 3:
        return observation_shape[0]
    return 1 if encoder is None else encoder.planes()


def as_planes(observation: Tensor, encoder: Encoder | None) -> Tensor:
    """Convert a board (B, H, W) to planes by the encoder, or to one plane; return planes (B, C, H, W) unchanged."""
    if observation.dim() == 4:
        return observation
    return observation.unsqueeze(1) if encoder is None else encoder.encode(observation)


def aux_loss(logits: Tensor, targets: Tensor, cells: AuxCells) -> Tensor:
    """Return this rank's part of the mean binary cross entropy of logits (B, H, W) over the cells of all ranks.

    `targets` (B, H, W) are probabilities, negative in cells without a label: they have no loss, or target 0.
    """
    counted = (targets >= 0) | (cells == "all")
    loss = F.binary_cross_entropy_with_logits(logits.float(), targets.float().clamp_min(0), reduction="none")
    return (loss * counted).sum() / ranks.mean(counted.sum()).clamp_min(1)
