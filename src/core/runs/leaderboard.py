"""The standings of a tournament as a table on the terminal, as Markdown and as plain values."""

from typing import Any

from rich import box
from rich.table import Table

from src.core.play.arena import Tally
from src.core.play.rating import Rating, points_of
from src.core.play.tournament import Standings


def cross_table(title: str, standings: Standings) -> Table:
    """Return a row per player, the best first; column n has the shares of points against the player in row n."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("", justify="right")
    table.add_column("player")
    for name in ("Elo (95%)", "games", *(str(number) for number in _numbers(standings))):
        table.add_column(name, justify="right", no_wrap=True)
    for number, row in zip(_numbers(standings), _rows(standings, decimals=0), strict=True):
        table.add_row(str(number), *row)
    return table


def markdown(standings: Standings) -> str:
    """Return the same table with the names of the opponents."""
    heading = ["player", "Elo (95%)", "games", *standings.ratings]
    lines = [heading, *_rows(standings)]
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


def _numbers(standings: Standings) -> range:
    return range(1, len(standings.ratings) + 1)


def _rows(standings: Standings, decimals: int = 1) -> list[list[str]]:
    order = list(standings.ratings)
    rows = []
    for name, rating in standings.ratings.items():
        cells = [_share(standings.against(name, other), decimals) for other in order]
        rows.append([name, _elo(rating), f"{standings.total(name).games:,}", *cells])
    return rows


def _elo(rating: Rating) -> str:
    if rating.low == rating.high:  # the anchor
        return f"{rating.elo:.0f}"
    return f"{rating.elo:+.0f} ({rating.low:+.0f} to {rating.high:+.0f})"


def _share(tally: Tally | None, decimals: int) -> str:
    return "" if tally is None else f"{points_of(tally).scored / tally.games:.{decimals}%}"


def _results(tally: Tally) -> dict[str, Any]:
    counts = {"games": tally.games, "wins": tally.wins, "draws": tally.draws, "losses": tally.losses}
    return {**counts, "points": points_of(tally).scored}
