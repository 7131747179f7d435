"""Players that know Quoridor and nothing else."""

import numpy as np

from src.core.agent import Agent, Decision
from src.core.errors import require
from src.core.game import Game
from src.envs.quoridor.notation import Position
from src.envs.quoridor.rules import Quoridor


class RunnerAgent(Agent):
    """Walks the shortest path to its goal and never places a wall."""

    deterministic = True

    def check(self, game: Game) -> None:
        super().check(game)
        require(isinstance(game, Quoridor), "it runs in Quoridor and in nothing else")

    def decide(self, game: Game, view: Position, rng: np.random.Generator) -> Decision:
        assert isinstance(game, Quoridor)
        return Decision(game.shortest_step(view))
