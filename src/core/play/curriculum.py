"""Easier environments before the one that counts."""

from collections.abc import Mapping
from typing import Any

from src.core.errors import UserError, require
from src.core.ranges import AboveZero, BelowOne, checked


class Curriculum:
    """A ladder: training climbs from one environment to the next once an evaluation scores `promote_at` or more.

    Scores lie in [0, 1] for every learner: PPO goes by the win rate on the current stage (`eval/stage_score`), the
    others by the score on the target (`eval/win_rate`, for tables `eval/not_lost_share`). Learners keep `stage` in
    their checkpoints and log it as `train/stage`.
    """

    @checked
    def __init__(
        self,
        warm_up: Mapping[str, Any],
        promote_at: AboveZero | None,
        keep: BelowOne = 0.0,
    ) -> None:
        """`keep` is the share of the training that stays with the rungs already climbed, all of them alike."""
        if warm_up and promote_at is None:
            raise UserError("curriculum.promote_at is required once there are environments to climb from")
        self.warm_up, self.promote_at, self.keep = dict(warm_up), promote_at, keep
        self.stage = 0

    def all(self, target: Any) -> list[Any]:
        """Every environment that is trained in; `target` is the one at the top."""
        return [*self.warm_up.values(), target]

    def env(self, target: Any) -> Any:
        """The environment to train in now."""
        return self.all(target)[self.stage]

    @property
    def mixes(self) -> bool:
        """Whether several environments may be trained in at once."""
        return self.keep > 0

    @property
    def smallest_share(self) -> float:
        """Of the training, that an environment may have to do with."""
        return min(1 - self.keep, self.keep / max(len(self.warm_up), 1) or 1)

    def mixture(self, target: Any) -> list[tuple[Any, float]]:
        """The environments to train in now with their shares, the newest first, for learners that can mix them."""
        newest, *climbed = self.all(target)[self.stage :: -1]
        if not climbed or self.keep == 0:
            return [(newest, 1.0)]
        return [(newest, 1 - self.keep), *((env, self.keep / len(climbed)) for env in climbed)]

    def record(self, score: float) -> None:
        """Take note of an evaluation."""
        if self.promote_at is not None and score >= self.promote_at:
            self.stage = min(self.stage + 1, len(self.warm_up))


class Mixture(Curriculum):
    """Several environments from the first step to the last, in equal shares: the configured one and the others."""

    def __init__(self, others: Mapping[str, Any]) -> None:
        require(bool(others), "curriculum.others is empty: name the environments to mix in")
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
