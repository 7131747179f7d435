"""The standings of a tournament as a table on the terminal, as Markdown and as plain values."""

from typing import Any

from rich.table import Table

from ..play.arena import Tally
from ..play.rating import Rating, Standings, points_of
from .report import new_table


def cross_table(title: str, standings: Standings) -> Table:
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


def markdown(standings: Standings) -> str:
    """Return the same table with the names of the opponents."""
    heading = ["player", "Elo (95%)", "games", *standings.ratings]
    lines = [heading]
    for name, rating in standings.ratings.items():
        met = [standings.against(name, other) for other in standings.ratings]
        points = ["" if tally is None else _percent(tally, 1, "%") for tally in met]
        lines.append([name, _elo(rating), _games(standings.total(name)), *points])
    cells = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
    head, *rows = [f"| {line} |\n" for line in cells]
    return "".join([head, "|---" * len(heading) + "|\n", *rows])


def as_dict(standings: Standings) -> dict[str, Any]:
    players = []
    for name, rating in standings.ratings.items():
        total = standings.total(name)
        players.append({"player": name, "elo": rating.elo, "elo_ci95": [rating.low, rating.high], **_results(total)})
    matches = [{"first": one, "second": other, **_results(tally)} for (one, other), tally in standings.matches.items()]
    return {"anchor": standings.anchor, "players": players, "matches": matches}


def _elo(rating: Rating) -> str:
    if rating.low == rating.high:  # the anchor
        return f"{rating.elo:.0f}"
    return f"{rating.elo:+.0f} ({rating.low:+.0f} to {rating.high:+.0f})"


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
