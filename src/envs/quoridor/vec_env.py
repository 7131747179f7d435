"""Quoridor for learners at scale: N games against a compiled opponent, stepped together."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from src.core.errors import UserError, require
from src.core.play.agent import Agent, RandomAgent
from src.core.threads import run_in_spans
from src.envs.quoridor.agents import RunnerAgent
from src.envs.quoridor.board import BOARD, new_board
from src.envs.quoridor.notation import Position
from src.envs.quoridor.reward import PathReward
from src.envs.quoridor.rules import Quoridor
from src.envs.quoridor.search import MOST_MOVES
from src.envs.quoridor.stepping import GAME, Buffers, Setup, restart_some, show_some, step_some
from src.envs.seeds import seeds_of_envs
from src.envs.splitmix import seed_word
from src.envs.versus import GameReward

GAMES_PER_THREAD = 64  # fewer cost more to hand over than they take to play


def compiled_explore(opponent: Agent) -> tuple[float, float] | None:
    """The least and largest share of random moves of an opponent that is compiled into the step; None for others."""
    if type(opponent) is RunnerAgent:
        return opponent.explore, opponent.explore_most
    return (1.0, 1.0) if type(opponent) is RandomAgent else None


class VecQuoridor(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """What `SyncVersus` does against a runner or a random player, with random numbers of its own.

    A game that ends is followed by the next in the same step: the observation is already the new game's, the last one
    of the old is `info["final_obs"][i]`, and `info["final_info"]` holds whether it was won and its outcome, zeros where
    no game ended. Observations and masks are buffers that the next step overwrites.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self, num_envs: int, game: Quoridor, explore: tuple[float, float], reward: GameReward, seats: Sequence[int]
    ) -> None:
        """`explore`: between which shares of random moves that of the opponent, a runner, is drawn for each game."""
        require(num_envs >= 1, f"num_envs={num_envs}: a batch holds at least one env")
        self.num_envs, self.game = num_envs, game
        shape = (8 if game.distance_maps else 6, game.size, game.size)
        self.single_observation_space = spaces.Box(0.0, 1.0, shape, np.float32)
        self.single_action_space = spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        path = float(reward.path) if isinstance(reward, PathReward) else 0.0
        outcomes = float(reward.win), float(reward.draw), float(reward.loss)
        self._setup = Setup(game.walls, seats[0], len(seats), *explore, *outcomes, path)
        self._buffers = Buffers(
            boards=np.zeros(num_envs, BOARD),
            games=np.zeros(num_envs, GAME),
            observations=np.zeros((num_envs, *shape), np.float32),
            final_observations=np.zeros((num_envs, *shape), np.float32),
            masks=np.zeros((num_envs, game.num_actions), bool),
            moves=np.zeros((num_envs, MOST_MOVES), np.int64),
            steps=np.zeros((num_envs, game.cells), np.int64),
        )
        self._buffers.boards[:] = new_board(game.size, game.ply_limit)
        self._seeded = False

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New games for all; an int seeds env i with `seed + i`, None lets the generators go on."""
        for record, one in zip(self._buffers.games, seeds_of_envs(self, seed, seeded=self._seeded), strict=False):
            record["random"] = seed_word(one)
        self._seeded = True
        self._in_threads(restart_some, self._buffers, self._setup)
        return self._buffers.observations, {"action_mask": self._buffers.masks}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one legal action (N,) an env; where one is illegal, none is played."""
        self._in_threads(step_some, self._buffers, self._setup, self._checked(actions))
        games = self._buffers.games
        ended, info = games["ended"].copy(), {"action_mask": self._buffers.masks}
        if ended.any():
            info |= self._final(ended)
        return self._buffers.observations, games["reward"].copy(), ended, np.zeros(self.num_envs, bool), info

    def action_masks(self) -> np.ndarray:
        """(N, A) bool: the legal actions of every env."""
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
        """Everything the batch goes on from, as bytes of its records."""
        return {name: getattr(self._buffers, name).view(np.uint8).copy() for name in ("boards", "games")}

    def load_state(self, saved: dict[str, Any]) -> None:
        for name in ("boards", "games"):
            array, kept = getattr(self._buffers, name), np.asarray(saved[name])
            fits = kept.size == array.nbytes
            require(fits, f"the saved batch is of another size: {name} has {kept.size} bytes, here {array.nbytes}")
            array[:] = kept.reshape(-1).view(array.dtype)
        self._seeded = True
        self._in_threads(show_some, self._buffers, self._setup)

    def _in_threads(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel over all games."""
        run_in_spans(partial(kernel, *arguments), self.num_envs, GAMES_PER_THREAD)

    def _checked(self, actions: np.ndarray) -> np.ndarray:
        require(self._seeded, "there are no episodes to step: call reset() first")
        actions = np.asarray(actions)
        require(np.issubdtype(actions.dtype, np.integer), f"actions are whole numbers, not {actions.dtype}")
        require(actions.shape == (self.num_envs,), f"expected actions of shape ({self.num_envs},), not {actions.shape}")
        inside = (actions >= 0) & (actions < self.game.num_actions)
        legal = inside & self._buffers.masks[np.arange(self.num_envs), np.where(inside, actions, 0)]
        if not legal.all():
            number = int(np.flatnonzero(~legal)[0])
            allowed = np.flatnonzero(self._buffers.masks[number]).tolist()
            raise UserError(f"action {actions[number]} of env {number} is illegal: legal are {allowed}")
        return actions.astype(np.int64)

    def _final(self, ended: np.ndarray) -> dict[str, Any]:
        observations = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended):
            observations[i] = self._buffers.final_observations[i].copy()
        outcomes = self._buffers.games["outcome"].copy()
        return {
            "final_obs": observations,
            "_final_obs": ended.copy(),
            "final_info": {"won": outcomes == 1, "outcome": outcomes},
            "_final_info": ended.copy(),
        }
