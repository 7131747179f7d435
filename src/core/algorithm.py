"""What every learner offers to the training command."""

from typing import Any, ClassVar, Protocol

from src.core.agent import Agent
from src.core.curriculum import Curriculum
from src.core.game import Game, Trait
from src.core.run import Run


class Environment(Protocol):
    """A Gymnasium environment of ours: the rules it is played by, and the agents it is measured against."""

    game: Game
    baselines: dict[str, Agent]


class Algorithm(Protocol):
    needs: ClassVar[frozenset[Trait]]

    def check(self, env: Any, curriculum: Curriculum) -> None:
        """Raise `LabError` where these settings cannot be learned from, before anything is written."""

    def fit(self, env: Any, curriculum: Curriculum, run: Run) -> Agent:
        """Learn until the budget is spent, from where `run` was last saved; returns the best agent found."""

    def load_agent(self, saved: dict[str, Any]) -> Agent:
        """The agent in a checkpoint that `fit` saved."""
