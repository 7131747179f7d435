"""Curricula: which environments to train in, and when to advance."""

from collections.abc import Mapping
from typing import Any

from ..errors import UserError, require
from ..ranges import AboveZero, BelowOne, checked


class Curriculum:
    """Stages in sequence: training advances to the next environment once an evaluation scores `promote_at` or more.

    Scores are in [0, 1]: PPO uses the win rate on the current stage (`eval/stage_score`), the others the score on the
    target, which also selects the best checkpoint. Learners save `stage` in their checkpoints and log it as
    `train/stage`.
    """

    @checked
    def __init__(
        self,
        warm_up: Mapping[str, Any],
        promote_at: AboveZero | None,
        keep: BelowOne = 0.0,
    ) -> None:
        """`keep` is the fraction of training that stays in the completed stages, split evenly."""
        if warm_up and promote_at is None:
            raise UserError(
                "curriculum.promote_at=null must be a number in (0, 1] when curriculum.warm_up is not empty"
            )
        self.warm_up, self.promote_at, self.keep = dict(warm_up), promote_at, keep
        self.stage = 0

    def all(self, target: Any) -> list[Any]:
        """Return the environments of all stages; `target` is the last."""
        return [*self.warm_up.values(), target]

    def env(self, target: Any) -> Any:
        """Return the environment of the current stage."""
        return self.all(target)[self.stage]

    @property
    def mixes(self) -> bool:
        """Whether training may use several environments at once."""
        return self.keep > 0

    @property
    def smallest_share(self) -> float:
        """The smallest fraction of training that an environment may get."""
        return min(1 - self.keep, self.keep / max(len(self.warm_up), 1) or 1)

    def mixture(self, target: Any) -> list[tuple[Any, float]]:
        """Return the environments to train in now with their fractions, the current stage first."""
        current, *completed = self.all(target)[self.stage :: -1]
        if not completed or self.keep == 0:
            return [(current, 1.0)]
        return [(current, 1 - self.keep), *((env, self.keep / len(completed)) for env in completed)]

    def record(self, score: float) -> None:
        """Advance to the next stage if the score of an evaluation is high enough."""
        if self.promote_at is not None and score >= self.promote_at:
            self.stage = min(self.stage + 1, len(self.warm_up))


class Mixture(Curriculum):
    """Train in the configured environment and the `others` all the time, in equal fractions."""

    def __init__(self, others: Mapping[str, Any]) -> None:
        require(bool(others), "curriculum.others is empty: add environments, such as +env@curriculum.others.easy=...")
        super().__init__({}, None)
        self.others = dict(others)

    def all(self, target: Any) -> list[Any]:
        return [target, *self.others.values()]

    @property
    def mixes(self) -> bool:
        return True

    @property
    def smallest_share(self) -> float:
        return 1 / (1 + len(self.others))

    def mixture(self, target: Any) -> list[tuple[Any, float]]:
        envs = self.all(target)
        return [(env, 1 / len(envs)) for env in envs]
