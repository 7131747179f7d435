"""2048 as a Gymnasium environment."""

from collections.abc import Mapping

from ...core.play.agent import Agent, RandomAgent
from ..two_player_env import GameEnv, OutcomeReward
from .game import Game2048
from .reward import ScoreReward


class Env2048(GameEnv):
    """2048, rewarded by its points or by the outcome alone."""

    def __init__(self, game: Game2048, reward: ScoreReward | OutcomeReward, baselines: Mapping[str, Agent]) -> None:
        super().__init__(game, RandomAgent(), reward, "first", baselines)  # an opponent that never has to move
