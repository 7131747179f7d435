"""Vector environment of Quoridor: N games against a compiled opponent, stepped together."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.parallel import run_in_spans
from ...core.play.agent import Agent, RandomAgent
from ..masked_vector_env import MaskedVectorEnv, Step, load_arrays, save_arrays
from ..splitmix import seed_word
from ..versus import GameReward
from .agents import RunnerAgent
from .board import BOARD, new_board
from .notation import Position
from .positions import as_positions
from .reward import PathReward
from .rules import Quoridor
from .search import MAX_MOVES
from .stepping import GAME, Buffers, Setup, restart_some, show_some, step_some

GAMES_PER_THREAD = 64  # with fewer, starting a thread costs more than it saves


def compiled_explore(opponent: Agent) -> tuple[float, float] | None:
    """Return the range of the fraction of random moves of an opponent that is compiled; None for other opponents."""
    if type(opponent) is RunnerAgent:
        return opponent.explore, opponent.explore_most
    return (1.0, 1.0) if type(opponent) is RandomAgent else None


class VecQuoridor(MaskedVectorEnv[np.ndarray]):
    """Plays like `SyncVersus` against a runner or a random player, with its own random numbers.

    `info["final_info"]` has `won` and `outcome` of games that ended. Observations and masks are buffers that the next
    step overwrites.
    """

    def __init__(
        self, num_envs: int, game: Quoridor, explore: tuple[float, float], reward: GameReward, seats: Sequence[int]
    ) -> None:
        """`explore` is the range from which the fraction of random moves of the opponent is drawn for each game."""
        shape = (game.planes, game.size, game.size)
        super().__init__(num_envs, spaces.Box(0.0, 1.0, shape, np.float32), game.num_actions)
        self.game = game
        path = float(reward.path) if isinstance(reward, PathReward) else 0.0
        outcomes = float(reward.win), float(reward.draw), float(reward.loss)
        self._setup = Setup(game.walls, seats[0], len(seats), *explore, *outcomes, path)
        self._observations, self._final_observations = np.zeros((2, num_envs, *shape), np.float32)
        self._buffers = Buffers(
            boards=np.zeros(num_envs, BOARD),
            games=np.zeros(num_envs, GAME),
            observations=self._observations.reshape(num_envs, shape[0], -1),
            final_observations=self._final_observations.reshape(num_envs, shape[0], -1),
            masks=np.zeros((num_envs, game.num_actions), bool),
            moves=np.zeros((num_envs, MAX_MOVES), np.int64),
        )
        self._buffers.boards[:] = new_board(game.size, game.ply_limit)

    def _start(self, seeds: Sequence[int]) -> None:
        for record, seed in zip(self._buffers.games, seeds, strict=False):
            record["random"] = seed_word(seed)
        self._in_threads(restart_some, self._buffers, self._setup)

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one legal action per env (N,); raise before any is played if one is illegal."""
        self._in_threads(step_some, self._buffers, self._setup, self._checked(actions, self._buffers.masks))
        games = self._buffers.games
        ended, info = games["ended"].copy(), {"action_mask": self._buffers.masks}
        if ended.any():
            outcomes = games["outcome"][ended]
            info |= self._final(ended, {"won": outcomes == 1, "outcome": outcomes})
        return self._observations, games["reward"].copy(), ended, np.zeros(self.num_envs, bool), info

    def action_masks(self) -> np.ndarray:
        return self._buffers.masks.copy()

    def positions(self) -> list[Position]:
        """Return the state of every game as a `Position`."""
        return as_positions(self._buffers.boards)

    def opponent_actions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the opponent's reply to the last step, and its first move of a game that began in it; (N,) each, -1:
        none.
        """
        return self._buffers.games["answer"].copy(), self._buffers.games["opening"].copy()

    def state(self) -> dict[str, Any]:
        """Return everything that later steps depend on, as bytes of records."""
        return save_arrays({"boards": self._buffers.boards, "games": self._buffers.games})

    def load_state(self, saved: dict[str, Any]) -> None:
        load_arrays({"boards": self._buffers.boards, "games": self._buffers.games}, saved)
        self._seeded = True
        self._in_threads(show_some, self._buffers, self._setup)

    def _in_threads(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel over all games."""
        run_in_spans(partial(kernel, *arguments), self.num_envs, GAMES_PER_THREAD)

    def _observe(self) -> np.ndarray:
        return self._observations

    def _final_observation(self, i: int) -> np.ndarray:
        return self._final_observations[i].copy()
