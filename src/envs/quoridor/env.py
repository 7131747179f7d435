"""Quoridor as one player meets it, with a compiled batch for the opponents that learners meet most."""

import numpy as np
from gymnasium.vector import VectorEnv

from src.envs.quoridor.reward import PathReward
from src.envs.quoridor.rules import Quoridor
from src.envs.quoridor.vec_env import VecQuoridor, compiled_explore
from src.envs.versus import OutcomeReward, TwoPlayerEnv


class QuoridorEnv(TwoPlayerEnv):
    """Rewarded by the outcome, or by the lead in steps as well."""

    def vectorize(self, num_envs: int, device: str = "cpu") -> VectorEnv[np.ndarray, np.ndarray, np.ndarray]:
        """A batch of games: one compiled call a step against runners and random players, else `SyncVersus`."""
        explore = compiled_explore(self.opponent)
        compiled = type(self.reward) in (OutcomeReward, PathReward)  # which the kernels compute; others are asked
        if explore is None or not compiled or not isinstance(self.game, Quoridor):
            return super().vectorize(num_envs, device)
        return VecQuoridor(num_envs, self.game, explore, self.reward, self.seats)
