"""Averaging and augmentation over the reflections and rotations of a board, and networks for export."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from .boards import Heads

Transform = Callable[[Tensor], Tensor]


def mirrors(rows: int, cols: int) -> Iterator[tuple[Transform, Transform]]:
    """Yield each symmetry of the last two dimensions with its inverse."""
    for transposed in (False, True) if rows == cols else (False,):
        for dims in ((), (-2,), (-1,), (-2, -1)):

            def turn(x: Tensor, dims: tuple[int, ...] = dims, transposed: bool = transposed) -> Tensor:
                x = x.flip(dims) if dims else x
                return x.transpose(-2, -1) if transposed else x

            def undo(x: Tensor, dims: tuple[int, ...] = dims, transposed: bool = transposed) -> Tensor:
                x = x.transpose(-2, -1) if transposed else x
                return x.flip(dims) if dims else x

            yield turn, undo


def averaged(net: nn.Module, observation: Tensor) -> Heads:
    """Average the outputs over all symmetries; logits, not probabilities, so that confident ones weigh more."""
    rows, cols = observation.shape[-2:]
    outputs = []
    for turn, undo in mirrors(rows, cols):
        heads = net(turn(observation).contiguous())
        policy = _turned(heads.policy, undo, *turn(observation).shape[-2:])
        aux = undo(heads.aux) if heads.aux.dim() == 3 else heads.aux
        outputs.append(Heads(policy, heads.value, aux))
    return Heads(*(torch.stack(parts).float().mean(dim=0) for parts in zip(*outputs, strict=True)))


def mirrored(observation: Tensor, policy: Tensor, aux: Tensor, choice: int) -> tuple[Tensor, Tensor, Tensor]:
    """Transform a batch of boards with per-action and per-cell labels by one symmetry."""
    rows, cols = observation.shape[-2:]
    images = list(mirrors(rows, cols))
    turn, _ = images[choice % len(images)]
    turned_aux = turn(aux) if aux.dim() == 3 else aux  # (B, 0) without labels
    return turn(observation), _turned(policy, turn, rows, cols), turned_aux


def _turned(per_action: Tensor, turn: Transform, rows: int, cols: int) -> Tensor:
    """Transform the boards (rows, cols) in values (B, A); actions after the last whole board map to themselves."""
    count = per_action.shape[1]
    boards, others = per_action.split([count - count % (rows * cols), count % (rows * cols)], dim=1)
    return torch.cat([turn(boards.reshape(boards.shape[0], -1, rows, cols)).flatten(1), others], dim=1)


class ExportedNetwork(nn.Module):
    """A network with plain outputs for other runtimes: (policy, value), or (policy, value, aux) with `aux`.

    `symmetries` averages them over mirror images.
    """

    def __init__(self, net: nn.Module, *, symmetries: bool, aux: bool) -> None:
        super().__init__()
        self.net, self.symmetries, self.aux = net, symmetries, aux

    def forward(self, observation: Tensor) -> tuple[Tensor, ...]:
        heads = averaged(self.net, observation) if self.symmetries else self.net(observation)
        return tuple(heads) if self.aux else (heads.policy, heads.value)
