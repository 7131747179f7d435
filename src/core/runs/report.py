"""Results of evaluations and tournaments as metrics, as tables and as plain values for files."""

import logging
import math
import os
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import UserError, require
from ..play.agent import Agent, RandomAgent
from ..play.arena import Score, Tally, evaluate, require_varied, walk_replies, wilson_interval
from ..play.game import Game, Trait
from ..play.rating import Standings, points_of, rating_against
from .console import printable, progress_bar
from .run import Environment

log = logging.getLogger(__name__)

SEATS = ("first", "second")
WIDTH = 160  # columns, if the output is no terminal


class PlainConsole(Console):
    """A console that shows text as it is: without markup and emoji codes, and with control characters escaped.

    Without a terminal its lines are long enough for every table.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)
        if not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = WIDTH

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


def new_table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)


def as_percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}%"


def as_percents(low: float, high: float) -> str:
    return f"{100 * low:.1f}-{100 * high:.1f}%"


def as_interval(tally: Tally) -> str:
    return as_percents(*wilson_interval(tally.wins, tally.games))


def counts_of(tally: Tally) -> str:
    """Return won/drawn/lost, and the aborted games if there are any."""
    aborted = f", {tally.aborted} aborted" if tally.aborted else ""
    return f"{tally.wins}/{tally.draws}/{tally.losses}{aborted}"


def score_table(title: str, scores: Mapping[str, Score], players: int) -> Table:
    """Return a table with one row per score, its key in the first column."""
    table = new_table(title)
    table.add_column("against" if players == 2 else "agent")
    for heading in ("games", "won/drawn/lost", "win rate", "95% range"):
        table.add_column(heading, justify="right", no_wrap=True)
    for seat in SEATS[:players] if players == 2 else ():
        table.add_column(f"as {seat}", justify="right")
    for name, score in scores.items():
        total = score.total
        cells = [str(total.games), counts_of(total), as_percent(total.win_rate), as_interval(total)]
        cells += [as_percent(score.of_seat(seat).win_rate) for seat in range(players) if players == 2]
        table.add_row(name, *cells)
    return table


def score_as_dict(game: Game, score: Score) -> dict[str, Any]:
    result: dict[str, Any] = score.total.as_dict() | {"seconds": score.seconds}
    if game.players == 2:
        result["seats"] = {name: score.of_seat(seat).as_dict() for seat, name in enumerate(SEATS)}
    if score.metrics:
        result["metrics"] = score.metrics
    if groups := score.by_group():
        result["groups"] = {name: tally.as_dict() for name, tally in groups.items()}
    return result


def first_baseline(env: Environment) -> Agent | None:
    """Return the opponent of evaluations during training; None in one-player games."""
    return None if env.game.players == 1 else next(iter(env.baselines.values()), RandomAgent())


def pairings(env: Environment, agent: Agent) -> dict[str, tuple[Agent, Agent | None]]:
    """Return (agent, baseline) pairs; in one-player games the agent and each baseline play alone."""
    if env.game.players == 2:
        return {name: (agent, opponent) for name, opponent in env.baselines.items()}
    return {name: (player, None) for name, player in {"trained": agent, **env.baselines}.items()}


def score_against_baselines(
    env: Environment, agent: Agent, seed: int, episodes: int, opening_plies: int
) -> dict[str, Score]:
    scores = {}
    for name, (player, opponent) in pairings(env, agent).items():
        try:
            keys = "evaluation.opening_plies", "evaluation.episodes"
            require_varied(env.game, player, opponent, opening_plies, episodes, keys)
        except UserError as error:  # a result with a warning is better than none after a long training run
            log.warning("against %s: %s", name, error)
        with progress_bar(f"games, {name}", episodes) as advance:
            scores[name] = evaluate(
                env.game, player, opponent, episodes, seed, opening_plies=opening_plies, on_progress=advance
            )
    return scores


def require_measured(metric: str, env: Environment) -> None:
    """Raise `UserError` if the final evaluation in this environment does not have the metric."""
    require(bool(env.baselines), "env.baselines is empty: set at least one agent to evaluate against")
    placeholder = Score(outcomes=[1], seats=[0], seconds=0.0, metrics={})
    names = score_metrics(dict.fromkeys(pairings(env, RandomAgent()), placeholder), env.game.players)
    require(metric in names, f"optimized_metric={metric} is not measured here; choose one of {', '.join(names)}")


def win_rate_band(wins: float, games: float, group: str = "train") -> dict[str, float]:
    """Return the ends of the 95% Wilson interval of `<group>/win_rate` by metric name."""
    low, high = wilson_interval(round(wins), round(games))
    return {f"{group}/win_rate_low": low, f"{group}/win_rate_high": high}


def win_rate_metrics(tally: Tally, group: str) -> dict[str, float]:
    """Return a win rate, its interval and its number of games: `<group>/win_rate`, ..., `<group>/episodes`."""
    rate = {f"{group}/win_rate": tally.win_rate, **win_rate_band(tally.wins, tally.games, group)}
    return rate | {f"{group}/episodes": tally.games}


def elo_metrics(tally: Tally, group: str) -> dict[str, float]:
    """Return the rating relative to the opponent of these games and its 95% interval: `<group>/elo`, ...

    If all games were aborted nothing is known, and nothing is returned.
    """
    if tally.games == tally.aborted:
        return {}
    rating = rating_against(tally)
    return {f"{group}/elo": rating.elo, f"{group}/elo_low": rating.low, f"{group}/elo_high": rating.high}


def score_metrics(scores: Mapping[str, Score], players: int) -> dict[str, float]:
    """Return the final evaluation by metric name; `players` is the number of players of the game."""
    first = next(iter(scores.values())).total
    metrics = win_rate_metrics(first, "final") | (elo_metrics(first, "final") if players == 2 else {})
    for name, score in scores.items():
        total = score.total
        metrics[f"final/{name}/win_rate"] = total.win_rate
        metrics[f"final/{name}/draw_rate"] = total.draws / total.games
        metrics[f"final/{name}/loss_rate"] = total.losses / total.games
        metrics[f"final/{name}/aborted_rate"] = total.aborted / total.games
        metrics |= {f"final/{name}/{metric}": value for metric, value in score.metrics.items()}
    return metrics


def scores_as_dict(game: Game, scores: Mapping[str, Score], lines: Mapping[str, Tally]) -> dict[str, Any]:
    return {"scores": {name: score_as_dict(game, score) for name, score in scores.items()}} | lines_as_dict(lines)


def show(title: str, game: Game, scores: Mapping[str, Score], lines: Mapping[str, Tally]) -> None:
    """Print the scores, also by group of games, the means of metrics, and the lines over every play."""
    console = PlainConsole()
    console.print(score_table(title, scores, game.players))
    for name, score in scores.items():
        if groups := score.by_group():
            table = new_table(name)
            for heading in ("", "games", "win rate", "95% range"):
                table.add_column(heading, justify="right", no_wrap=True)
            for group, tally in groups.items():
                table.add_row(group, str(tally.games), as_percent(tally.win_rate), as_interval(tally))
            console.print(table)
    if metrics := list(dict.fromkeys(metric for score in scores.values() for metric in score.metrics)):
        table = new_table("Means a game")
        table.add_column("")
        for name in scores:
            table.add_column(name, justify="right")
        for metric in metrics:
            values = [score.metrics.get(metric) for score in scores.values()]
            table.add_row(metric.replace("_", " "), *("-" if value is None else f"{value:.4g}" for value in values))
        console.print(table)
    if lines:
        table = new_table("Every possible play of the opponent")
        table.add_column("moving")
        for heading in ("lines", "won", "drawn", "lost"):
            table.add_column(heading, justify="right")
        for seat, tally in lines.items():
            table.add_row(seat, str(tally.games), str(tally.wins), str(tally.draws), str(tally.losses))
        console.print(table)


def every_reply(game: Game, agent: Agent) -> dict[str, Tally]:
    """Count lines over every play of the opponent by seat; empty if game or agent are not small and deterministic."""
    if not agent.deterministic or Trait.ENUMERABLE not in game.traits:
        return {}
    return {name: walk_replies(game, agent, seat) for seat, name in enumerate(SEATS)}


def lines_as_dict(lines: Mapping[str, Tally]) -> dict[str, Any]:
    return {"every_reply": {seat: vars(tally) for seat, tally in lines.items()}} if lines else {}


def standings_table(title: str, standings: Standings) -> Table:
    """Return a row per player, the best first; column n has the percentages of points against the player in row n."""
    table = new_table(title)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("player", min_width=12)
    numbers = [str(number) for number in range(1, len(standings.ratings) + 1)]
    for name in ("Elo (95%)", "games", *numbers):
        table.add_column(name, justify="right", no_wrap=True)
    for number, (name, rating) in zip(numbers, standings.ratings.items(), strict=True):
        half = f" ±{rating.high - rating.elo:.0f}" if rating.high > rating.elo else ""
        met = [standings.against(name, other) for other in standings.ratings]
        cells = ["" if tally is None else _percent(tally, 0) for tally in met]
        table.add_row(number, name, f"{rating.elo:+.0f}{half}", _games(standings.total(name)), *cells)
    return table


def standings_markdown(standings: Standings) -> str:
    """Return the same table with the names of the opponents."""
    heading = ["player", "Elo (95%)", "games", *standings.ratings]
    lines = [heading]
    for name, rating in standings.ratings.items():
        met = [standings.against(name, other) for other in standings.ratings]
        points = ["" if tally is None else _percent(tally, 1, "%") for tally in met]
        is_anchor = rating.low == rating.high
        elo = f"{rating.elo:.0f}" if is_anchor else f"{rating.elo:+.0f} ({rating.low:+.0f} to {rating.high:+.0f})"
        lines.append([name, elo, _games(standings.total(name)), *points])
    cells = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
    head, *rows = [f"| {line} |\n" for line in cells]
    return "".join([head, "|---" * len(heading) + "|\n", *rows])


def standings_as_dict(standings: Standings) -> dict[str, Any]:
    players = []
    for name, rating in standings.ratings.items():
        total = standings.total(name)
        players.append({"player": name, "elo": rating.elo, "elo_ci95": [rating.low, rating.high], **_results(total)})
    matches = [{"first": one, "second": other, **_results(tally)} for (one, other), tally in standings.matches.items()]
    return {"anchor": standings.anchor, "players": players, "matches": matches}


def _games(tally: Tally) -> str:
    return f"{tally.games:,}" + (f", {tally.aborted:,} aborted" if tally.aborted else "")


def _percent(tally: Tally, digits: int, unit: str = "") -> str:
    """Return the percentage of points, or a dash if every game was aborted."""
    points = points_of(tally)
    return f"{100 * points.scored / points.games:.{digits}f}{unit}" if points.games else "-"


def _results(tally: Tally) -> dict[str, Any]:
    counts = {"games": tally.games, "wins": tally.wins, "draws": tally.draws, "losses": tally.losses}
    counts["aborted"] = tally.aborted
    return {**counts, "points": points_of(tally).scored}
