"""Agents that play Quoridor only."""

import numpy as np

from ...core.errors import require
from ...core.play.agent import Agent, Decision
from ...core.play.game import Game
from ...core.ranges import Fraction, checked
from ...core.seeding import draw
from .notation import Position
from .rules import Quoridor


class RunnerAgent(Agent):
    """Follows a shortest path to its goal; a fraction `explore` of its moves is drawn from all legal ones instead.

    With `explore_most` the fraction is drawn between both: for each game in the compiled batch (`VecQuoridor`), and
    otherwise for each move, because an agent does not know which moves belong to one game.
    """

    @checked
    def __init__(self, explore: Fraction = 0.0, explore_most: Fraction | None = None) -> None:
        most = explore if explore_most is None else explore_most
        require(explore <= most, f"explore={explore} must not be greater than explore_most={explore_most}")
        self.explore, self.explore_most = float(explore), float(most)
        self.deterministic = most == 0

    def check(self, game: Game) -> None:
        super().check(game)
        require(isinstance(game, Quoridor), "it plays Quoridor only")

    def decide(self, game: Game, view: Position, rng: np.random.Generator) -> Decision:
        assert isinstance(game, Quoridor)
        if self.explore_most > 0 and rng.random() < rng.uniform(self.explore, self.explore_most):
            return Decision(draw(rng, game.legal_actions(view)))
        return Decision(game.shortest_step(view))
