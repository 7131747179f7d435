"""Choose the best checkpoint: by its score, if that is equal by its mean over all baselines, then the later one."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..core import ranks
from ..core.play.agent import Agent
from ..core.play.arena import evaluate, walk_replies
from ..core.play.game import Trait
from ..core.runs.report import elo_metrics, first_baseline, win_rate_metrics
from ..core.runs.run import Environment, Run


def selection_metrics(
    env: Environment, agent: Agent, episodes: int, seed: int, opening_plies: int = 0
) -> dict[str, float]:
    """Evaluate during training; return eval/win_rate, its interval and its number of games.

    Two-player games are played against the first baseline, and also give eval/elo. The final evaluation uses other
    games. Enumerable games also give eval/not_lost_share.
    """
    opponent = first_baseline(env)
    score = evaluate(env.game, agent, opponent, episodes, seed, opening_plies=opening_plies, stream="selection")
    metrics = win_rate_metrics(score.total, "eval")
    if opponent is not None:
        metrics |= elo_metrics(score.total, "eval")
    if Trait.ENUMERABLE in env.game.traits and agent.deterministic:
        lines = [walk_replies(env.game, agent, seat) for seat in range(env.game.players)]
        lost, games = sum(tally.losses for tally in lines), sum(tally.games for tally in lines)
        metrics["eval/not_lost_share"] = 1 - lost / games
    return metrics


def selection_score(metrics: Mapping[str, float]) -> float:
    """Return the score that selects the best checkpoint, in [0, 1]: exact if available, else the win rate."""
    exact = metrics.get("eval/not_lost_share")
    return metrics["eval/win_rate"] if exact is None else exact


def selection_error(metrics: Mapping[str, float]) -> float:
    """Return the standard error of the `selection_score`: 0 if it is exact."""
    if "eval/not_lost_share" in metrics:
        return 0.0
    rate = metrics["eval/win_rate"]
    return math.sqrt(rate * (1 - rate) / metrics["eval/episodes"])


class Selection:
    """The best checkpoint of a run."""

    def __init__(
        self,
        env: Any,
        run: Run,
        load_agent: Callable[[dict[str, Any]], Agent],
        episodes: int,
        opening_plies: int = 0,
    ) -> None:
        """`load_agent` returns the agent of a checkpoint, for the games that decide between equal scores."""
        self.env, self.run, self.episodes, self.opening_plies = env, run, episodes, opening_plies
        self._load_agent = load_agent
        self._best_mean: float | None = None  # of the best checkpoint, if it has been compared

    def save(self, metrics: Mapping[str, float], learner: dict[str, Any]) -> float:
        """Save the learner if it is the best so far by the metrics of its evaluation; return its score."""
        score, mean, best_mean = ranks.broadcast(selection_score(metrics)), None, self._best_mean
        several = self.env.game.players == 2 and len(self.env.baselines) > 1
        if several and score == self.run.best_score():
            mean = self._mean_score(learner)
            best_mean = self._mean_score(self.run.best()) if best_mean is None else best_mean
        keep = mean is not None and best_mean is not None and mean < best_mean
        replaced = self.run.save_best(score, learner, selection_error(metrics), keep=keep)
        self._best_mean = mean if replaced else best_mean
        return score

    def _mean_score(self, learner: dict[str, Any]) -> float:
        """Return the mean win rate over all baselines."""
        agent, game = self._load_agent(learner), self.env.game
        scores = [
            evaluate(
                game, agent, one, self.episodes, self.run.seed, opening_plies=self.opening_plies, stream="selection"
            )
            for one in self.env.baselines.values()
        ]
        return sum(score.total.win_rate for score in scores) / len(scores)
