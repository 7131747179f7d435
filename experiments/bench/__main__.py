"""Run all quick benchmarks and print one table, compared with other libraries and with the previous results.

    python -m experiments.bench                       # all, some minutes
    python -m experiments.bench --only quoridor       # one of them

What was measured is appended to experiments/bench/history.csv. Peers come with the extra `bench`.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from experiments.bench import (
    deployment_env,
    minesweeper_env,
    minesweeper_solver,
    ppo_throughput,
    quoridor,
    quoridor_batch,
    tictactoe_qlearning,
)
from experiments.bench.history import HISTORY, Place, append, previous, table
from experiments.bench.speed import Row
from src.core.parallel import CORES

WIDTH = 126  # of the table, also where its output is not a terminal
BENCHMARKS: dict[str, Callable[[float], list[Row]]] = {
    "minesweeper": minesweeper_env.rows,
    "ppo": ppo_throughput.rows,
    "quoridor": quoridor.rows,
    "quoridor_batch": quoridor_batch.rows,
    "deployment": deployment_env.rows,
    "solver": minesweeper_solver.rows,
    "tictactoe": tictactoe_qlearning.rows,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(BENCHMARKS), choices=list(BENCHMARKS))
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a repeat, where that can be chosen")
    parser.add_argument("--history", type=Path, default=HISTORY, help="the file to compare with and to append to")
    options = parser.parse_args(arguments)
    place, console, load = Place.here(), Console(), os.getloadavg()[0]
    console.width = max(console.width, WIDTH)
    before = previous(options.history, place.machine)
    rows: list[Row] = []
    for name in options.only:
        with console.status(f"measuring {name}"):
            rows += BENCHMARKS[name](options.seconds)
    console.print(f"{place.machine}; commit {place.commit or 'unknown'}; {place.versions}")
    if load > CORES / 2:
        console.print(f"others use the machine (load {load:.1f} at the beginning): only ratios mean something")
    console.print(table(rows, before))
    append(options.history, rows, place, datetime.now(UTC))


if __name__ == "__main__":
    main()
