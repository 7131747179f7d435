"""The learner's strength over time: matches against its own past selves, rated together."""

from collections.abc import Callable
from typing import Any

from ...core.play.agent import Agent
from ...core.play.arena import evaluate
from ...core.play.game import Game
from ...core.play.past_selves import Load, PastSelves, Weights
from ...core.play.rating import Points, points_of, ratings


class RatedPastSelves:
    """Snapshots of the learner, one for each evaluation, of which at most `size` are kept as opponents.

    Ratings are by maximum likelihood over all matches so far; that of the first snapshot, the initial weights, is 0.
    """

    def __init__(self, size: int, games: int, load: Load) -> None:
        """`games` are played in an evaluation, against all snapshots together."""
        self.games, self._load = games, load
        self._pool = PastSelves(size, snapshot_every=1, current_share=0, priority=0, memory=0)
        self._results: dict[tuple[str, str], Points] = {}

    def measure(self, game: Game, learner: Agent, seed: int) -> dict[str, float]:
        """Play against the snapshots; return the rating of the learner with its 95% interval."""
        snapshots, name = self._pool.snapshots, self._name
        if not snapshots or self.games == 0:
            return {}
        episodes = 2 * max(1, self.games // (2 * len(snapshots)))  # both seats equally often
        for one in snapshots:
            score = evaluate(game, learner, one.agent, episodes, seed, stream=f"past_selves/{name}/{one.number}")
            self._results[name, str(one.number)] = points_of(score.total)
        rating = ratings(self._results, str(snapshots[0].number))[name]
        metrics = {"eval/past_selves_elo": rating.elo, "eval/past_selves_elo_low": rating.low}
        return metrics | {"eval/past_selves_elo_high": rating.high, "train/past_selves": len(snapshots)}

    def add(self, weights: Callable[[], Weights]) -> None:
        """Add the learner as it was measured."""
        if self.games > 0:
            self._pool.add_snapshot(weights, self._load)

    @property
    def _name(self) -> str:
        """The number that the learner will have as a snapshot."""
        return str(self._pool.evaluations)

    def state(self) -> dict[str, Any]:
        results = [[*pair, *points] for pair, points in self._results.items()]
        return {"pool": self._pool.state(), "results": results}

    def load_state(self, saved: dict[str, Any]) -> None:
        self._pool.load_state(saved["pool"], self._load)
        self._results = {(one, other): Points(scored, games) for one, other, scored, games in saved["results"]}
