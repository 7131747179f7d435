"""The network in floating point, and the positions that it is trained on with winning probabilities as targets."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...core.errors import require
from ...core.play.capabilities import LearnedEvaluation
from .games import PROVEN

MAX_BATCH = 65_536  # positions per forward pass of a validation
SCALES = np.geomspace(3, 1000, 100)  # candidates for `score_scale`
DEFAULT_SCALE = 100.0  # if no outcome is known


class EvaluationNetwork(nn.Module):
    """Map features (N, F) to log odds (N,); see `LearnedEvaluation`."""

    def __init__(self, layers: tuple[int, int, int]) -> None:
        super().__init__()
        features, hidden, narrow = layers
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, narrow)
        self.third = nn.Linear(narrow, 1)

    def forward(self, features: Tensor) -> Tensor:
        hidden = self.first(features).clamp(0, 1)
        odds: Tensor = self.third(self.second(hidden).clamp(0, 1)).squeeze(1)
        return odds


def numpy_weights(net: nn.Module) -> dict[str, np.ndarray]:
    """Return the weights by name, as `LearnedEvaluation.quantized` takes them."""
    return {name: weight.detach().cpu().numpy() for name, weight in net.state_dict().items()}


def unpacked(bits: Tensor) -> Tensor:
    """Convert (N, F / 8) uint8 to features (N, F) float32."""
    shifts = torch.arange(8, dtype=torch.uint8, device=bits.device)
    return (bits[:, :, None] >> shifts & 1).flatten(1).float()


def score_scale(records: np.ndarray) -> float:
    """Return the points per unit of log odds that fit the outcomes best (maximum likelihood)."""
    known = (np.abs(records["score"]) < PROVEN) & (records["outcome"] != 0)
    if not known.any():
        return DEFAULT_SCALE
    scores, won = records["score"][known].astype(float), records["outcome"][known] > 0
    losses = [np.logaddexp(0, np.where(won, -scores, scores) / scale).mean() for scale in SCALES]
    return float(SCALES[int(np.argmin(losses))])


def win_probabilities(records: np.ndarray, scale: float, score_weight: float) -> np.ndarray:
    """Return targets (N,) float32: a mean of the score as a winning probability and the outcome.

    `score_weight` is the weight of the score. A proven result is its own target.
    """
    scores, outcomes = records["score"].astype(np.float32), (records["outcome"] + 1) / 2
    expected = 0.5 + 0.5 * np.tanh(scores / scale / 2)
    proven = np.abs(scores) == PROVEN
    mixed = score_weight * expected + (1 - score_weight) * outcomes
    return np.where(proven, scores > 0, mixed).astype(np.float32)


class Dataset:
    """Features and targets of positions on a device; the last ones of each part are held out."""

    def __init__(
        self,
        evaluation: LearnedEvaluation,
        parts: Sequence[np.ndarray],
        score_weight: float,
        holdout: float,
        device: str,
    ) -> None:
        """`parts` are records."""
        bits = [torch.from_numpy(evaluation.features(part)) for part in parts]
        targets = [torch.from_numpy(win_probabilities(part, score_scale(part), score_weight)) for part in parts]
        held_out = [max(1, round(len(part) * holdout)) for part in parts]
        both = list(zip(bits, targets, held_out, strict=True))
        self.bits = torch.cat([bits[:-count] for bits, _, count in both]).to(device)
        self.targets = torch.cat([targets[:-count] for _, targets, count in both]).to(device)
        require(len(self.targets) > 0, "there are no positions to train on: set algo.games to more games")
        self.held_out_bits = torch.cat([bits[-count:] for bits, _, count in both]).to(device)
        self.held_out_targets = torch.cat([targets[-count:] for _, targets, count in both]).to(device)

    def loss(self, net: nn.Module, rows: Tensor, mirror: Tensor | None) -> Tensor:
        """Return the cross entropy of some positions, on the mirrored board if `mirror` (F,) is given."""
        features = unpacked(self.bits[rows])
        if mirror is not None:
            features = features[:, mirror]
        return functional.binary_cross_entropy_with_logits(net(features).float(), self.targets[rows])

    @torch.no_grad()
    def validation_loss(self, net: nn.Module) -> float:
        """Return the cross entropy of the held-out positions less the entropy of their targets."""
        total = 0.0
        for first in range(0, len(self.held_out_targets), MAX_BATCH):
            bits, goal = (each[first : first + MAX_BATCH] for each in (self.held_out_bits, self.held_out_targets))
            loss = functional.binary_cross_entropy_with_logits(net(unpacked(bits)).float(), goal, reduction="sum")
            total += float(loss + (torch.xlogy(goal, goal) + torch.xlogy(1 - goal, 1 - goal)).sum())
        return total / len(self.held_out_targets)
