"""Reward that makes steps and walls comparable long before a game is decided."""

from dataclasses import dataclass

from src.envs.quoridor.notation import Position
from src.envs.quoridor.paths import distance
from src.envs.quoridor.rules import Quoridor
from src.envs.versus import GameReward


@dataclass(frozen=True)
class PathReward(GameReward):
    """The outcome, and the change of the lead: how many steps shorter the own shortest path is than the opponent's.

    A step forward and a wall in the opponent's way are rewarded at once. What was collected is taken back when the game
    ends, so that over a whole game, undiscounted, only the outcome counts.
    """

    path: float  # for each step of the lead

    def potential(self, game: Quoridor, state: Position, seat: int) -> float:
        board = game.board_of(state)
        return self.path * int(distance(board, 1 - seat) - distance(board, seat))
