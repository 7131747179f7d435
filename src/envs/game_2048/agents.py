"""A player of 2048 that looks one move ahead."""

import numpy as np

from ...core.errors import require
from ...core.play.agent import Agent, Decision
from ...core.play.game import Game
from .game import Game2048
from .rules import Board


class MonotoneAgent(Agent):
    """Keep cells empty, and rows and columns in ascending or descending order with small steps."""

    deterministic = True

    def check(self, game: Game) -> None:
        require(isinstance(game, Game2048), "it plays 2048 only")

    def decide(self, game: Game2048, view: Board, rng: np.random.Generator) -> Decision:  # type: ignore[override]
        shape = game.size, game.size
        values = {action: _value(np.reshape(tiles, shape)) for action, (tiles, _) in game.slides(view).items()}
        return Decision(max(values, key=lambda action: values[action]))


def _value(exponents: np.ndarray) -> float:
    value = 2.0 * int((exponents == 0).sum())
    for board in (exponents, exponents.T):
        steps = np.diff(board, axis=1)
        rises, falls = steps.clip(0).sum(axis=1), (-steps).clip(0).sum(axis=1)
        value -= 0.3 * float((rises + falls).sum()) + float(np.minimum(rises, falls).sum())
    return value
