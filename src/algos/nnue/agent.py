"""The evaluation network in floating point, and the search of a game with it as an agent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from ...core.errors import require
from ...core.play.agent import Agent, Decision, Line
from ...core.play.game import Game, Trait
from ...core.play.search_interface import DepthResult
from ...core.ranges import Count, Positive, Threads, check_fields
from ..weights import load_weights
from .games import evaluation_of

LAYERS = ("first", "second", "third")  # of the network


class EvaluationNetwork(nn.Module):
    """Map features (N, F) to log odds (N,); see `LearnedEvaluation`."""

    def __init__(self, layers: tuple[int, int, int]) -> None:
        super().__init__()
        features, hidden, narrow = layers
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, narrow)
        self.third = nn.Linear(narrow, 1)

    def forward(self, features: Tensor) -> Tensor:
        hidden = self.first(features).clamp(0, 1)
        odds: Tensor = self.third(self.second(hidden).clamp(0, 1)).squeeze(1)
        return odds


def numpy_weights(net: nn.Module) -> dict[str, np.ndarray]:
    """Return the weights by name, as `LearnedEvaluation.quantized` takes them."""
    return {name: weight.detach().cpu().numpy() for name, weight in net.state_dict().items()}


@dataclass(frozen=True)
class PlayConfig:
    """Settings of the trained agent."""

    seconds: Positive | None
    nodes: Count | None
    threads: Threads

    def __post_init__(self) -> None:
        check_fields(self)
        one = (self.seconds is None) != (self.nodes is None)
        require(one, "set one of algo.play.seconds and algo.play.nodes, and the other to null")
        require(
            self.nodes is None or self.threads == 1,
            f"algo.play.nodes={self.nodes} limits a search of one thread: set algo.play.threads=1, or "
            "algo.play.seconds instead of algo.play.nodes",
        )


class EvaluationAgent(Agent):
    """Plays by the search of the game, whose agent also gives the `info`."""

    needs = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC, Trait.LEARNED_EVALUATION})

    def __init__(self, weights: Mapping[str, Any], play: PlayConfig) -> None:
        """`weights` are tensors by name."""
        names = {f"{layer}.{kind}" for layer in LAYERS for kind in ("weight", "bias")}
        require(weights.keys() == names, f"the weights are {sorted(weights)}, expected {sorted(names)}")
        self.weights, self.play = dict(weights), play
        self.is_timed = play.seconds is not None
        self.deterministic = not self.is_timed
        self._player: Any = None  # the agent of the game

    def check(self, game: Game) -> None:
        super().check(game)
        self._agent(game).check(game)

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        decision: Decision = self._agent(game).decide(game, view, rng)
        return decision

    def analyze(
        self, game: Game, view: Any, count: int, report: Callable[[DepthResult], None] = lambda result: None
    ) -> list[Line]:
        lines: list[Line] = self._agent(game).analyze(game, view, count, report)
        return lines

    def reset(self) -> None:
        if self._player is not None:
            self._player.reset()

    def stop(self) -> None:
        if self._player is not None:
            self._player.stop()

    def _agent(self, game: Game) -> Any:
        if self._player is None:
            evaluation = evaluation_of(game)
            net = EvaluationNetwork(evaluation.layers)
            load_weights(net, {"weights": self.weights}, "the saved weights belong to another game")
            network = evaluation.quantized(numpy_weights(net))
            self._player = evaluation.agent(network, self.play.seconds, self.play.nodes, self.play.threads)
        return self._player
