"""Self-play: games of the network against itself, and the replay buffer of their positions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...core.play.arena import random_opening
from ...core.play.game import TwoPlayerGame
from ...core.play.search_interface import Symmetry, Zeros
from .search import SearchConfig, Searching, SearchResult, new_trees, search


class TrainingBatch(NamedTuple):
    observations: Tensor  # (B, ...)
    masks: Tensor  # (B, A) bool
    policies: Tensor  # (B, A) float32: targets of the policy
    values: Tensor  # (B,) float32: targets of the value


class ReplayBuffer:
    """A ring of the latest S moves of N games. Row t of an array (S, N, ...) holds move t of all games.

    A position is used for training once its game is over. Its value target is its TD(lambda) return, for the player to
    move there: the discounted outcome (`td_lambda` 1), or a mixture with the values that later searches found.
    """

    def __init__(
        self, steps: int, observations: np.ndarray, num_actions: int, device: str, discount: float, td_lambda: float
    ) -> None:
        """`observations` (N, ...) is an example of the observations of one step."""
        count = len(observations)
        compact = torch.float16 if device.startswith("cuda") else torch.float32
        given = torch.from_numpy(observations)
        dtype = compact if given.is_floating_point() else given.dtype
        self.steps, self.discount, self.td_lambda = steps, discount, td_lambda
        self.observations = torch.zeros((steps, *given.shape), dtype=dtype, device=device)
        self.policies = torch.zeros((steps, count, num_actions), dtype=compact, device=device)
        self.masks = torch.zeros((steps, count, num_actions), dtype=torch.bool, device=device)
        self.targets = np.zeros((steps, count), np.float32)  # of values
        self.searched = np.zeros((steps, count), np.float32)  # values of the searches
        self.seats = np.zeros((steps, count), np.int8)
        self.ready = np.zeros((steps, count), bool)
        self.ages = np.zeros(count, np.int64)  # stored positions of each game in progress
        self.added = 0  # steps
        self._rows: np.ndarray | None = None  # of `ready`, while it does not change

    @property
    def rows(self) -> np.ndarray:
        """The numbers of the positions to train on, in arrays of (S * N)."""
        if self._rows is None:
            self._rows = np.flatnonzero(self.ready)
        return self._rows

    @property
    def size(self) -> int:
        """The number of positions to train on."""
        return len(self.rows)

    def add(self, observations: np.ndarray, masks: np.ndarray, seats: np.ndarray, found: SearchResult) -> None:
        """Store one move of every game, and forget the oldest."""
        row = self.added % self.steps
        self.observations[row] = torch.from_numpy(observations).to(self.observations.device)
        self.policies[row] = torch.from_numpy(found.policies).to(self.policies.device)
        self.masks[row] = torch.from_numpy(masks).to(self.masks.device)
        self.searched[row], self.seats[row], self.ready[row] = found.values, seats, False
        self.ages = np.minimum(self.ages + 1, self.steps)
        self.added += 1
        self._rows = None

    def finish(self, games: np.ndarray, outcomes: np.ndarray) -> int:
        """Compute the targets of games (G,) that ended with the latest move; `outcomes` (G,) are for seat 0.

        Return the number of positions that can be trained on from now on.
        """
        ready, ended = int(self.ages[games].sum()), games
        returns = np.zeros(len(games), np.float32)
        for age in range(int(self.ages[games].max(initial=0))):
            within = self.ages[games] > age
            games, outcomes, returns = games[within], outcomes[within], returns[within]
            row, after = (self.added - 1 - age) % self.steps, (self.added - age) % self.steps
            seats = self.seats[row, games]
            if age == 0:
                returns = np.where(seats == 0, outcomes, -outcomes).astype(np.float32)
            else:
                mixed = (1 - self.td_lambda) * self.searched[after, games] + self.td_lambda * returns
                returns = np.where(seats == self.seats[after, games], mixed, -mixed)
            returns = np.float32(self.discount) * returns
            self.targets[row, games], self.ready[row, games] = returns, True
        self.ages[ended] = 0
        self._rows = None
        return ready

    def sample(self, size: int, symmetries: "Symmetries", rng: np.random.Generator) -> TrainingBatch:
        """Draw positions uniformly, each under a random symmetry of the game."""
        chosen = self.rows[rng.integers(len(self.rows), size=size)]
        images = torch.from_numpy(rng.integers(symmetries.count, size=size))
        rows = torch.from_numpy(chosen).to(self.masks.device)
        fields = [part.flatten(0, 1)[rows] for part in (self.observations, self.masks, self.policies)]
        observations, masks, policies = symmetries.transformed(fields, images.to(self.masks.device))
        values = torch.from_numpy(self.targets.ravel()[chosen]).to(self.masks.device)
        return self._batch(observations, masks, policies, values)

    def blank(self, size: int) -> TrainingBatch:
        """Return zeros in the shapes of a sample."""
        stored = (self.observations, self.masks, self.policies)
        observations, masks, policies = (part.new_zeros(size, *part.shape[2:]) for part in stored)
        return self._batch(observations, masks, policies, torch.zeros(size, device=masks.device))

    @staticmethod
    def _batch(observations: Tensor, masks: Tensor, policies: Tensor, values: Tensor) -> TrainingBatch:
        if observations.dtype == torch.float16:
            observations = observations.float()
        return TrainingBatch(observations, masks, policies.float(), values)

    def state(self) -> dict[str, Any]:
        """Return the stored moves, for `load_state`."""
        filled = min(self.added, self.steps)
        arrays = {
            name: torch.from_numpy(getattr(self, name)[:filled]) for name in ("targets", "searched", "seats", "ready")
        }
        tensors = {name: getattr(self, name)[:filled] for name in ("observations", "policies", "masks")}
        return {**arrays, **tensors, "ages": self.ages.tolist(), "added": self.added}

    def load_state(self, saved: dict[str, Any]) -> None:
        filled = min(saved["added"], self.steps)
        for name in ("targets", "searched", "seats", "ready"):
            getattr(self, name)[:filled] = saved[name].cpu().numpy()
        for name in ("observations", "policies", "masks"):
            getattr(self, name)[:filled] = saved[name]
        self.ages[:], self.added, self._rows = saved["ages"], saved["added"], None


def position_bytes(observation: np.ndarray, num_actions: int, on_gpu: bool) -> int:
    """Return the size of a stored position in a checkpoint."""
    compact = 2 if on_gpu else 4  # float16 or float32
    each = compact if np.issubdtype(observation.dtype, np.floating) else observation.itemsize
    values = 4 + 4 + 1 + 1  # target, searched value, seat and whether it is ready
    return each * observation.size + (compact + 1) * num_actions + values


class Symmetries:
    """The symmetries of a game as indices on the device of the network."""

    def __init__(self, symmetries: Sequence[Symmetry], device: str) -> None:
        self.count = len(symmetries)
        self._observation = torch.from_numpy(np.stack([one.observation for one in symmetries])).to(device)
        self._actions = torch.from_numpy(np.stack([one.actions for one in symmetries])).to(device)

    def transformed(self, fields: Sequence[Tensor], images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the image of row i of observations, masks and policies under symmetry number `images[i]`."""
        observations, masks, policies = fields
        if self.count == 1:
            return observations, masks, policies
        turned = observations.flatten(1).gather(1, self._observation[images]).view_as(observations)
        actions = self._actions[images]
        return turned, masks.gather(1, actions), policies.gather(1, actions)


class Finished(NamedTuple):
    """The games that ended with a move."""

    outcomes: np.ndarray  # (G,) int8 for the player who moves first
    lengths: np.ndarray  # (G,) moves
    positions: int  # that can be trained on from now on


class SelfPlayGames:
    """N games in progress; a game that ends is followed by a new one.

    A game begins with up to `opening_plies` random moves, which are neither searched nor trained on.
    """

    def __init__(
        self,
        game: TwoPlayerGame,
        count: int,
        config: SearchConfig,
        buffer: ReplayBuffer,
        opening_plies: int,
        rng: np.random.Generator,
        zeros: Zeros = np.zeros,
    ) -> None:
        """`zeros` creates the arrays that the network reads."""
        self.game, self.config, self.buffer, self.opening_plies, self.rng = game, config, buffer, opening_plies, rng
        self.positions = game.positions(count, config.simulations + 1, zeros)
        self.lengths = np.zeros(count, np.int64)  # moves so far, with the opening
        self._trees = new_trees(count, config.simulations + 1, game.num_actions)
        self._root = self.positions.observations, self.positions.masks, self.positions.seats
        self._begin(np.arange(count))

    def _begin(self, games: np.ndarray) -> None:
        openings = self.rng.integers(self.opening_plies + 1, size=len(games))
        starts = [random_opening(self.game, int(plies), self.rng) for plies in openings]
        self.positions.set_roots(games.tolist(), starts)
        self.lengths[games] = openings

    def searching(self, noise: np.ndarray) -> Searching:
        """Search all positions; `noise` (N, A) is Gumbel noise."""
        positions = self.positions
        self._root = positions.observations.copy(), positions.masks.copy(), positions.seats.copy()
        return search(positions, self.config, self.buffer.discount, noise, self._trees)

    def play(self, found: SearchResult) -> Finished:
        """Play the moves that the search has chosen."""
        self.buffer.add(*self._root, found)
        self.positions.play(found.actions)
        self.lengths += 1
        ended = np.flatnonzero(self.positions.ended)
        outcomes, lengths = self.positions.outcomes[ended].copy(), self.lengths[ended]
        ready = self.buffer.finish(ended, outcomes)
        self._begin(ended)
        return Finished(outcomes, lengths, ready)

    def state(self) -> dict[str, Any]:
        """Return everything that later moves depend on, but the network and the noise."""
        return {
            "roots": [self.game.write_position(state) for state in self.positions.roots()],
            "lengths": self.lengths.tolist(),
            "rng": self.rng.bit_generator.state,
            "buffer": self.buffer.state(),
        }

    def load_state(self, saved: dict[str, Any]) -> None:
        states = [self.game.read_position(text) for text in saved["roots"]]
        self.positions.set_roots(range(len(states)), states)
        self.lengths[:] = saved["lengths"]
        self.rng.bit_generator.state = saved["rng"]
        self.buffer.load_state(saved["buffer"])


def gumbel_noise(count: int, actions: int, generator: torch.Generator) -> np.ndarray:
    """Sample Gumbel noise (N, A)."""
    uniform = torch.rand((count, actions), generator=generator, device=generator.device)
    noise: np.ndarray = (-(-uniform.clamp(1e-20, 1 - 1e-7).log()).log()).cpu().numpy()
    return noise


def pinned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Create an array in page-locked memory, which a GPU copies faster and while the CPU goes on."""
    example = torch.from_numpy(np.zeros(0, dtype))
    array: np.ndarray = torch.zeros(shape, dtype=example.dtype, pin_memory=True).numpy()
    return array
