"""An agent that can be told apart by its moves."""

from typing import Any

import numpy as np

from src.core.play.agent import Agent, Decision


class Fixed(Agent):
    """Plays the legal action after the first `number` + 1 ones, in a circle."""

    deterministic = True

    def __init__(self, number: int) -> None:
        self.number = number

    def decide(self, game: Any, view: Any, rng: np.random.Generator) -> Decision:
        legal = game.legal_actions(view)
        return Decision(legal[(self.number + 1) % len(legal)])


def fixed(weights: dict[str, Any]) -> Fixed:
    return Fixed(weights.get("number", 0))
