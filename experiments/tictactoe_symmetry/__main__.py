"""Count the games that Q-learning needs to never lose at tic-tac-toe, with and without symmetry.

    python -m experiments.tictactoe_symmetry [--seeds 10]

Every run is kept in results/ and not repeated; table.md and games.png are written at the end.
"""

import argparse
import json
import statistics
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments.bench.tictactoe_qlearning import Result, configured, study
from src.core.files import write_atomic

HERE = Path(__file__).parent
ARMS = {"with symmetry": "tictactoe_qlearning", "without": "tictactoe_no_symmetry"}  # experiments of conf/


def learn(experiment: str, seed: int, episodes: int, folder: Path) -> Result:
    kept = folder / f"{experiment}_{episodes}_{seed}.json"
    if not kept.exists():
        result = study(configured(f"experiment={experiment}"), seed, episodes, every=100)
        write_atomic(kept, json.dumps(result._asdict()) + "\n")
        print(f"{experiment}, seed {seed}: {result}", flush=True)
    return Result(**json.loads(kept.read_text()))


def median_interval(values: list[int]) -> tuple[int, int]:
    """Return the 95% bootstrap interval of the median."""
    rng = np.random.default_rng(0)
    medians = np.median(rng.choice(values, size=(10_000, len(values))), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return int(low), int(high)


def table(arms: dict[str, list[Result]]) -> str:
    lines = [
        "| | seeds | games to perfection: median (95%) | fewest to most | perfect at the end |",
        "|---|---|---|---|---|",
    ]
    for name, results in arms.items():
        games = [result.first_perfect for result in results if result.first_perfect is not None]
        low, high = median_interval(games)
        perfect = sum(result.lost_at_end == 0 for result in results)
        lines.append(
            f"| {name} | {len(results)} | {statistics.median(games):,.0f} ({low:,}-{high:,}) "
            f"| {min(games):,} to {max(games):,} | {perfect} of {len(results)} |"
        )
    return "\n".join(lines) + "\n"


def draw(path: Path, arms: dict[str, list[Result]]) -> None:
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, results in arms.items():
        games = sorted(result.first_perfect for result in results if result.first_perfect is not None)
        axes.step([0, *games], np.arange(len(games) + 1) / len(results), where="post", label=name)
    axes.set(xlabel="games", ylabel="share of seeds that lose no line", ylim=(0, 1.02))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="counted from 0")
    parser.add_argument("--episodes", type=int, default=30_000, help="games of a run")
    parser.add_argument("--folder", type=Path, default=HERE)
    options = parser.parse_args()
    arms = {
        name: [learn(experiment, seed, options.episodes, options.folder / "results") for seed in range(options.seeds)]
        for name, experiment in ARMS.items()
    }
    if any(all(result.first_perfect is None for result in results) for results in arms.values()):
        raise SystemExit(f"nobody was perfect within {options.episodes} games: give --episodes more")
    write_atomic(options.folder / "table.md", table(arms))
    draw(options.folder / "games.png", arms)
    print(table(arms))


if __name__ == "__main__":
    main()
