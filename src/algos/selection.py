"""Evaluations during training, and the score by which they select the best checkpoint."""

import math
from collections.abc import Mapping
from typing import Any

from ..core.play.agent import Agent, RandomAgent
from ..core.play.arena import Tally, evaluate
from ..core.runs.metrics import CURVES
from ..core.runs.report import elo_metrics, every_reply, win_rate_metrics


def play_baselines(env: Any, agent: Agent, episodes: int, seed: int, opening_plies: int = 0) -> list[Tally]:
    """Play `episodes` games, shared evenly by the baselines, or alone in one-player games.

    The final evaluation plays other games. Baselines that share them have each seat equally often, so there may be a
    few games more.
    """
    opponents = [None] if env.game.players == 1 else [*env.baselines.values()] or [RandomAgent()]
    games = episodes if len(opponents) == 1 else 2 * math.ceil(episodes / len(opponents) / 2)
    scores = [
        evaluate(env.game, agent, opponent, games, seed, opening_plies=opening_plies, stream="selection")
        for opponent in opponents
    ]
    return [score.total for score in scores]


def selection_metrics(env: Any, agent: Agent, episodes: int, seed: int, opening_plies: int = 0) -> dict[str, float]:
    """Evaluate during training; return eval/win_rate, its interval and its number of games.

    In two-player games these and eval/elo are against the first baseline; with several baselines eval/all/win_rate is
    over all of them. Enumerable games also give eval/not_lost_share.
    """
    tallies = play_baselines(env, agent, episodes, seed, opening_plies)
    metrics = win_rate_metrics(tallies[0], "eval")
    if env.game.players == 2:
        metrics |= elo_metrics(tallies[0], "eval")
    if len(tallies) > 1:
        metrics |= win_rate_metrics(Tally.sum(tallies), "eval/all")
    if lines := every_reply(env.game, agent):
        total = Tally.sum(lines.values())
        metrics["eval/not_lost_share"] = 1 - total.losses / total.games
    return metrics


def selection_score(metrics: Mapping[str, float]) -> float:
    """Return the score that selects the best checkpoint, in [0, 1]: exact if available, else the win rate."""
    return next(metrics[name] for name in CURVES if name in metrics)


def selection_error(metrics: Mapping[str, float]) -> float:
    """Return the standard error of the `selection_score`: 0 if it is exact."""
    if "eval/not_lost_share" in metrics:
        return 0.0
    rate, games = selection_score(metrics), metrics.get("eval/all/episodes", metrics["eval/episodes"])
    return math.sqrt(rate * (1 - rate) / games)
