"""What every learner offers to the training command."""

from typing import Any, ClassVar, Protocol

from src.core.play.agent import Agent
from src.core.play.curriculum import Curriculum
from src.core.play.game import Game, Trait
from src.core.runs.run import Run


class Environment(Protocol):
    """A Gymnasium environment of ours: the rules it is played by, and the agents it is measured against."""

    @property
    def game(self) -> Game: ...

    @property
    def baselines(self) -> dict[str, Agent]: ...

    @property
    def observation_space(self) -> Any: ...

    def vectorize(self, num_envs: int, device: str = "cpu") -> Any:
        """A `gymnasium.vector.VectorEnv` of games of this configuration, each followed by the next in the same step.

        One that computes with tensors keeps them on `device`; others hand out arrays whatever it is.

        Beside what Gymnasium asks of one, it has `action_masks()` (N, A), also as `info["action_mask"]`, `final_obs`,
        a `final_info` that tells which games were "won", and `state()` and `load_state(saved)` for checkpoints.
        """


class Algorithm(Protocol):
    needs: ClassVar[frozenset[Trait]]

    def check(self, env: Any, curriculum: Curriculum) -> None:
        """Raise `UserError` where these settings cannot be learned from, before anything is written."""

    def fit(self, env: Any, curriculum: Curriculum, run: Run) -> Agent:
        """Learn until the budget is spent, from where `run` was last saved; returns the best agent found."""

    def load_agent(self, saved: dict[str, Any]) -> Agent:
        """The agent in a checkpoint that `fit` saved."""
