"""Measure win rate and speed of the Minesweeper solvers.

    python -m experiments.bench.minesweeper_solver --board 8x8x10 16x16x40 16x30x99 --games 5000 --solver exact

First clicks are uniform over all cells, mines uniform over the cells the first click leaves, fresh boards each game.
"""

import argparse
import time

import numpy as np

from experiments.bench.speed import Row
from src.core.parallel import CORES
from src.core.play.arena import wilson_interval
from src.envs.minesweeper.solver import SOLVERS, GameResults, play_boards, random_boards

HEADER = (
    f"{'board':>10} {'solver':>10} {'games':>7} {'won':>7} {'95% interval':>16} "
    f"{'games/s':>8} {'guesses':>8} {'no guess':>9}   (guesses a game; share of games won without one)"
)


def measure(
    board: str, solver: str, games: int, seed: int, safe_neighborhood: bool, threads: int
) -> tuple[GameResults, float]:
    """Return the results of the games and the games per second."""
    rows, cols, mines = (int(part) for part in board.split("x"))
    rng = np.random.default_rng([seed, rows, cols, mines])
    first = rng.integers(rows * cols, size=games)
    mined = random_boards((rows, cols), mines, first, rng, safe_neighborhood)
    play_boards((rows, cols), mined[:1], first[:1], SOLVERS[solver], threads)  # compiles
    begin = time.perf_counter()
    played = play_boards((rows, cols), mined, first, SOLVERS[solver], threads)
    return played, games / (time.perf_counter() - begin)


def rows(seconds: float) -> list[Row]:
    """Return the rows of the common table; the number of games is estimated to fill the time."""
    found = []
    for board in ("8x8x10", "16x16x40"):
        _, speed = measure(board, "exact", 50, 0, True, CORES)
        _, speed = measure(board, "exact", max(int(speed * seconds), 50), 1, True, CORES)
        found.append(Row(f"exact solver, {board}", speed, "games/s"))
    return found


def row(board: str, solver: str, played: GameResults, speed: float) -> str:
    wins, games = int(played.won.sum()), played.won.size
    low, high = wilson_interval(wins, games)
    clean = float(np.mean(played.won & (played.guesses == 0)))
    interval = f"{low:.2%}-{high:.2%}"
    return (
        f"{board:>10} {solver:>10} {games:>7} {wins / games:>7.2%} {interval:>16} "
        f"{speed:>8.0f} {played.guesses.mean():>8.2f} {clean:>9.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--board", nargs="+", default=["8x8x10", "16x16x40", "16x30x99"], help="rows x cols x mines")
    parser.add_argument("--solver", nargs="+", default=["exact"], choices=list(SOLVERS))
    parser.add_argument("--games", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only-click-safe", action="store_true", help="mines may lie beside the first click")
    args = parser.parse_args()
    print(f"first click: {'clicked cell' if args.only_click_safe else 'clicked cell and its neighbors'} free of mines")
    print(HEADER)
    for board in args.board:
        for solver in args.solver:
            played, speed = measure(board, solver, args.games, args.seed, not args.only_click_safe, args.threads)
            print(row(board, solver, played, speed), flush=True)


if __name__ == "__main__":
    main()
