"""Perfect play by exhaustive search, for small games."""

from typing import Any

import numpy as np

from ..core.play.agent import Agent, Decision, Line
from ..core.play.game import Game, Trait, outcome_for_seat
from ..core.seeding import draw


class MinimaxAgent(Agent):
    """Play a random one of the best moves, so that opponents see all lines of perfect play."""

    needs = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC, Trait.ENUMERABLE})

    def __init__(self) -> None:
        self._values: dict[Any, int] = {}

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        best = self.best_actions(game, view)
        probability = np.zeros(game.num_actions, np.float32)
        probability[best] = 1 / len(best)
        return Decision(draw(rng, best), {"value": self.value(game, view), "action_probability": probability})

    def analyze(self, game: Game, view: Any, count: int) -> list[Line]:
        values = {action: self._value_of(game, view, action) for action in game.legal_actions(view)}
        ranked = sorted(values, key=lambda action: -values[action])[:count]
        return [Line(("draw", "win", "loss")[values[action]], (action,)) for action in ranked]

    def best_actions(self, game: Game, state: Any) -> list[int]:
        best = self.value(game, state)
        return [action for action in game.legal_actions(state) if self._value_of(game, state, action) == best]

    def value(self, game: Game, state: Any) -> int:
        """Return +1, 0 or -1 for the player to move, with best play on both sides."""
        if state not in self._values:
            outcome = game.outcome(state)
            if outcome is not None:
                self._values[state] = outcome_for_seat(game.to_move(state), outcome)
            else:
                values = (self._value_of(game, state, action) for action in game.legal_actions(state))
                self._values[state] = max(values)
        return self._values[state]

    def _value_of(self, game: Game, state: Any, action: int) -> int:
        after = game.play(state, action)
        value = self.value(game, after)
        return value if game.to_move(after) == game.to_move(state) else -value
