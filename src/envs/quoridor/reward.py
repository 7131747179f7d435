"""Reward shaping by the lead in steps."""

from dataclasses import dataclass

from ..two_player_env import GameReward
from .game import Quoridor
from .rules import Position, distance


@dataclass(frozen=True)
class PathReward(GameReward):
    """The outcome, plus changes of the lead: by how many steps the own shortest path is shorter than the opponent's.

    Steps forward and walls in the opponent's way are rewarded at once. The potential is 0 at the end of a game, so the
    discounted rewards of a game sum to the discounted outcome, up to a constant.
    """

    path: float  # reward per step of lead

    def potential(self, game: Quoridor, state: Position, seat: int) -> float:
        board = game.board_of(state)
        return self.path * int(distance(board, 1 - seat) - distance(board, seat))
