"""Train the network of the timed search on positions of `generate`.

    python -m experiments.quoridor_nnue.train positions.npy --out network.safetensors [--seconds 100]

The target of a position is a mean of the outcome of its game and of the score of the search as a winning probability.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from src.envs.quoridor.features import FEATURES, MIRRORED
from src.envs.quoridor.nnue import HIDDEN, NARROW, quantised, save_network
from src.envs.quoridor.records import PROVEN, packed_features

VALIDATION = 0.05  # fraction of the positions, the last ones
REPORTS = 10


class Network(nn.Module):
    """The network of `src.envs.quoridor.nnue` in floating point; returns log odds (N,)."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(FEATURES, HIDDEN)
        self.second = nn.Linear(HIDDEN, NARROW)
        self.third = nn.Linear(NARROW, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        hidden = self.first(features).clamp(0, 1)
        return self.third(self.second(hidden).clamp(0, 1)).squeeze(1)


def unpacked(bits: torch.Tensor) -> torch.Tensor:
    """Convert (N, FEATURES / 8) uint8 to (N, FEATURES) float32."""
    shifts = torch.arange(8, dtype=torch.uint8, device=bits.device)
    return (bits[:, :, None] >> shifts & 1).flatten(1).float()


def score_scale(records: np.ndarray) -> float:
    """Return the points per unit of log odds that fit the outcomes best (maximum likelihood)."""
    known = (np.abs(records["score"]) < PROVEN) & (records["outcome"] != 0)
    scores, won = records["score"][known].astype(float), records["outcome"][known] > 0
    scales = np.geomspace(3, 1000, 100)
    losses = [np.logaddexp(0, np.where(won, -scores, scores) / scale).mean() for scale in scales]
    return float(scales[int(np.argmin(losses))])


def targets(records: np.ndarray, weight: float) -> np.ndarray:
    """Return winning probabilities: `weight` times that of the score, the rest by the outcome."""
    scores, outcomes = records["score"].astype(np.float32), (records["outcome"] + 1) / 2
    expected = 0.5 + 0.5 * np.tanh(scores / score_scale(records) / 2)
    proven = np.abs(scores) == PROVEN
    return np.where(proven, scores > 0, weight * expected + (1 - weight) * outcomes).astype(np.float32)


def fit(network: Network, bits: torch.Tensor, goals: torch.Tensor, options: argparse.Namespace) -> None:
    """Minimise the cross entropy with AdamW and a cosine schedule over the time or the number of steps."""
    device, held_out, lr = bits.device, int(len(bits) * VALIDATION), options.lr
    mirror = torch.from_numpy(MIRRORED.astype(np.int64)).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=lr, weight_decay=1e-4)
    began, step, reports = time.perf_counter(), 0, 0
    while (done := max((time.perf_counter() - began) / options.seconds, step / options.steps)) < 1:
        if done >= reports / REPORTS:
            print(f"step {step:,}: validation loss {validation_loss(network, bits, goals):.5f}", flush=True)
            reports += 1
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1.0, (step + 1) / 200) * 0.5 * (1 + np.cos(np.pi * done))
        batch = torch.randint(0, len(bits) - held_out, (options.batch,), device=device)
        features = unpacked(bits[batch])
        if step % 2:
            features = features[:, mirror]
        loss = functional.binary_cross_entropy_with_logits(network(features), goals[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print(f"step {step:,}: validation loss {validation_loss(network, bits, goals):.5f}", flush=True)


@torch.no_grad()
def validation_loss(network: Network, bits: torch.Tensor, goals: torch.Tensor) -> float:
    """Return the cross entropy of the held-out positions less the entropy of their targets."""
    held_out = int(len(bits) * VALIDATION)
    total = 0.0
    for part, goal in zip(bits[-held_out:].split(65_536), goals[-held_out:].split(65_536), strict=True):
        loss = functional.binary_cross_entropy_with_logits(network(unpacked(part)), goal, reduction="sum")
        total += float(loss + (torch.xlogy(goal, goal) + torch.xlogy(1 - goal, 1 - goal)).sum())
    return total / held_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("positions", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--steps", type=int, default=1 << 40)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--lr", type=float, default=0.002)
    parser.add_argument("--score-weight", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parts = [np.load(path) for path in options.positions]
    goals = torch.from_numpy(np.concatenate([targets(part, options.score_weight) for part in parts])).to(device)
    bits = torch.from_numpy(np.concatenate([packed_features(part) for part in parts])).to(device)
    print(f"{len(bits):,} positions on {device}; points per unit of log odds: {[score_scale(p) for p in parts]}")
    network = Network().to(device)
    fit(network, bits, goals, options)
    save_network(quantised({name: value.cpu().numpy() for name, value in network.state_dict().items()}), options.out)


if __name__ == "__main__":
    main()
