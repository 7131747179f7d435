"""A network's answer averaged over the mirror images of a board, for games that look the same in a mirror."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from src.nets.boards import Heads

Turn = Callable[[Tensor], Tensor]


def mirrors(rows: int, cols: int) -> Iterator[tuple[Turn, Turn]]:
    """Each symmetry of the board on the last two dimensions, with the one that undoes it."""
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
    """Logits are averaged, not probabilities: one image that sees through a position is worth more than a vote."""
    rows, cols = observation.shape[-2:]
    answers = []
    for turn, undo in mirrors(rows, cols):
        heads = net(turn(observation).contiguous())
        policy = undo(_as_boards(heads.policy, *turn(observation).shape[-2:])).flatten(1)
        aux = undo(heads.aux) if heads.aux.dim() == 3 else heads.aux
        answers.append(Heads(policy, heads.value, aux))
    return Heads(*(torch.stack(parts).float().mean(dim=0) for parts in zip(*answers, strict=True)))


def mirrored(observation: Tensor, policy: Tensor, aux: Tensor, choice: int) -> tuple[Tensor, Tensor, Tensor]:
    """A batch of boards with per-action and per-cell labels, all turned by the same symmetry."""
    rows, cols = observation.shape[-2:]
    images = list(mirrors(rows, cols))
    turn, _ = images[choice % len(images)]
    return turn(observation), turn(_as_boards(policy, rows, cols)).flatten(1), turn(aux)


def _as_boards(per_action: Tensor, rows: int, cols: int) -> Tensor:
    return per_action.view(per_action.shape[0], -1, rows, cols)
