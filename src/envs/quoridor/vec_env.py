"""Quoridor for learners at scale: N games against a compiled opponent, stepped together."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from src.core.play.agent import Agent, RandomAgent
from src.core.threads import run_in_spans
from src.envs.masked_vector_env import MaskedVectorEnv, Step, load_arrays, save_arrays
from src.envs.quoridor.agents import RunnerAgent
from src.envs.quoridor.board import BOARD, new_board
from src.envs.quoridor.notation import Position
from src.envs.quoridor.reward import PathReward
from src.envs.quoridor.rules import Quoridor
from src.envs.quoridor.search import MAX_MOVES
from src.envs.quoridor.stepping import GAME, Buffers, Setup, restart_some, show_some, step_some
from src.envs.splitmix import seed_word
from src.envs.versus import GameReward

GAMES_PER_THREAD = 64  # fewer cost more to hand over than they take to play


def compiled_explore(opponent: Agent) -> tuple[float, float] | None:
    """The least and largest share of random moves of an opponent that is compiled into the step; None for others."""
    if type(opponent) is RunnerAgent:
        return opponent.explore, opponent.explore_most
    return (1.0, 1.0) if type(opponent) is RandomAgent else None


class VecQuoridor(MaskedVectorEnv[np.ndarray]):
    """What `SyncVersus` does against a runner or a random player, with random numbers of its own.

    `info["final_info"]` holds whether a game was won and its outcome. Observations and masks are buffers that the next
    step overwrites.
    """

    def __init__(
        self, num_envs: int, game: Quoridor, explore: tuple[float, float], reward: GameReward, seats: Sequence[int]
    ) -> None:
        """`explore`: between which shares of random moves that of the opponent, a runner, is drawn for each game."""
        shape = (8 if game.distance_maps else 6, game.size, game.size)
        super().__init__(num_envs, spaces.Box(0.0, 1.0, shape, np.float32), game.num_actions)
        self.game = game
        path = float(reward.path) if isinstance(reward, PathReward) else 0.0
        outcomes = float(reward.win), float(reward.draw), float(reward.loss)
        self._setup = Setup(game.walls, seats[0], len(seats), *explore, *outcomes, path)
        self._buffers = Buffers(
            boards=np.zeros(num_envs, BOARD),
            games=np.zeros(num_envs, GAME),
            observations=np.zeros((num_envs, *shape), np.float32),
            final_observations=np.zeros((num_envs, *shape), np.float32),
            masks=np.zeros((num_envs, game.num_actions), bool),
            moves=np.zeros((num_envs, MAX_MOVES), np.int64),
            steps=np.zeros((num_envs, game.cells), np.int64),
        )
        self._buffers.boards[:] = new_board(game.size, game.ply_limit)

    def _start(self, seeds: Sequence[int]) -> None:
        for record, seed in zip(self._buffers.games, seeds, strict=False):
            record["random"] = seed_word(seed)
        self._in_threads(restart_some, self._buffers, self._setup)

    def step(self, actions: np.ndarray) -> Step[np.ndarray]:
        """Play one legal action (N,) an env; where one is illegal, none is played."""
        self._in_threads(step_some, self._buffers, self._setup, self._checked(actions, self._buffers.masks))
        games = self._buffers.games
        ended, info = games["ended"].copy(), {"action_mask": self._buffers.masks}
        if ended.any():
            outcomes = games["outcome"].copy()
            info |= self._final(ended, {"won": outcomes == 1, "outcome": outcomes})
        return self._buffers.observations, games["reward"].copy(), ended, np.zeros(self.num_envs, bool), info

    def action_masks(self) -> np.ndarray:
        return self._buffers.masks.copy()

    def positions(self) -> list[Position]:
        """The state of every game, as the rules have it."""
        boards = self._buffers.boards
        fields = (boards[name].tolist() for name in ("pawn", "left", "horizontal", "vertical", "ply"))
        return [Position(tuple(pawns), tuple(left), *rest) for pawns, left, *rest in zip(*fields, strict=True)]

    def opponent_actions(self) -> tuple[np.ndarray, np.ndarray]:
        """(N,) each: the opponent's answer to the last step, and its first move of a game that began then; -1: none."""
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
        return self._buffers.observations

    def _final_observation(self, i: int) -> np.ndarray:
        return self._buffers.final_observations[i].copy()
