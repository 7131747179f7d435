"""Quoridor as a Gymnasium environment, with a compiled batch for the most common opponents."""

import numpy as np
from gymnasium.vector import VectorEnv

from ..two_player_env import GameEnv, OutcomeReward
from .game import Quoridor
from .reward import PathReward
from .vec_env import VecQuoridor, compiled_explore


class QuoridorEnv(GameEnv):
    """Rewarded by the outcome, and optionally by the lead in steps."""

    def vectorize(self, num_envs: int, device: str = "cpu") -> VectorEnv[np.ndarray, np.ndarray, np.ndarray]:
        """Return a batch of games: compiled against runners and random players, otherwise `PythonVectorEnv`."""
        explore = compiled_explore(self.opponent)
        compiled = type(self.reward) in (OutcomeReward, PathReward)  # rewards that the kernels compute
        if explore is None or not compiled or not isinstance(self.game, Quoridor):
            return super().vectorize(num_envs, device)
        return VecQuoridor(num_envs, self.game, explore, self.reward, self.seats, self.opening_plies)
