"""Measure the value of deployment: the same network fights on both sides, and one side uses a scripted placement.

    python -m experiments.deployment_value [--games 2000] [--jobs 2]

Every cell is one call of src.evaluate with seats swapped after each game, cached as JSON in results/ by the digest of
the weights; --again repeats cells that are cached. The table, whose second half is about the bots, is printed and
written to table.md.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments.weights import digest
from src.core.files import write_atomic

HERE = Path("experiments/deployment_value")
ENVS = ("deployment_classic", "deployment_classic_mirror")
PLACEMENTS = ("deterministic", "front_line", "back_line", "scripted")
BOTS = ("random", "greedy", "defensive", "tactical")


def opponents(run: Path) -> dict[str, list[str]]:
    """Return the overrides of each opponent, by its name in the table."""
    itself = ["opponent=redeployed", "agent@opponent.battle=trained", f"opponent.battle.run={run}"]
    placed = {f"itself, {name}": [*itself, f"agent/placement@opponent.placement={name}"] for name in PLACEMENTS}
    return placed | {f"{name} bot": [f"opponent={name}"] for name in BOTS}


def cell(env: str, name: str, games: int, seed: int) -> Path:
    plain = name.replace(", ", "_").replace(" ", "_")
    return HERE / "results" / f"{env}_{plain}_{games}_{seed}_{digest(HERE / env)}.json"


def play(env: str, name: str, overrides: list[str], games: int, seed: int, again: bool) -> None:
    path, run = cell(env, name, games, seed), HERE / env
    if path.exists() and not again:
        return
    path.parent.mkdir(exist_ok=True)
    who = [f"env={env}", "agent=trained", f"agent.run={run}", *overrides]
    command = [sys.executable, "-m", "src.evaluate", *who, f"episodes={games}", f"seed={seed}", f"json={path}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def row(env: str, name: str, games: int, seed: int) -> str:
    result = json.loads(cell(env, name, games, seed).read_text())
    low, high = (f"{bound:.1%}" for bound in result["win_rate_ci95"])
    first, second = (f"{result['seats'][seat]['win_rate']:.1%}" for seat in ("first", "second"))
    rate = f"{result['win_rate']:.1%} ({low}-{high})"
    return f"| `{env}` | {name} | {result['episodes']:,} | {rate} | {result['draws']} | {first} | {second} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=2000, help="games a cell")
    parser.add_argument("--seed", type=int, default=2028)
    parser.add_argument("--again", action="store_true", help="play cells again that are there already")
    parser.add_argument("--jobs", type=int, default=2, help="cells played at once")
    parser.add_argument("--envs", nargs="+", default=list(ENVS), choices=ENVS)
    options = parser.parse_args()
    cells = [(env, name, overrides) for env in options.envs for name, overrides in opponents(HERE / env).items()]
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda one: play(one[0], one[1], one[2], options.games, options.seed, options.again), cells))
    head = "| environment | against | games | won (95%) | drawn | as first | as second |\n|---|---|---|---|---|---|---|"
    text = "\n".join([head, *(row(env, name, options.games, options.seed) for env, name, _ in cells)]) + "\n"
    write_atomic(HERE / "table.md", text)
    print(text)


if __name__ == "__main__":
    main()
