"""Measure the Runs page with many runs, compared with few.

    python -m experiments.bench.runs_page                  # 1,000 runs against 10
    python -m experiments.bench.runs_page --runs 5000

The runs are copies of a shipped one with other seeds, in a temporary folder. The index is measured in this process, the
page through a real server. Seconds depend on the machine and its other load; the last column is a ratio.
"""

import argparse
import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from experiments.bench.page_load import Tab, serving
from src.core.runs.index import query
from src.core.runs.index.rows import Index

FEW = 10
REPEATS = 5
COPIED = Path(__file__).parents[1] / "minesweeper_8x8"
PAGES = {
    "page, opened again": "/runs",
    "page with a filter": "/runs?filter=seed>4",
    "page that compares ten runs": "/runs?" + "&".join(f"compare=outputs/{number}" for number in range(FEW)),
}


def make_runs(folder: Path, count: int) -> None:
    files = {name: (COPIED / name).read_text() for name in ("config.yaml", "metrics.csv", "eval.json")}
    for number in range(count):
        run = folder / str(number)
        run.mkdir(parents=True)
        for name, text in files.items():
            (run / name).write_text(text.replace("\nseed: 0\n", f"\nseed: {number}\n"))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure_index(outputs: Path) -> dict[str, float]:
    """Return seconds to read all runs, to look for changes, to read one that has changed, and to filter."""
    index = Index([outputs])
    seconds = {"all runs read for the first time": timed(index.rows)}
    seconds["look for changes"] = median(timed(index.rows) for _ in range(REPEATS))

    def change() -> None:
        with (outputs / "7/metrics.csv").open("a") as log:
            log.write("\n")
        index.rows()

    seconds["look that finds one change"] = median(timed(change) for _ in range(REPEATS))

    def search() -> None:
        holds = query.parse_filter("seed>4 env=minesweeper*", index.fields())
        assert sum(map(holds, index.known)) == len(index.known) - 5

    return seconds | {"filter": median(timed(search) for _ in range(REPEATS))}


async def measure_pages(address: str) -> dict[str, float]:
    """Return seconds until pages are complete, after a first visit that makes the server read the runs."""
    await (await Tab(address).open("/runs")).close()
    seconds = {}
    for what, path in PAGES.items():
        found = []
        for _ in range(REPEATS):
            tab = await Tab(address).open(path)
            assert tab.status == 200, f"{path} answered {tab.status}"
            found.append(tab.built)
            await tab.close()
        seconds[what] = median(found)
    return seconds


def measure(count: int) -> dict[str, float]:
    with TemporaryDirectory() as name:
        make_runs(Path(name) / "outputs", count)
        seconds = measure_index(Path(name) / "outputs")
        with serving(Path(name), "outputs") as address:
            return seconds | asyncio.run(measure_pages(address))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args(arguments).runs
    few, many = measure(FEW), measure(runs)
    print(f"{'':36}{f'{FEW} runs':>12}{f'{runs:,} runs':>12}{'ratio':>9}")
    for what, seconds in many.items():
        print(f"{what:36}{few[what]:10.4f} s{seconds:10.4f} s{seconds / few[what]:9.1f}")


if __name__ == "__main__":
    main()
