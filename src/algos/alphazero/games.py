"""Games that the network plays against itself: one search for the next move of all of them."""

from typing import Any, NamedTuple

import numpy as np
import torch

from ...core.play.arena import random_opening
from ...core.play.game import TwoPlayerGame
from ...core.play.positions import Zeros
from .replay import ReplayBuffer
from .search import SearchConfig, Searching, SearchResult, search
from .tree import new_trees


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
