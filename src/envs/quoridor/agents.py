"""Players that know Quoridor and nothing else."""

import numpy as np

from src.core.agent import Agent, Decision
from src.core.errors import require
from src.core.game import Game
from src.core.seeding import draw
from src.envs.quoridor.notation import Position
from src.envs.quoridor.rules import Quoridor


class RunnerAgent(Agent):
    """Walks the shortest path to its goal; a share `explore` of its moves is drawn from all legal ones instead.

    With `explore_most` the share is drawn between both: for each game of a compiled batch (`VecQuoridor`), and
    elsewhere for each move, as an agent does not know which moves belong to one game.
    """

    def __init__(self, explore: float = 0.0, explore_most: float | None = None) -> None:
        most = explore if explore_most is None else explore_most
        shares = f"explore={explore}, explore_most={explore_most}"
        require(0 <= explore <= most <= 1, f"{shares} are shares of the moves: expected 0 to 1, the smaller first")
        self.explore, self.explore_most = float(explore), float(most)
        self.deterministic = most == 0

    def check(self, game: Game) -> None:
        super().check(game)
        require(isinstance(game, Quoridor), "it runs in Quoridor and in nothing else")

    def decide(self, game: Game, view: Position, rng: np.random.Generator) -> Decision:
        assert isinstance(game, Quoridor)
        if self.explore_most > 0 and rng.random() < rng.uniform(self.explore, self.explore_most):
            return Decision(draw(rng, game.legal_actions(view)))
        return Decision(game.shortest_step(view))
