"""Players that know Quoridor and nothing else."""

import numpy as np

from src.core.agent import Agent, Decision
from src.core.errors import require
from src.core.game import Game
from src.core.seeding import draw
from src.envs.quoridor.notation import Position
from src.envs.quoridor.rules import Quoridor


class RunnerAgent(Agent):
    """Walks the shortest path to its goal; a share `explore` of its moves is drawn from all legal ones instead."""

    def __init__(self, explore: float = 0.0) -> None:
        require(0 <= explore <= 1, f"explore={explore} is a share of the moves: expected 0 to 1")
        self.explore = float(explore)
        self.deterministic = explore == 0

    def check(self, game: Game) -> None:
        super().check(game)
        require(isinstance(game, Quoridor), "it runs in Quoridor and in nothing else")

    def decide(self, game: Game, view: Position, rng: np.random.Generator) -> Decision:
        assert isinstance(game, Quoridor)
        if self.explore > 0 and rng.random() < self.explore:
            return Decision(draw(rng, game.legal_actions(view)))
        return Decision(game.shortest_step(view))
