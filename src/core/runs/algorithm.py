"""Interfaces of environments and algorithms, used by the training command."""

from typing import Any, ClassVar, Protocol

from ..play.agent import Agent
from ..play.curriculum import Curriculum
from ..play.game import Game, Trait
from .run import Run


class Environment(Protocol):
    """A Gymnasium environment with the rules of its game and the baselines to evaluate against."""

    @property
    def game(self) -> Game: ...

    @property
    def baselines(self) -> dict[str, Agent]: ...

    @property
    def observation_space(self) -> Any: ...

    def vectorize(self, num_envs: int, device: str = "cpu") -> Any:
        """Return a `gymnasium.vector.VectorEnv` of this configuration with autoreset in the same step.

        An environment on torch keeps its tensors on `device`; the others return numpy arrays and ignore it.

        In addition to Gymnasium's interface it has `action_masks()` (N, A), also as `info["action_mask"]`, `final_obs`,
        `final_info["won"]`, and `state()` and `load_state(saved)` for checkpoints.
        """


class Algorithm(Protocol):
    needs: ClassVar[frozenset[Trait]]

    def check(self, env: Any, curriculum: Curriculum) -> None:
        """Raise `UserError` if these settings cannot be trained, before anything is written."""

    def fit(self, env: Any, curriculum: Curriculum, run: Run) -> Agent:
        """Train until the budget is used, from the last checkpoint of `run` if any; return the best agent."""

    def load_agent(self, saved: dict[str, Any]) -> Agent:
        """Return the agent of a checkpoint that `fit` saved."""
