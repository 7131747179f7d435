"""Measure the figures of the pages: each is a command of `MEASUREMENTS` and its results a line of results.jsonl.

    python -m experiments.measure --list                     # names, and which were not measured on the present code
    python -m experiments.measure NAME ...                   # measure these again
    python -m experiments.measure --outdated                 # measure what is missing or was measured on other code
    python -m experiments.measure --tables                   # write the tables of README.md and docs/results.md

A line of results.jsonl names the command, the commit, the machine, and a digest of the code that matters: the game, the
agent, the network and its weights. A table marks the rows whose code has changed since.
"""

import argparse
import ast
import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from experiments.bench.history import Place
from experiments.composition import composed
from src.config.cli import expand_opponent
from src.core.files import write_atomic
from src.core.play.arena import wilson_interval
from src.core.runs.config_file import read_config
from src.core.runs.run import checkpoint_path

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results.jsonl")
MEASURED = ("src.envs.", "src.algos.", "src.nets.", "src.core.play.", "src.core.seeding")  # the rest plays no game


@dataclass(frozen=True)
class Measurement:
    name: str
    table: str
    command: str  # after `python -m src.`


BOARDS = "Minesweeper: boards won"
QUORIDOR = "Quoridor: games won from random openings, in both seats"
WARGAME = "The wargame: games won, in both seats"
TRAINING = "Training from random weights by the plain command, on two CPU cores"
SHIPPED = "agent=trained agent.run=experiments"
MEASUREMENTS = (
    *(
        Measurement(
            f"Minesweeper {size}, shipped network",
            BOARDS,
            f"evaluate env=minesweeper_{size} {SHIPPED}/minesweeper_{size} {games}",
        )
        for size, games in (("8x8", "episodes=10000"), ("16x16", "episodes=4000"), ("16x30", "episodes=2000"))
    ),
    *(
        Measurement(f"Minesweeper {size}, exact solver", BOARDS, f"evaluate env=minesweeper_{size} agent=exact {games}")
        for size, games in (("8x8", "episodes=10000"), ("16x16", "episodes=10000"), ("16x30", "episodes=4000"))
    ),
    *(
        Measurement(
            f"Quoridor, {better} against {worse}",
            QUORIDOR,
            f"evaluate env=quoridor agent=alphabeta agent.difficulty={better} opponent={opponent}"
            " episodes=200 opening_plies=4",
        )
        for better, worse, opponent in (
            ("hell", "hard", "alphabeta opponent.difficulty=hard"),
            ("hard", "normal", "alphabeta opponent.difficulty=normal"),
            ("normal", "easy", "alphabeta opponent.difficulty=easy"),
            ("easy", "runner", "runner"),
        )
    ),
    Measurement(
        "Quoridor, master against the former hell, 0.3 s per move",
        QUORIDOR,
        "evaluate env=quoridor agent=master agent.seconds=0.3 opponent=reference opponent.seconds=0.3"
        " episodes=40 opening_plies=4",
    ),
    *(
        Measurement(
            f"Quoridor 5x5, AlphaZero against {name}",
            QUORIDOR,
            f"evaluate env=quoridor env.game.size=5 {SHIPPED}/quoridor_alphazero/5x5 opponent={opponent}"
            " episodes=200 opening_plies=4",
        )
        for name, opponent in (("the former hell", "reference"), ("the runner", "runner"))
    ),
    *(
        Measurement(
            f"Wargame, {scenario}, network against {bot}",
            WARGAME,
            f"evaluate env={env} {SHIPPED}/deployment_value/scenarios opponent={bot} episodes=200",
        )
        for scenario, env in (
            ("skirmish", "deployment"),
            ("mirror", "deployment_mirror"),
            ("siege", "deployment_siege"),
        )
        for bot in ("tactical", "greedy", "defensive")
    ),
    *(
        Measurement(f"`env={env} algo={algo}`", TRAINING, f"train env={env} algo={algo} device=cpu logger=csv")
        for env, algo in (
            ("tictactoe", "qlearning"),
            ("tictactoe", "ppo"),
            ("minesweeper_8x8", "ppo"),
            ("minesweeper_16x16", "ppo"),
            ("quoridor", "ppo"),
            ("deployment", "ppo"),
        )
    ),
)


def code_digest(command: str) -> str:
    """Return twelve characters that identify what a command measures: settings, code and weights."""
    module, *words = shlex.split(command)
    overrides = expand_opponent(words) if module == "evaluate" else words
    cfg: Any = composed(module, *overrides)
    names = [name for name in ("env", "agent", "opponent", "algo", "curriculum") if name in cfg]
    settings: Any = {name: OmegaConf.to_container(cfg[name], resolve=True) for name in names}
    runs = sorted({ROOT / node["run"] for node in _nodes(settings) if node.get("run") is not None})
    settings |= {run.name: read_config(run)["algo"] for run in runs}
    files = _imported({str(node["_target_"]).rpartition(".")[0] for node in _nodes(settings) if "_target_" in node})
    weights = {path for folder in {file.parent for file in files} for path in folder.glob("*.safetensors")}
    weights |= {checkpoint_path(run, "best") for run in runs}
    digests = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in weights)
    identity = [command, settings, digests, sorted({source_digest(path) for path in files})]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping of a configuration."""
    if isinstance(tree, dict):
        yield tree
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(value)


def _imported(modules: set[str]) -> set[Path]:
    """Return the files of these modules and of all that they import, of what is measured."""
    found: set[Path] = set()
    left = {path for module in modules if (path := _path(module)) is not None}
    while left:
        path = left.pop()
        found.add(path)
        left |= _imports(path) - found
    return found


@cache
def _imports(path: Path) -> frozenset[Path]:
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *([node.module] if node.module else [])])
            found |= {_path(name), *(_path(f"{name}.{alias.name}") for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {_path(alias.name) for alias in node.names}
    return frozenset(path for path in found if path is not None)


def _path(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.exists()), None) if module.startswith(MEASURED) else None


@cache
def source_digest(path: Path) -> str:
    """Return a digest of a file that comments, docstrings and layout do not change."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body.pop(0)
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def measure(one: Measurement) -> dict[str, Any]:
    """Run the command; return its line of results.jsonl."""
    place, code, began = Place.here(), code_digest(one.command), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "eval.json"
        output = f"json={file}" if one.command.startswith("evaluate") else f"hydra.run.dir={folder}"
        subprocess.run([sys.executable, "-m", *shlex.split(f"src.{one.command}"), output], cwd=ROOT, check=True)
        found = json.loads(file.read_text())
    seconds = time.monotonic() - began
    scores = found.get("scores") or {found.get("opponent", ""): found}
    kinds = ("wins", "draws", "losses", "aborted")
    return {
        "name": one.name,
        "command": f"python -m src.{one.command}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": place.commit,
        "code": code,
        "machine": place.machine,
        "seconds": round(seconds, 1),
        "scores": {name: {kind: score[kind] for kind in kinds} for name, score in scores.items()},
        "lost_lines": [tally["losses"] for tally in found.get("every_reply", {}).values()],
    }


def read() -> dict[str, dict[str, Any]]:
    """Return the lines of results.jsonl by name."""
    rows = map(json.loads, RESULTS.read_text().splitlines()) if RESULTS.exists() else ()
    return {row["name"]: row for row in rows}


def keep(row: dict[str, Any]) -> None:
    rows = read() | {row["name"]: row}
    ordered = [rows[one.name] for one in MEASUREMENTS if one.name in rows]
    write_atomic(RESULTS, "".join(json.dumps(row) + "\n" for row in ordered))


def is_current(one: Measurement, row: dict[str, Any]) -> bool:
    return bool(row["code"] == code_digest(one.command))


# Tables


def rate(score: dict[str, int]) -> str:
    games = sum(score.values())
    low, high = wilson_interval(score["wins"], games)
    drawn = f", {score['draws']:,} drawn" if score["draws"] else ""
    return f"{score['wins'] / games:.1%} ({100 * low:.1f}-{100 * high:.1f}, {games:,}{drawn})"


def result(row: dict[str, Any]) -> str:
    """Return the lost lines over every reply if they were counted, else the scores: alone, or against each opponent."""
    if row["lost_lines"]:
        return f"{sum(row['lost_lines'])} lines lost, of all replies in both seats"
    scores = {"": row["scores"]["trained"]} if "trained" in row["scores"] else row["scores"]
    return "; ".join(f"{name} {rate(score)}" if len(scores) > 1 else rate(score) for name, score in scores.items())


def line(one: Measurement, row: dict[str, Any]) -> str:
    """Return the line of a table; a row of other code names the commit that was measured."""
    seconds = row["seconds"]
    took = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    when = row["date"] if is_current(one, row) else f"at `{row['commit']}`"
    return f"| {one.name} | {result(row)} | {took} | {when} |"


HEAD = "| what | won (95%, games) | took | measured |\n|---|---|---|---|"
HEADLINES = (
    "`env=minesweeper_8x8 algo=ppo`",
    "Minesweeper 8x8, shipped network",
    "Minesweeper 8x8, exact solver",
    "Minesweeper 16x16, exact solver",
    "Quoridor, hell against hard",
    "Quoridor 5x5, AlphaZero against the former hell",
    "`env=tictactoe algo=qlearning`",
)


def headline_table() -> str:
    rows, chosen = read(), {one.name: one for one in MEASUREMENTS}
    return "\n".join([HEAD, *(line(chosen[name], rows[name]) for name in HEADLINES if name in rows)])


def all_tables() -> str:
    rows, parts = read(), []
    for table in dict.fromkeys(one.table for one in MEASUREMENTS):
        shown = [one for one in MEASUREMENTS if one.table == table and one.name in rows]
        if not shown:
            continue
        commands = "\n".join(rows[one.name]["command"] for one in shown)
        lines = "\n".join(line(one, rows[one.name]) for one in shown)
        parts.append(f"## {table}\n\n{HEAD}\n{lines}\n\n```\n{commands}\n```")
    return "\n\n".join(parts)


PAGES = {
    ROOT / "README.md": ("headline results", headline_table),
    ROOT / "docs/results.md": ("results", all_tables),
}


def filled(page: Path) -> str:
    """Return a page with its tables as the data says."""
    name, make = PAGES[page]
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = page.read_text().partition(begin)
    return f"{before}{begin}\n{make()}\n\n{end}{rest.partition(end)[2]}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of --list")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--outdated", action="store_true")
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args(arguments)
    known, rows = {one.name: one for one in MEASUREMENTS}, read()
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"{unknown[0]!r} is no measurement: see --list")
    names = options.names
    if options.list or options.outdated:
        state = {
            name: "missing" if name not in rows else "" if is_current(one, rows[name]) else f"at {rows[name]['commit']}"
            for name, one in known.items()
        }
        if options.list:
            print("\n".join(f"{name}\t{state[name]}" for name in known))
        if options.outdated:
            names = [name for name in known if state[name]]
    for name in names:
        keep(measure(known[name]))
    if options.tables:
        for page in PAGES:
            write_atomic(page, filled(page))


if __name__ == "__main__":
    main()
