"""Opponents that play with the weights of the learner: self-play and past selves."""

from collections.abc import Callable
from typing import Any

from ..core.play.agent import Agent, SelfPlay
from ..core.play.curriculum import Curriculum
from ..core.play.past_selves import PastSelves, Weights, pool_metrics
from ..core.runs.algorithm import Environment


class SelfPlayOpponents:
    """The opponents in the stages of a curriculum that keep weights of the learner until the next evaluation."""

    def __init__(self, env: Environment, curriculum: Curriculum, load: Callable[[Weights], Agent]) -> None:
        self._env, self._curriculum, self._load = env, curriculum, load
        self._weights: Weights | None = None  # of the current self, None without self-play

    def update(self, weights: Weights, snapshot: Callable[[], Weights]) -> None:
        """Play with these weights from now on, and add to the past selves of the current stage."""
        self._set_agents(weights)
        for pool in self._past_selves(self._current()).values():
            pool.add_snapshot(snapshot, self._load)

    def metrics(self) -> dict[str, float]:
        return pool_metrics(self._past_selves(self._current()).values())

    def state(self) -> dict[str, Any]:
        pools = self._past_selves(self._curriculum.all(self._env))
        return {"opponent": self._weights, "past_selves": {number: pool.state() for number, pool in pools.items()}}

    def load_state(self, saved: dict[str, Any], weights: Weights) -> None:
        """Restore a `state`; without saved weights, as in a run without self-play, use the given ones."""
        self._set_agents(saved["opponent"] or weights)
        for number, pool in self._past_selves(self._curriculum.all(self._env)).items():
            pool.load_state(saved["past_selves"][number], self._load)

    def _set_agents(self, weights: Weights) -> None:
        for opponent in (getattr(env, "opponent", None) for env in self._current()):
            if isinstance(opponent, SelfPlay):
                self._weights = weights
                opponent.set_agent(self._load(weights))

    def _current(self) -> list[Environment]:
        return [env for env, _ in self._curriculum.mixture(self._env)]

    def _past_selves(self, envs: list[Environment]) -> dict[str, PastSelves]:
        """Return the opponents of these environments that keep snapshots, by the number of their stage."""
        stages = enumerate(self._curriculum.all(self._env))
        found = {str(number): getattr(env, "opponent", None) for number, env in stages if env in envs}
        return {number: pool for number, pool in found.items() if isinstance(pool, PastSelves)}
