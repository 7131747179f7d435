"""Evaluate every shipped Minesweeper network on every board size.

    python -m experiments.minesweeper_ladder

Weights do not depend on the size of the board. Uniform first click, safe neighborhood, frozen weights, fresh boards.
On its own board a network is known by its eval.json; every other cell is kept in results/ under the digest of the
weights that played, and one that is there is not played again.
"""

import argparse
import json
from pathlib import Path

from experiments.minesweeper_agents import outcomes
from experiments.weights import digest
from src.core.files import write_atomic
from src.core.play.arena import Tally
from src.core.runs.report import as_interval, as_percent

HERE = Path("experiments/minesweeper_ladder")
BOARDS = {"8x8x10": 1000, "16x16x40": 200, "16x30x99": 100}  # and the games on each: larger boards take longer
NETWORKS = {"8x8x10": "minesweeper_8x8", "16x16x40": "minesweeper_16x16", "16x30x99": "minesweeper_16x30"}


def played(network: str, board: str, seed: int) -> Tally:
    run = Path("experiments") / network
    if NETWORKS[board] == network:
        known = json.loads((run / "eval.json").read_text())["scores"]["trained"]
        return Tally(known["wins"], known["draws"], known["losses"])
    path = HERE / "results" / f"{network}_{board}_{BOARDS[board]}_{seed}_{digest(run)}.json"
    if not path.exists():
        won = outcomes("network", board, str(run), BOARDS[board], seed, None)
        path.parent.mkdir(exist_ok=True)
        write_atomic(path, json.dumps({"wins": int(won.sum()), "games": int(won.size)}) + "\n")
    result = json.loads(path.read_text())
    return Tally(result["wins"], 0, result["games"] - result["wins"])


def table(seed: int) -> str:
    head = ["learned on", *BOARDS]
    rows = [head, ["---"] * len(head)]
    for network in NETWORKS.values():
        cells = []
        for board in BOARDS:
            tally = played(network, board, seed)
            cells.append(f"{as_percent(tally.win_rate)} ({as_interval(tally)}, {tally.games:,} games)")
            print(f"{network} on {board}: {cells[-1]}", flush=True)
        rows.append([network.removeprefix("minesweeper_"), *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=2032)
    text = table(parser.parse_args().seed)
    write_atomic(HERE / "table.md", text)
    print(text)


if __name__ == "__main__":
    main()
