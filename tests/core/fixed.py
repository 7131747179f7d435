"""Agents whose moves are known, and a tracker that records its calls."""

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


class FirstMove(Fixed):
    """Plays the first legal action."""

    def __init__(self) -> None:
        super().__init__(-1)


class Quitter(Agent):
    """Resigns."""

    counters = ("guess",)

    def decide(self, game: Any, view: Any, rng: np.random.Generator) -> Decision:
        return Decision(None, {"guess": 2})


def fixed(weights: dict[str, Any]) -> Fixed:
    return Fixed(weights.get("number", 0))


class RecordingTracker:
    """Records the calls of all methods: name, arguments and options."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: self.calls.append((name, arguments, options))

    def of(self, name: str) -> list[Any]:
        """Return the first argument or option of each call of a method."""
        return [
            next(iter([*arguments, *options.values()])) for called, arguments, options in self.calls if called == name
        ]
