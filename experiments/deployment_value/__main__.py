r"""Measure the value of deployment: the same network fights on both sides, and one side uses a scripted placement.

    python -m experiments.deployment_value [--games 1000] [--planner-games 160] [--jobs 2]
    python -m experiments.deployment_value --envs deployment_classic deployment_classic_mirror --games 2000 \
        --table classic/table.md

Every cell is one call of src.evaluate with seats swapped after each game, cached as JSON in results/ by the digests of
the weights and of the game; --again repeats cells that are cached. The table is printed and written to a file; it also
has the games against the bots, the planner and the network itself, where the wins as first player show how fair the
scenario is.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf

from experiments.composition import composed
from experiments.weights import digest
from src.core.files import write_atomic

HERE = Path("experiments/deployment_value")
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


def path_of(env: str, name: str, games: int, seed: int) -> Path:
    plain = name.replace(", ", "_").replace(" ", "_")
    digests = f"{digest(HERE / RUNS[env])}_{game_digest(env)}"
    return HERE / "results" / f"{env}_{plain}_{games}_{seed}_{digests}.json"


class Cell(NamedTuple):
    env: str
    name: str
    games: int
    overrides: list[str]
    path: Path


def play(one: Cell, seed: int) -> None:
    one.path.parent.mkdir(exist_ok=True)
    who = [f"env={one.env}", "agent=trained", f"agent.run={HERE / RUNS[one.env]}", *one.overrides]
    settings = [f"episodes={one.games}", f"seed={seed}", f"json={one.path}"]
    command = [sys.executable, "-m", "src.evaluate", *who, *settings]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def row(one: Cell) -> str:
    result = json.loads(one.path.read_text())
    low, high = (f"{bound:.1%}" for bound in result["win_rate_ci95"])
    first, second = (f"{result['seats'][seat]['win_rate']:.1%}" for seat in ("first", "second"))
    rate = f"{result['win_rate']:.1%} ({low}-{high})"
    return f"| `{one.env}` | {one.name} | {result['episodes']:,} | {rate} | {result['draws']} | {first} | {second} |"


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
        for name, overrides in opponents(HERE / RUNS[env]).items():
            games = options.planner_games if name == "planner" else options.games
            cells.append(Cell(env, name, games, overrides, path_of(env, name, games, options.seed)))
    missing = [one for one in cells if options.again or not one.path.exists()]
    missing.sort(key=lambda one: one.name != "planner")  # slowest first
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda one: play(one, options.seed), missing))
    head = "| environment | against | games | won (95%) | drawn | as first | as second |\n|---|---|---|---|---|---|---|"
    text = "\n".join([head, *map(row, cells)]) + "\n"
    write_atomic(HERE / options.table, text)
    print(text)


if __name__ == "__main__":
    main()
