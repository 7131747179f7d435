"""Train every pair of environment and algorithm with its defaults, and write a table of the results.

    python -m experiments.defaults                                         # every pair, hours on two cores
    python -m experiments.defaults --only minesweeper_8x8_ppo tictactoe_ppo

Each row is `python -m src.train env=... algo=...` with nothing else said. A pair that is finished is not trained again.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from src.config import CONF
from src.config.resolvers import accelerator, tuned
from src.core.errors import require
from src.core.files import write_atomic
from src.core.runs.runlog import RunLog

RUNS = Path("outputs/studies/defaults")
PAIRS = {
    f"{env}_{algo}": (env, algo)
    for algo in sorted(path.stem for path in (CONF / "algo").glob("*.yaml"))
    for env in sorted(path.stem for path in (CONF / "env").glob("*.yaml"))
    if (CONF / "tuned" / f"{tuned(env, algo)}.yaml").exists() or (env, algo) == ("tictactoe", "qlearning")
}


def train(env: str, algo: str, directory: Path) -> dict[str, Any]:
    """Run the plain command unless its result is cached; return its results and the seconds, including compilation."""
    result = directory / "defaults.json"
    if not result.exists():
        command = ["-m", "src.train", f"env={env}", f"algo={algo}", f"hydra.run.dir={directory}", "logger=csv"]
        began = time.monotonic()
        done = subprocess.run([sys.executable, *command])
        require(done.returncode == 0, f"python {' '.join(command)} failed: see above")
        measured = {"seconds": time.monotonic() - began, **json.loads((directory / "eval.json").read_text())}
        write_atomic(result, json.dumps(measured, indent=2) + "\n")
    return json.loads(result.read_text())


def table(folder: Path) -> str:
    lines = ["| env | algo | steps | minutes | result |", "|---|---|---|---|---|"]
    for name, (env, algo) in PAIRS.items():
        path = folder / name / "defaults.json"
        if path.exists():
            measured = json.loads(path.read_text())
            steps = RunLog(folder / name, None).column("time/seconds")[0][-1]
            cells = (f"`{env}`", f"`{algo}`", f"{steps:,.0f}", f"{measured['seconds'] / 60:.1f}", summary(measured))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def summary(measured: dict[str, Any]) -> str:
    scores = []
    for name, score in measured["scores"].items():
        low, high = score["win_rate_ci95"]
        rate = f"{100 * score['win_rate']:.1f}% ({100 * low:.1f}-{100 * high:.1f}, {score['episodes']:,} games)"
        scores.append(f"{name} {rate}")
    scores += [f"{tally['losses']} lost lines moving {seat}" for seat, tally in measured.get("every_reply", {}).items()]
    return "; ".join(scores)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(PAIRS), choices=list(PAIRS), metavar="ENV_ALGO")
    options = parser.parse_args(arguments)
    folder = RUNS / accelerator("auto")
    for name in options.only:
        train(*PAIRS[name], folder / name)
        write_atomic(folder / "table.md", table(folder))
    print(table(folder))


if __name__ == "__main__":
    main()
