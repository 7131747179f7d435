"""The reward of 2048."""

from dataclasses import dataclass

from ...core.ranges import NonNegative
from ..two_player_env import GameReward
from .rules import Board


@dataclass(frozen=True)
class ScoreReward(GameReward):
    """The outcome, and the points of every move."""

    per_point: NonNegative  # of the score of the game: the tiles made by merging

    def score(self, game: object, state: Board, seat: int) -> float:
        return self.per_point * state.score
