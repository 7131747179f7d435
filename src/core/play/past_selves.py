"""Opponents that play with the weights of the learner: a pool of its past selves, and all of a curriculum."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .. import ranks
from ..errors import require
from ..ranges import Bounds, Fraction, Interval, NonNegative, checked
from .agent import Agent, Decision, SelfPlay
from .curriculum import Curriculum
from .game import Game

CURRENT = -1  # in place of a snapshot's number: the current self
PRIOR_GAMES = 2.0  # drawn games that are added to the results against a snapshot

Weights = dict[str, Any]  # as the algorithm saves them
Load = Callable[[Weights], Agent]


@dataclass
class Snapshot:
    """A past self, and the results of the learner against it."""

    number: int  # how many evaluations it is after the first
    weights: Weights
    agent: Agent
    points: float = 0.0  # of the learner, a draw is half a point
    games: float = 0.0  # earlier ones count less

    @property
    def score(self) -> float:
        """Return the learner's expected points a game; 0.5 as long as nothing is known."""
        return (self.points + PRIOR_GAMES / 2) / (self.games + PRIOR_GAMES)


class PastSelves(SelfPlay):
    """An opponent for training: in each game the current self or one of at most `size` snapshots of the learner.

    The learner calls `set_agent` and `add_snapshot` at its start and after each evaluation. The environment calls
    `sample` at the start of each game, `player` at each move and `record` at the end. Sampling weights change only in
    `add_snapshot`, so they are the same on all distributed ranks.
    """

    @checked
    def __init__(
        self,
        size: Annotated[int, Bounds(ge=2, le=1000)],
        snapshot_every: Interval,
        current_share: Fraction,
        priority: NonNegative,
        memory: Fraction,
        explore: Fraction = 0.0,
    ) -> None:
        """`snapshot_every` counts evaluations.

        A snapshot is drawn with a weight of (1 - score) ** `priority`, where score is the learner's share of points
        against it (prioritized fictitious self-play, Vinyals et al. 2019); 0 draws uniformly. After each evaluation
        earlier results count `memory` times as much, because the learner has changed since.
        """
        super().__init__(explore)
        self.size, self.snapshot_every, self.current_share = size, snapshot_every, float(current_share)
        self.priority, self.memory = float(priority), float(memory)
        self.snapshots: list[Snapshot] = []  # the oldest first
        self.evaluations = 0
        self._recent: dict[int, list[float]] = {}  # points and games since the last evaluation, by number

    def sample(self, rng: np.random.Generator) -> int:
        """Return the number of the opponent of a new game; always takes one number from `rng`."""
        number = rng.random()
        if not self.snapshots or number < self.current_share:
            return CURRENT
        number = (number - self.current_share) / (1 - self.current_share)
        chosen = int(np.searchsorted(np.cumsum(self.probabilities()), number, side="right"))
        return self.snapshots[min(chosen, len(self.snapshots) - 1)].number

    def probabilities(self) -> np.ndarray:
        """Return how often each snapshot is drawn among all snapshots, (S,)."""
        weights = np.array([(1 - snapshot.score) ** self.priority for snapshot in self.snapshots])
        shares: np.ndarray = weights / weights.sum()
        return shares

    def player(self, number: int) -> Agent:
        """Return the opponent of this number; the current self takes over games of a snapshot that was removed."""
        found = next((snapshot.agent for snapshot in self.snapshots if snapshot.number == number), None)
        return self.learner if found is None else found

    def record(self, number: int, outcome: int) -> None:
        """Count a finished game against an opponent; the outcome +1, 0 or -1 is the learner's."""
        if number != CURRENT:
            recent = self._recent.setdefault(number, [0.0, 0.0])
            recent[0] += (outcome + 1) / 2
            recent[1] += 1

    def decide_for(
        self, numbers: Sequence[int], game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]
    ) -> list[Decision]:
        """Return one decision per view for games against the opponents `numbers`, batched by opponent."""
        decisions: dict[int, Decision] = {}
        for agent, indices in self._by_player(numbers):
            own = [views[i] for i in indices], [rngs[i] for i in indices]
            decisions |= zip(indices, self._explored(agent.decide_batch(game, *own), game, *own), strict=True)
        return [decisions[i] for i in range(len(views))]

    def choose_actions_for(
        self,
        numbers: Sequence[int],
        observations: np.ndarray,
        masks: np.ndarray,
        rngs: Sequence[np.random.Generator],
    ) -> np.ndarray:
        """Return the actions (N,) of `decide_for`."""
        actions = np.empty(len(numbers), np.int64)
        for agent, indices in self._by_player(numbers):
            own = observations[indices], masks[indices], [rngs[i] for i in indices]
            actions[indices] = self._actions_of(agent, *own)
        return actions

    def _by_player(self, numbers: Sequence[int]) -> list[tuple[Agent, list[int]]]:
        """Return the opponents of these numbers, each with the indices of its games."""
        groups: dict[int, tuple[Agent, list[int]]] = {}
        for i, number in enumerate(numbers):
            agent = self.player(number)
            groups.setdefault(id(agent), (agent, []))[1].append(i)
        return list(groups.values())

    def add_snapshot(self, weights: Callable[[], Weights], load: Load) -> None:
        """Update the results after an evaluation, and add the learner to the pool each `snapshot_every` times."""
        self._merge_recent()
        if self.evaluations % self.snapshot_every == 0:
            kept = weights()
            self.snapshots.append(Snapshot(self.evaluations, kept, load(kept)))
            if len(self.snapshots) > self.size:
                # Remove the one whose neighbors are nearest in time, so that the rest covers all training; the first
                # and the newest are kept.
                numbers = [snapshot.number for snapshot in self.snapshots]
                del self.snapshots[min(range(1, len(numbers) - 1), key=lambda i: numbers[i + 1] - numbers[i - 1])]
        self.evaluations += 1

    def recent_results(self) -> np.ndarray:
        """Return the learner's points and games (2,) against the snapshots since the last evaluation."""
        totals = self._totals()
        return sum((totals.get(one.number, np.zeros(2)) for one in self.snapshots), np.zeros(2))

    def state(self) -> dict[str, Any]:
        """Return everything that later games depend on, for a checkpoint; with several ranks, all of them call this."""
        snapshots = [
            {"number": one.number, "weights": one.weights, "points": one.points, "games": one.games}
            for one in self.snapshots
        ]
        recent = [[number, *counts] for number, counts in self._recent.items()]
        return {
            "snapshots": snapshots,
            "evaluations": self.evaluations,
            "recent": ranks.gather(recent),
        }

    def load_state(self, saved: Mapping[str, Any], load: Load) -> None:
        self.snapshots = [Snapshot(agent=load(one["weights"]), **one) for one in saved["snapshots"]]
        self.evaluations = saved["evaluations"]
        self._recent = {number: [points, games] for number, points, games in saved["recent"][ranks.rank()]}

    def _totals(self) -> dict[int, np.ndarray]:
        """Return points and games since the last evaluation by snapshot, over all ranks."""
        totals: dict[int, np.ndarray] = {}
        for recent in ranks.gather(self._recent):
            for number, counts in recent.items():
                totals[number] = totals.get(number, np.zeros(2)) + counts
        return totals

    def _merge_recent(self) -> None:
        totals, self._recent = self._totals(), {}
        for snapshot in self.snapshots:
            points, games = totals.get(snapshot.number, np.zeros(2)).tolist()
            snapshot.points = self.memory * snapshot.points + points
            snapshot.games = self.memory * snapshot.games + games


def pool_metrics(pools: Collection[PastSelves]) -> dict[str, float]:
    """Return the snapshots in all pools, and the learner's score against them since the last evaluation."""
    if not pools:
        return {}
    points, games = sum((pool.recent_results() for pool in pools), np.zeros(2)).tolist()
    score = {"train/past_selves_score": points / games} if games else {}
    return {"train/past_selves": sum(len(pool.snapshots) for pool in pools), **score}


def require_no_past_selves(opponent: object, algo: str) -> None:
    """Raise `UserError` if an algorithm that keeps no snapshots is configured with this opponent."""
    fits = not isinstance(opponent, PastSelves)
    require(fits, f"algo={algo} keeps no snapshots of the learner: choose agent@env.opponent=self, or algo=ppo")


class SelfPlayOpponents:
    """The opponents in the stages of a curriculum that keep weights of the learner until the next evaluation."""

    def __init__(self, env: Any, curriculum: Curriculum, load: Load) -> None:
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

    def _current(self) -> list[Any]:
        return [env for env, _ in self._curriculum.mixture(self._env)]

    def _past_selves(self, envs: list[Any]) -> dict[str, PastSelves]:
        """Return the opponents of these environments that keep snapshots, by the number of their stage."""
        stages = enumerate(self._curriculum.all(self._env))
        found = {str(number): getattr(env, "opponent", None) for number, env in stages if env in envs}
        return {number: pool for number, pool in found.items() if isinstance(pool, PastSelves)}
