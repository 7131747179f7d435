"""Play the full search of Quoridor's master against the search without each of its features.

    python -m experiments.quoridor_features --games 400 --seconds 0.04 --jobs 9 [--minutes 20] [--only killers history]

A pair of games has one random opening, colors swapped. The pairs of all matches are played in turn, so that an early
end, by --minutes or Ctrl-C, leaves about as many games of each; the same command continues. Results are written after
every pair.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from src.core.errors import UserError

from .match import FEATURES, Outcomes, compile_kernels, ignore_interrupts, plan_of, play_pair
from .results import Pair, Results, row

HERE = Path(__file__).parent


def play_all(
    plans: dict[str, dict[str, Any]], pairs: Iterator[Pair], jobs: int, end: float, report: Callable[..., None]
) -> None:
    """Play pairs in as many processes until there are none left or the time is over; finish those that have begun."""
    running: dict[Future[Outcomes], Pair] = {}
    with ProcessPoolExecutor(jobs, get_context("spawn"), ignore_interrupts) as pool:
        try:
            while True:
                free = jobs - len(running) if time.monotonic() < end else 0
                for pair in islice(pairs, free):
                    running[pool.submit(play_pair, plans[pair.feature], pair.number)] = pair
                if not running:
                    return
                for one in wait(running, return_when=FIRST_COMPLETED).done:
                    report(running.pop(one), one.result())
        except KeyboardInterrupt:
            print("stopping after the games that have begun", flush=True)
            for one in wait(running).done:
                report(running.pop(one), one.result())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=400, help="of each match, an even number")
    parser.add_argument("--seconds", type=float, default=0.04, help="a move")
    parser.add_argument("--jobs", type=int, default=1, help="processes, at most one for each core")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which no game is begun")
    parser.add_argument("--only", nargs="+", default=FEATURES, choices=FEATURES, metavar="FEATURE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=HERE, help="of the results")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    if options.games < 2 or options.games % 2:
        parser.error(f"--games {options.games}: games are played in pairs, give an even number from 2 on")
    if not options.seconds > 0 or not options.minutes > 0 or options.seed < 0:
        parser.error("--seconds and --minutes must be > 0, and --seed >= 0")
    if not 1 <= options.jobs <= cores:
        parser.error(f"--jobs {options.jobs} must be from 1 to {cores}, the cores here: others would share their time")
    return options


def main() -> None:
    options = parse()
    end = time.monotonic() + 60 * options.minutes
    try:
        results = Results(options.folder, {"seconds": options.seconds, "seed": options.seed})
    except UserError as error:
        raise SystemExit(str(error)) from None
    plans = {feature: plan_of(feature, options.seconds, options.seed) for feature in options.only}
    pairs = [Pair(feature, number) for number in range(options.games // 2) for feature in options.only]
    missing = [pair for pair in pairs if pair not in results.pairs]
    finished = len(pairs) - len(missing)
    print(f"{len(missing)} of {len(pairs)} pairs to play in {options.jobs} processes", flush=True)

    def report(pair: Pair, outcomes: Outcomes) -> None:
        nonlocal finished
        finished += 1
        results.add(pair, outcomes)
        print(f"{finished}/{len(pairs)} {row(pair.feature, results.counts(pair.feature))}", flush=True)

    if missing:
        compile_kernels(plans[options.only[0]])
        play_all(plans, iter(missing), options.jobs, end, report)
    print(results.table())


if __name__ == "__main__":
    main()
