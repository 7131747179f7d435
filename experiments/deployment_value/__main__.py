r"""Measure the value of deployment: the same network fights on both sides, and one side uses a scripted placement.

    python -m experiments.deployment_value [--games 1000] [--planner-games 160] [--jobs 2]
    python -m experiments.deployment_value --envs deployment_classic deployment_classic_mirror --games 2000 \
        --table classic/table.md

Every cell is one call of src.evaluate with seats swapped after each game, kept as a line of results.jsonl with the
digests of weights and game; --again repeats cells that are kept. The table is printed and written to a file; it also
has the games against the bots, the planner and the network itself, where the wins as first player show how fair the
scenario is.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from omegaconf import OmegaConf

from experiments.composition import composed
from experiments.weights import digest
from src.core.files import write_atomic

HERE = Path("experiments/deployment_value")
RESULTS, WRITING = HERE / "results.jsonl", Lock()
SCENARIOS = ["deployment", "deployment_mirror", "deployment_siege", "deployment_alternated"]
CLASSIC = ["deployment_classic", "deployment_classic_mirror"]
SHARED = "scenarios"  # the run for all of these
RUNS = dict.fromkeys(SCENARIOS, SHARED) | {env: env for env in CLASSIC}
PLACEMENTS = ("deterministic", "front_line", "back_line", "scripted")
BOTS = ("random", "greedy", "defensive", "tactical")


def opponents(run: Path) -> dict[str, list[str]]:
    """Return the overrides of each opponent, by its name in the table."""
    itself = ["opponent=redeployed", "agent@opponent.battle=trained", f"opponent.battle.run={run}"]
    placed = {f"itself, {name}": [*itself, f"agent/placement@opponent.placement={name}"] for name in PLACEMENTS}
    if run.name != SHARED:
        return placed | {f"{name} bot": [f"opponent={name}"] for name in BOTS}
    others = {"planner": ["opponent=planner"], "itself": ["opponent=trained", f"opponent.run={run}"]}
    return placed | {f"{name} bot": [f"opponent={name}"] for name in BOTS} | others


@cache
def game_digest(env: str) -> str:
    """Return eight characters that identify the settings of a game: with another scenario, cells are played again."""
    game: Any = OmegaConf.to_container(composed("evaluate", f"env={env}").env.game, resolve=True)
    game["scenario"] = {player: game["scenario"][player] for player in ("player_1", "player_2")}  # the rest is resolved
    return hashlib.sha256(json.dumps(game, sort_keys=True).encode()).hexdigest()[:8]


class Cell(NamedTuple):
    env: str
    against: str
    games: int
    seed: int

    def key(self) -> tuple[Any, ...]:
        """Return what identifies its result: with other weights or another scenario it is played again."""
        return (*self, digest(HERE / RUNS[self.env]), game_digest(self.env))


def read() -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the results by the keys of their cells."""
    return {tuple(row["cell"]): row for row in map(json.loads, RESULTS.read_text().splitlines())}


def play(one: Cell) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, run = Path(folder) / "result.json", HERE / RUNS[one.env]
        who = [f"env={one.env}", "agent=trained", f"agent.run={run}", *opponents(run)[one.against]]
        command = [sys.executable, "-m", "src.evaluate", *who, f"episodes={one.games}", f"seed={one.seed}"]
        done = subprocess.run([*command, f"json={file}"], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        found = {"cell": one.key()} | json.loads(file.read_text())
    with WRITING:
        rows = read() | {one.key(): found}
        write_atomic(RESULTS, "".join(json.dumps(row) + "\n" for row in rows.values()))


def row(one: Cell) -> str:
    result = read()[one.key()]
    low, high = (f"{bound:.1%}" for bound in result["win_rate_ci95"])
    first, second = (f"{result['seats'][seat]['win_rate']:.1%}" for seat in ("first", "second"))
    rate = f"{result['win_rate']:.1%} ({low}-{high})"
    return f"| `{one.env}` | {one.against} | {result['episodes']:,} | {rate} | {result['draws']} | {first} | {second} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=1000, help="games a cell")
    parser.add_argument("--planner-games", type=int, default=160, help="games against the planner, which is slow")
    parser.add_argument("--seed", type=int, default=2028)
    parser.add_argument("--again", action="store_true", help="play cells again that are there already")
    parser.add_argument("--jobs", type=int, default=2, help="cells played at once")
    parser.add_argument("--envs", nargs="+", default=SCENARIOS, choices=RUNS)
    parser.add_argument("--table", default="table.md", help="file to write, in this folder")
    options = parser.parse_args()
    cells = []
    for env in options.envs:
        for name in opponents(HERE / RUNS[env]):
            games = options.planner_games if name == "planner" else options.games
            cells.append(Cell(env, name, games, options.seed))
    missing = [one for one in cells if options.again or one.key() not in read()]
    missing.sort(key=lambda one: one.against != "planner")  # slowest first
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(play, missing))
    head = "| environment | against | games | won (95%) | drawn | as first | as second |\n|---|---|---|---|---|---|---|"
    text = "\n".join([head, *map(row, cells)]) + "\n"
    write_atomic(HERE / options.table, text)
    print(text)


if __name__ == "__main__":
    main()
