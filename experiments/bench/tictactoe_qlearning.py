"""Episodes and seconds until tabular Q-learning never loses, checked against every reply of the opponent.

python -m experiments.bench.tictactoe_qlearning --seeds 10
python -m experiments.bench.tictactoe_qlearning --set env.game.symmetric=false
"""

import argparse
import statistics
import time
from typing import NamedTuple

from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from experiments.bench.speed import Row
from experiments.composition import composed
from src.algos.qlearning import QLearning, RankingStore, lost_lines
from src.config.build import build
from src.core.runs.console import progress_bar
from src.core.seeding import generator


class Result(NamedTuple):
    first_perfect: int | None  # episodes
    seconds: float | None  # of learning up to there, evaluation not counted
    lost_at_end: int
    lost_again: int  # evaluations after the first perfect one that found a lost line


def study(cfg: DictConfig, seed: int, episodes: int, every: int) -> Result:
    env, algo, rng = build(cfg.env, "env"), build(cfg.algo, "algo"), generator(seed, "training")
    assert isinstance(algo, QLearning)
    store = RankingStore(env.game.table_format)
    first, seconds, learning, lost_again, lost = None, None, 0.0, 0, -1
    for episode in range(1, episodes + 1):
        began = time.perf_counter()
        turns, outcome = algo.play_episode(env, store, rng)
        algo.learn_from(turns, outcome, env, store)
        learning += time.perf_counter() - began
        if episode % every == 0:
            lost = int(lost_lines(env.game, store)["eval/lost_lines"])
            if first is None and lost == 0:
                first, seconds = episode, learning
            lost_again += first is not None and lost > 0
    return Result(first, seconds, lost, lost_again)


def configured(*overrides: str) -> DictConfig:
    return composed("train", *overrides, "logger=csv")


def rows(seconds: float) -> list[Row]:
    """Return the rows of the common table: three seeds with the budget of a run."""
    results = [study(configured(), seed, 5000, 100) for seed in range(3)]
    found = [result for result in results if result.first_perfect is not None and result.seconds is not None]
    if not found:
        return []
    games = statistics.median(result.first_perfect or 0 for result in found)
    speed = statistics.median((result.first_perfect or 0) / (result.seconds or 1) for result in found)
    return [
        Row(f"tic-tac-toe, {len(found)} of {len(results)} perfect after", games, "games"),
        Row("tic-tac-toe, learning", speed, "games/s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds, counted from 0")
    parser.add_argument("--episodes", type=int, default=30_000, help="budget of each")
    parser.add_argument("--every", type=int, default=100, help="episodes between looks at the table")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="overrides of the training config")
    arguments = parser.parse_args()
    cfg = configured(*arguments.set)
    table = Table(title=f"Q-learning, {arguments.episodes} episodes, lost lines over every reply", title_justify="left")
    for heading in ("seed", "perfect after episodes", "seconds", "lost at the end", "lost again after"):
        table.add_column(heading, justify="right")
    results = []
    with progress_bar("seeds", arguments.seeds) as advance:
        for seed in range(arguments.seeds):
            results.append(result := study(cfg, seed, arguments.episodes, arguments.every))
            seconds = "-" if result.seconds is None else f"{result.seconds:.2f}"
            table.add_row(
                str(seed), str(result.first_perfect), seconds, str(result.lost_at_end), str(result.lost_again)
            )
            advance(seed + 1)
    console = Console()
    console.print(table)
    perfect = sum(result.lost_at_end == 0 for result in results)
    console.print(f"never losing at the end: {perfect} of {len(results)} seeds, table alone and with shortcuts")


if __name__ == "__main__":
    main()
