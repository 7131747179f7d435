"""Quoridor as a Gymnasium environment, with a compiled batch for the most common opponents."""

import numpy as np

from ...core.play.agent import Agent
from ..masked_env import MaskedVectorEnv
from ..two_player_env import GameEnv, OutcomeReward
from .game import Quoridor
from .reward import PathReward
from .vec_env import VecQuoridor, compiled_explore


class QuoridorEnv(GameEnv):
    """Rewarded by the outcome, and optionally by the lead in steps."""

    def _make_batch(self, opponent: Agent, count: int) -> MaskedVectorEnv[np.ndarray]:
        """Return a batch of games: compiled against runners and random players, otherwise `PythonVectorEnv`."""
        explore = compiled_explore(opponent)
        compiled = type(self.reward) in (OutcomeReward, PathReward)  # rewards that the kernels compute
        if explore is None or not compiled or not isinstance(self.game, Quoridor):
            return super()._make_batch(opponent, count)
        return VecQuoridor(count, self.game, explore, self.reward, self.seats, self.opening_plies)
