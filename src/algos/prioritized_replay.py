"""Prioritized replay of n-step transitions (Schaul et al. 2016), in games of one player or two."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

SMALLEST_ERROR = 0.01  # added to the TD error in a priority, so that every position is sampled again


class SumTree:
    """Numbers whose partial sums allow to draw one with a probability proportional to it."""

    def __init__(self, count: int) -> None:
        self.first = 1 << (count - 1).bit_length()  # of the leaves
        self._sums = np.zeros(2 * self.first)  # node i is the sum of nodes 2 i and 2 i + 1

    @property
    def total(self) -> float:
        return float(self._sums[1])

    def __getitem__(self, leaves: Any) -> np.ndarray:
        numbers: np.ndarray = self._sums[self.first :][leaves]
        return numbers

    def __setitem__(self, leaves: np.ndarray, numbers: Any) -> None:
        nodes = self.first + leaves
        self._sums[nodes] = numbers
        while nodes[0] > 1:
            nodes = np.unique(nodes >> 1)
            self._sums[nodes] = self._sums[2 * nodes] + self._sums[2 * nodes + 1]

    def find(self, sums: np.ndarray) -> np.ndarray:
        """Return the leaf in which the cumulative sum passes each of `sums` (B,), in [0, total)."""
        nodes, rest = np.ones(len(sums), np.int64), sums.copy()
        while nodes[0] < self.first:
            left = self._sums[2 * nodes]
            right = (rest >= left) & (self._sums[2 * nodes + 1] > 0)  # rounding must not lead to an empty leaf
            rest -= np.where(right, left, 0.0)
            nodes = 2 * nodes + right
        return nodes - self.first


class Transitions(NamedTuple):
    """Positions with n-step returns, (B, ...)."""

    observations: Tensor
    masks: Tensor  # (B, A) bool
    actions: Tensor  # (B,) int64
    returns: Tensor  # (B,) rewards up to the next position, discounted, for the player who moved
    discounts: Tensor  # (B,) of the value there: 0 if the game ended, negative if the opponent is to move
    next_observations: Tensor
    next_masks: Tensor  # (B, A) bool
    weights: Tensor  # (B,) importance sampling weights


class ReplayBuffer:
    """A ring of the latest S moves of N games. Row t of an array (S, N, ...) holds move t of all games.

    A position can be sampled when `n_step` more moves have followed: its return is then known, and the position after
    these moves, if its game has not ended before. New positions have the highest priority so far.
    """

    PARTS = ("observations", "masks", "seats", "actions", "rewards", "ended", "cut", "returns", "discounts", "spans")

    def __init__(
        self, steps: int, observations: np.ndarray, num_actions: int, n_step: int, gamma: float, priority: float
    ) -> None:
        """`observations` (N, ...) is an example of those of one step; with `priority` 0 sampling is uniform."""
        self.steps, self.count, self.n_step = steps, len(observations), n_step
        self.gamma, self.exponent = gamma, priority
        shape = steps, self.count
        self.observations = np.zeros((*shape, *observations.shape[1:]), stored_dtype(observations.dtype))
        self.masks = np.zeros((*shape, num_actions), bool)
        self.seats, self.actions = np.zeros(shape, np.int8), np.zeros(shape, np.int64)
        self.rewards, self.returns, self.discounts = np.zeros((3, *shape), np.float32)
        self.ended, self.cut = np.zeros((2, *shape), bool)
        self.spans = np.zeros(shape, np.int16)  # moves to the next position
        self.priorities, self.largest = SumTree(steps * self.count), 1.0
        self.added = 0  # rows

    @property
    def size(self) -> int:
        """The number of positions to sample from."""
        return max(0, min(self.added, self.steps) - self.n_step) * self.count

    def add(self, *move: np.ndarray) -> None:
        """Store one move of every game, by the first seven of `PARTS`, and forget the oldest.

        `seats` are the players who move and get the `rewards`. A game that is `cut` was truncated: its last
        position has a value, but the one after it is not known.
        """
        row = self.added % self.steps
        for name, values in zip(self.PARTS[:7], move, strict=True):
            getattr(self, name)[row] = values
        self.priorities[row * self.count + np.arange(self.count)] = 0.0
        self.added += 1
        if self.added > self.n_step:
            self._finish(self.added - 1 - self.n_step)

    def _finish(self, first: int) -> None:
        """Compute the returns of the moves in row `first`, which `n_step` more have followed."""
        rows = np.arange(first, first + self.n_step + 1) % self.steps
        row, own = rows[0], self.seats[rows[0]]
        self.returns[row], self.discounts[row], self.spans[row] = 0, 0, self.n_step
        going = np.ones(self.count, bool)
        for number, at in enumerate(rows.tolist()):
            factors = np.where(self.seats[at] == own, 1.0, -1.0) * self.gamma**number
            # A game that is cut ends at its last position.
            last = going & (self.cut[at] | (number == self.n_step))
            self.discounts[row, last], self.spans[row, last] = factors[last], number
            going &= ~last
            self.returns[row] += np.where(going, factors * self.rewards[at], 0.0)
            going &= ~self.ended[at]
        known = self.spans[row] > 0
        self.priorities[row * self.count + np.arange(self.count)] = known * self.largest**self.exponent

    def sample(
        self, size: int, importance: float, rng: np.random.Generator, device: str
    ) -> tuple[np.ndarray, Transitions]:
        """Draw positions in proportion to their priorities; return their numbers, for `update`, and the transitions."""
        places = (np.arange(size) + rng.random(size)) / size * self.priorities.total
        chosen = self.priorities.find(places)
        rows, games = np.divmod(chosen, self.count)
        after = (rows + self.spans[rows, games]) % self.steps
        chances = self.priorities[chosen] / self.priorities.total
        weights = (self.size * chances) ** -importance
        names = ("observations", "masks", "actions", "returns", "discounts")
        parts = [getattr(self, name)[rows, games] for name in names]
        parts += [self.observations[after, games], self.masks[after, games], weights / weights.max()]
        tensors = [torch.from_numpy(part).to(device) for part in parts]
        return chosen, Transitions(*(one.float() if one.is_floating_point() else one for one in tensors))

    def update(self, chosen: np.ndarray, errors: np.ndarray) -> None:
        """Set the priorities of sampled positions by their TD errors (B,)."""
        priorities = np.abs(errors).astype(np.float64) + SMALLEST_ERROR
        self.largest = max(self.largest, float(priorities.max()))
        order = np.unique(chosen, return_index=True)[1]  # the tree needs each leaf once, in order
        self.priorities[chosen[order]] = priorities[order] ** self.exponent

    def state(self) -> dict[str, Any]:
        filled = min(self.added, self.steps)
        arrays = {name: getattr(self, name)[:filled] for name in self.PARTS}
        leaves = self.priorities[: self.steps * self.count].copy()
        return {**arrays, "priorities": leaves, "largest": self.largest, "added": self.added}

    def load_state(self, saved: dict[str, Any]) -> None:
        self.added, self.largest = saved["added"], saved["largest"]
        for name in self.PARTS:
            getattr(self, name)[: min(self.added, self.steps)] = np.asarray(saved[name])
        self.priorities[np.arange(self.steps * self.count)] = np.asarray(saved["priorities"])


def stored_dtype(dtype: Any) -> np.dtype:
    """Return the type in which observations of a type are stored: planes need no float32."""
    return np.dtype(np.float16) if np.issubdtype(dtype, np.floating) else np.dtype(dtype)
