"""Evaluations during training, and the score by which they select the best checkpoint."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..core.play.agent import Agent, RandomAgent
from ..core.play.arena import Tally, evaluate, repeats_games
from ..core.runs.metrics import CURVES
from ..core.runs.report import elo_metrics, every_reply, win_rate_metrics

OnPosition = Callable[[Any], None]  # called with each state of the first game
OnProgress = Callable[[int, int], None]  # called with the number of finished games, and of all


def play_baselines(
    env: Any,
    agent: Agent,
    episodes: int,
    seed: int,
    opening_plies: int = 0,
    on_position: OnPosition | None = None,
    on_progress: OnProgress = lambda finished, total: None,
) -> list[Tally]:
    """Play `episodes` games, shared evenly by the baselines, or alone in one-player games.

    The final evaluation plays other games. Baselines that share them have each seat equally often, so there may be a
    few games more; where only two are different, these two are played.
    """
    opponents = [None] if env.game.players == 1 else [*env.baselines.values()] or [RandomAgent()]
    games = episodes if len(opponents) == 1 else 2 * math.ceil(episodes / len(opponents) / 2)

    def report(before: int, finished: int) -> None:
        on_progress(before + finished, len(opponents) * games)

    scores = [
        evaluate(
            env.game,
            agent,
            opponent,
            2 if repeats_games(env.game, agent, opponent, opening_plies) else games,
            seed,
            opening_plies=opening_plies,
            stream="selection",
            on_position=None if number else on_position,
            on_progress=partial(report, number * games),
        )
        for number, opponent in enumerate(opponents)
    ]
    return [score.total for score in scores]


def selection_metrics(
    env: Any,
    agent: Agent,
    episodes: int,
    seed: int,
    opening_plies: int = 0,
    on_position: OnPosition | None = None,
    on_progress: OnProgress = lambda finished, total: None,
) -> dict[str, float]:
    """Evaluate during training; return eval/win_rate, its interval and its number of games.

    In two-player games these and eval/elo are against the first baseline; with several baselines eval/all/win_rate is
    over all of them. Enumerable games also give eval/not_lost_share.
    """
    tallies = play_baselines(env, agent, episodes, seed, opening_plies, on_position, on_progress)
    metrics = win_rate_metrics(tallies[0], "eval")
    if env.game.players == 2:
        metrics |= elo_metrics(tallies[0], "eval")
    if len(tallies) > 1:
        total = Tally.sum(tallies)
        metrics |= win_rate_metrics(total, "eval/all")
        variance = sum(one.games * one.win_rate * (1 - one.win_rate) for one in tallies)
        metrics["eval/all/win_rate_error"] = math.sqrt(variance) / total.games
    if lines := every_reply(env.game, agent):
        every = Tally.sum(lines.values())
        metrics["eval/not_lost_share"] = 1 - every.losses / every.games
    return metrics


def selection_score(metrics: Mapping[str, float]) -> float:
    """Return the score that selects the best checkpoint, in [0, 1]: exact if available, else the win rate."""
    return next(metrics[name] for name in CURVES if name in metrics)


def selection_error(metrics: Mapping[str, float]) -> float:
    """Return the standard error of the `selection_score`: 0 if it is exact."""
    if "eval/not_lost_share" in metrics:
        return 0.0
    rate = metrics["eval/win_rate"]
    return metrics.get("eval/all/win_rate_error", math.sqrt(rate * (1 - rate) / metrics["eval/episodes"]))
