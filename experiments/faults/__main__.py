"""Kill training runs, send garbage to the line protocol, read hostile files; print attempts and failures.

    python -m experiments.faults                                # the long form, some hours; --jobs 2 for two cores
    python -m experiments.faults --only kills files --kills 10 --files 60
    python -m experiments.faults --only files --seed 0 --case 38    # repeat one case
    python -m experiments.faults --json experiments/faults/results.jsonl    # keep the results, and write table.md

Everything follows from the seed, but for kills by the clock. The exit code is 1 if anything failed.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import torch

from experiments.faults import (
    command_lines,
    files,
    forks,
    kills,
    lines,
    links,
    processes,
    report,
    searches,
    sweeps,
    tabs,
    torchrun,
)
from experiments.faults.report import Row
from src.core.runs.provenance import provenance


class Attack(Protocol):
    def target(self, number: int) -> str:
        """Return the row of the table that a case belongs to."""

    def case(self, number: int, row: Row) -> None:
        """Try one case, count its attempts and record a failure."""


class Kind(NamedTuple):
    make: Callable[[Path, int], Attack]  # with its folder and the seed
    wanted: int  # attempts of the long form
    unit: str


ATTACKS = {
    "kills": Kind(kills.Killer, 320, "kills of forked training runs"),
    "commands": Kind(kills.CommandLine, 12, "kills of training commands"),
    "torchrun": Kind(torchrun.Torchrun, 8, "kills of a rank or of torchrun"),
    "searches": Kind(searches.Searches, 30, "kills of hyperparameter searches, or searches started twice"),
    "lines": Kind(lines.Talks, 100_000, "lines of the line protocol, in process"),
    "garbage": Kind(processes.Garbage, 2600, "lines of the line protocol, to real processes"),
    "interrupts": Kind(processes.Interrupts, 18, "commands of the line protocol stopped by Ctrl-C"),
    "files": Kind(files.Runs, 1700, "hostile run directories and files"),
    "sweeps": Kind(sweeps.Sweeps, 800, "hostile sweep directories"),
    "links": Kind(links.Links, 600, "links out of a run directory"),
    "command-lines": Kind(command_lines.CommandLines, 800, "command lines from the grammar of overrides"),
    "tabs": Kind(tabs.Tabs, 180, "pages of a server that has just started"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    os.environ.update(forks.WITHOUT_THREADS)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        if options.case is not None:
            (attack,) = options.only
            rows = [row for row, _ in cases(attack, folder, options.seed, [options.case], 1)]
        elif options.jobs == 1:
            rows = run(folder, options, 0)
        else:
            rows = run_parallel(folder, options)
    print(report.table(rows))
    failed = any(row.failures for row in rows)
    if failed:
        print(report.reproductions(rows, options.seed))
    if options.json is not None:
        report.replace_attacks(options.json, rows)
    return int(failed)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(ATTACKS), choices=ATTACKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the cases of each attack")
    parser.add_argument("--case", type=int, help="repeat one case of the attack of --only")
    parser.add_argument("--json", type=Path, help="add the results to a file of JSON lines, in place of earlier ones")
    for name, kind in ATTACKS.items():
        parser.add_argument(f"--{name}", type=int, default=kind.wanted, help=f"{kind.unit} (%(default)s)")
    options = parser.parse_args(arguments)
    if options.case is not None and len(options.only) != 1:
        parser.error("--case needs one attack: add --only and its name")
    return options


def run_parallel(folder: Path, options: argparse.Namespace) -> list[Row]:
    """Run each share of the cases in a forked process; a process that fails ends the others."""
    kills.import_everything()
    children = [
        forks.start(lambda: report.write(folder / f"{n}.jsonl", run(folder, options, n)), folder / f"{n}.txt")  # noqa: B023
        for n in range(options.jobs)
    ]
    try:
        for child in children:
            while not child.wait(10):
                counts = (one.text.replace("\r", "\n").strip().rpartition("\n")[2] for one in children)
                print(f"\r{'; '.join(counts)}", end="", file=sys.stderr, flush=True)
            if child.code != 0:
                raise RuntimeError(child.text[-3000:])
    finally:
        for child in children:
            child.send(signal.SIGTERM)
    print(file=sys.stderr)
    return report.merged(row for n in range(options.jobs) for row in report.read(folder / f"{n}.jsonl"))


def run(folder: Path, options: argparse.Namespace, worker: int) -> list[Row]:
    """Run the cases of one worker: of every attack each `jobs`-th."""
    found: list[Row] = []
    for attack in options.only:
        wanted = getattr(options, attack.replace("-", "_"))
        share = wanted // options.jobs + (worker < wanted % options.jobs)
        numbers = range(worker, 10**9, options.jobs)
        for row, tried in cases(attack, folder, options.seed, numbers, share):
            print(f"\r{attack}: {tried} of {share}", end="", file=sys.stderr, flush=True)
            found.append(row)
        print(file=sys.stderr)
    return report.merged(found)


def cases(attack: str, folder: Path, seed: int, numbers: Sequence[int], wanted: int) -> Iterator[tuple[Row, int]]:
    """Try cases until there are as many attempts as wanted; yield the row of each, and the attempts so far."""
    tried, commit = 0, str(provenance()["commit"])
    (folder / attack).mkdir(exist_ok=True)
    made = ATTACKS[attack].make(folder / attack, seed)
    for number in numbers:
        if tried >= wanted:
            return
        row, began = Row(attack, made.target(number), seed=seed, commit=commit), time.monotonic()
        made.case(number, row)
        row.seconds = round(time.monotonic() - began, 2)
        tried += row.tried
        yield row, tried


if __name__ == "__main__":
    sys.exit(main())
