"""Measure how long the Runs page takes, in a real browser, from the click that selects many runs to their curves.

    python -m experiments.bench.compare_runs                       # 62 runs of 3,000 rows
    python -m experiments.bench.compare_runs --runs 10 --rows 500

The runs are made in a temporary folder, with the columns of a shipped one. Each repetition is a new tab, in which
nothing is selected; the first one finds no run in the memory of the server. Seconds depend on the machine and its other
load. `bytes` is what the server sends over the websocket until then.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.web.browser import Browser, chromium, serving

COPIED = Path(__file__).parents[1] / "minesweeper_8x8"
EVALUATED = 20  # rows from one evaluation to the next, between which its columns are empty
REPEATS = 3

# Resolves to the milliseconds until the first chart has all curves, until all charts have, and until the differences.
CLICK = """const [runs, done] = arguments, begin = performance.now(), seen = [];
const counts = () => [...document.querySelectorAll('.r-grid .r-chart')].map(plot =>
  getElement(+plot.id.slice(1))?.chart?.getModel()?.getSeries().filter(one => one.getData().count()).length ?? 0);
const columns = () => document.querySelectorAll('.r-differences thead th').length;
const look = () => { const now = performance.now() - begin, found = counts();
  if (found.some(count => count >= runs)) seen[0] ??= now;
  if (found.length && found.every(count => count >= runs)) seen[1] ??= now;
  if (columns() > runs) seen[2] ??= now;
  seen[0] && seen[1] && seen[2] ? done(seen) : setTimeout(look, 5); };
document.querySelector('.r-all').click(); look();"""


def make_runs(folder: Path, count: int, rows: int) -> None:
    """Write runs that log all columns of training in each row, and those of evaluations in some."""
    config, names = (
        (COPIED / "config.yaml").read_text(),
        (COPIED / "metrics.csv").read_text().splitlines()[0].split(","),
    )
    evaluations = np.array([name.startswith(("eval/", "final/")) for name in names])
    for number in range(count):
        run = folder / str(number)
        run.mkdir(parents=True)
        (run / "config.yaml").write_text(config.replace("\nseed: 0\n", f"\nseed: {number}\n"))
        values = np.random.default_rng(number).normal(size=(rows, len(names)))
        lines = [
            ",".join(
                str(512 * row) if name == "step" else "" if empty and row % EVALUATED else str(value)
                for name, empty, value in zip(names, evaluations, values[row], strict=True)
            )
            for row in range(rows)
        ]
        (run / "metrics.csv").write_text("\n".join([",".join(names), *lines, ""]))


def measure(browser: Browser, runs: int) -> tuple[list[float], int]:
    """Return the seconds to the first chart, all charts and the differences, and the bytes that came meanwhile."""
    browser.open("/runs?filter=run=outputs/*")
    browser.wait_text(".r-all", f"Select all {runs}")
    browser.script(
        "window.received = 0; socket.io.engine.on('packet', one => window.received += one.data?.length ?? 0)"
    )
    seconds = [milliseconds / 1000 for milliseconds in browser.driver.execute_async_script(CLICK, runs)]
    return seconds, browser.script("return window.received")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=62)
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_runs(folder / "outputs", options.runs, options.rows)
        with serving(folder) as address, chromium(folder / "profile") as driver:
            driver.set_script_timeout(300)
            browser = Browser(driver, address)
            browser.open("/runs")
            browser.until(lambda: not browser.all(".lab-progress"), "the engines to be loaded")
            print(f"{'':8}{'first chart':>14}{'all charts':>14}{'differences':>14}{'bytes':>14}")
            for number in range(REPEATS):
                seconds, received = measure(browser, options.runs)
                shown = "".join(f"{one:12.2f} s" for one in seconds)
                print(f"{'cold' if number == 0 else 'warm':8}{shown}{received:14,}", flush=True)
                time.sleep(1)


if __name__ == "__main__":
    main()
