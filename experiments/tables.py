"""Write the tables of the pages from committed data: `make tables`, or `python -m experiments.tables`.

A page asks for a table by a comment, and has it up to the next `<!-- end -->`:

    <!-- results: Quoridor, .* -->                 lines of results.jsonl whose name matches, with date or commit
    <!-- results: Minesweeper (.*), (.*) -->       the same as a grid, the first group as columns
    <!-- commands: Quoridor, .* -->                their commands
    <!-- speeds: Quoridor.* -->                    the latest lines of bench/history.csv
    <!-- file: table.md -->                        a table that a study has written
    <!-- metrics: Every run -->                    a group of metrics, what they mean and who logs them
    <!-- clauses: quoridor -->                     what the source document of a game requires, and the tests of it
"""

import csv
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from experiments.bench.history import HISTORY
from experiments.measure import MEASUREMENTS, ROOT, Measurement, is_current, read
from experiments.model_cards import shipped
from src.core.errors import require
from src.core.files import write_atomic
from src.core.play.arena import wilson_interval
from src.core.runs.config_file import read_config
from src.core.runs.metrics import GROUPS

CLAUSES = ROOT / "docs/clauses.yaml"
LOGGED = ROOT / "tests/golden/metrics.json"  # by algorithm and game
DEPENDS = "depends on the settings"
MEDIA = {  # logged by trackers only, so not in metrics.csv
    "eval/win_rate_curve": "every run, at its end",
    "eval/game": "every run",
    "train/action_probability": "maskable_ppo, ppo",
}
MARK = re.compile(r"<!-- (results|commands|speeds|file|metrics|clauses): (.*?) -->\n.*?<!-- end -->", re.DOTALL)


def pages() -> list[Path]:
    """Return the pages that may ask for tables."""
    return sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "experiments").rglob("README.md")])


def filled(page: Path) -> str:
    """Return a page with its tables as the data says."""

    def table(mark: re.Match[str]) -> str:
        kind, query = mark.groups()
        make = {"results": results, "commands": commands, "speeds": speeds, "metrics": metrics, "clauses": clauses}
        content = study_table(page.parent / query) if kind == "file" else make[kind](query)
        return f"<!-- {kind}: {query} -->\n\n{content}\n\n<!-- end -->"

    return MARK.sub(table, page.read_text())


def study_table(file: Path) -> str:
    return file.read_text().strip() if file.is_file() else "Not measured yet."


def measured(query: str) -> Iterator[tuple[Measurement, dict[str, Any] | None, re.Match[str]]]:
    """Yield the measurements whose name matches, with their results if there are any."""
    rows = read()
    found = [(one, re.fullmatch(query, one.name)) for one in MEASUREMENTS]
    require(any(match for _, match in found), f"no measurement is named {query!r}: see experiments.measure --list")
    for one, match in found:
        if match:
            yield one, rows.get(one.name), match


def results(query: str) -> str:
    return grid(query) if re.compile(query).groups == 2 else rows_of(query)


def rows_of(query: str) -> str:
    """Return a row for each score of each measurement; one of other code names the commit that was measured."""
    lines = ["| what | won (95%, games) | took | measured |", "|---|---|---|---|"]
    for one, row, _ in measured(query):
        if row is None:
            lines.append(f"| {one.name} | not measured yet | | |")
            continue
        seconds = row["seconds"]
        took = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
        when = row["date"] if is_current(one, row) else f"at `{row['commit']}`"
        lines += [f"| {what} | {won} | {took} | {when} |" for what, won in scores(one.name, row)]
    return "\n".join(lines)


def scores(name: str, row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is shown of a measurement: the lost lines over every reply if they were counted, else the scores."""
    if row["lost_lines"]:
        yield name, f"{sum(row['lost_lines'])} lines lost, of all replies in both seats"
    elif name.endswith(" against itself"):
        yield f"{name}, first player", rate(next(iter(row["scores"].values())), "first_player_wins")
    elif len(row["scores"]) == 1 or "trained" in row["scores"]:
        yield name, rate(row["scores"].get("trained") or next(iter(row["scores"].values())))
    else:
        for opponent, score in row["scores"].items():
            yield f"{name}, against {opponent}", rate(score)


def rate(score: dict[str, int], kind: str = "wins") -> str:
    games = sum(score[end] for end in ("wins", "draws", "losses", "aborted"))
    low, high = wilson_interval(score[kind], games)
    drawn = f", {score['draws']:,} drawn" if score["draws"] else ""
    return f"{score[kind] / games:.1%} ({100 * low:.1f}-{100 * high:.1f}, {games:,}{drawn})"


def grid(query: str) -> str:
    cells: dict[str, dict[str, str]] = {}
    for one, row, match in measured(query):
        column, name = match.groups()
        won = "not measured yet"
        if row is not None:
            ((_, won),) = scores(one.name, row)
            won = won if is_current(one, row) else f"{won} at `{row['commit']}`"
        cells.setdefault(name, {})[column] = won
    columns = list(dict.fromkeys(column for row in cells.values() for column in row))
    lines = [f"| won (95%, games) | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(row.get(column, '') for column in columns)} |" for name, row in cells.items()]
    return "\n".join(lines)


def commands(query: str) -> str:
    return "\n".join(["```", *(f"python -m src.{one.command}" for one, _, _ in measured(query)), "```"])


def speeds(query: str) -> str:
    """Return the latest figure of each benchmark, beside that of the peer."""
    with HISTORY.open(newline="") as file:
        latest = {row["name"]: row for row in csv.DictReader(file) if re.fullmatch(query, row["name"])}
    lines = ["| what | ours | compared | machine | measured |", "|---|---|---|---|---|"]
    for name, row in latest.items():
        peer = f"{float(row['ratio']):.1f} times {row['peer']}" if row["ratio"] else ""
        when = f"{row['date'][:10]} at `{row['commit']}`"
        lines.append(f"| {name} | {float(row['figure']):,.0f} {row['unit']} | {peer} | {row['machine']} | {when} |")
    return "\n".join(lines)


def metrics(group: str) -> str:
    lines = ["| metric | what it means | logged by |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| `{name}` | {words} | {logged_by(name)} |" for name, words in GROUPS[group].items())]
    )


def logged_by(name: str) -> str:
    """Return the algorithms that log a metric, and in which games if not in all that they fit."""
    if name.startswith("final/"):
        return "every run, at its end"
    if name in MEDIA:
        return MEDIA[name]
    logged, shares = logged_metrics(), []
    for algo, games in logged.items():
        own = [game for game, names in games.items() if name in names]
        if own:
            shares.append(algo if len(own) == len(games) else f"{algo} ({', '.join(own)})")
    learners = [algo for algo in logged if algo != "alphabeta"]
    groups = {"every run": list(logged), "all that learn": learners}
    return next((words for words, algos in groups.items() if shares == algos), ", ".join(shares) or DEPENDS)


@cache
def logged_metrics() -> dict[str, dict[str, set[str]]]:
    """Return the names by algorithm and game: of a few steps, and of the shipped runs, which have finished games."""
    logged = {
        algo: {game: set(names) for game, names in games.items()}
        for algo, games in json.loads(LOGGED.read_text()).items()
    }
    for run in shipped():
        if not (run / "metrics.csv").is_file():  # its log was not kept
            continue
        chosen = read_config(run)["composition"]
        for game, names in logged[chosen["algo"]].items():
            if game.partition("_")[0] == chosen["env"].partition("_")[0]:
                names.update((run / "metrics.csv").read_text().splitlines()[0].split(","))
    return logged


def clauses(game: str) -> str:
    """Return the clauses that the defaults do not follow, with the option that does, then all with their tests."""
    rows = yaml.safe_load(CLAUSES.read_text())[game]
    fields = ("clause", "document", "ours", "why", "option")
    lines = ["| the default differs | document | ours | why | as in the document |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(cell(row, field) for field in fields)} |" for row in rows if "ours" in row]
    lines += ["", "| clause | met | test |", "|---|---|---|"]
    for row in rows:
        met = "by default" if "option" not in row else cell(row, "option")
        path, _, test = row["test"].partition("::")
        lines.append(f"| {row['clause']} | {met} | `{Path(path).name}::{test}` |")
    return "\n".join(lines)


def cell(row: dict[str, str], field: str) -> str:
    return f"`{row[field]}`" if field == "option" and row[field] != "none" else row[field]


def main() -> None:
    for page in pages():
        write_atomic(page, filled(page))


if __name__ == "__main__":
    main()
