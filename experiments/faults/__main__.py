"""Kill trainings, send garbage to the line protocol, read hostile files; print attempts and failures.

    python -m experiments.faults                                # the long form, about an hour on one core
    python -m experiments.faults --kills 10 --lines 2000 --files 60
    python -m experiments.faults --only files --seed 0 --case 38    # repeat one case

Everything follows from the seed, but for kills by the clock. The exit code is 1 where anything failed.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from experiments.faults import files, forks, kills, lines, processes
from experiments.faults.report import Row, reproductions, table

ATTACKS = ("kills", "lines", "processes", "files")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(ATTACKS), choices=ATTACKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=220, help="of trainings")
    parser.add_argument("--commands", type=int, default=12, help="of these kills, through the command line")
    parser.add_argument("--lines", type=int, default=100_000, help="of the line protocol, in process")
    parser.add_argument("--process-lines", type=int, default=2600, help="of the line protocol, to real processes")
    parser.add_argument("--interrupts", type=int, default=18, help="commands to stop by Ctrl-C")
    parser.add_argument("--files", type=int, default=1000, help="hostile run directories and files")
    parser.add_argument("--case", type=int, help="repeat one case of one attack")
    options = parser.parse_args(arguments)
    os.environ.update(forks.WITHOUT_THREADS)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        if options.case is not None:
            rows = one_case(options.only[0], folder, options.seed, options.case)
        else:
            rows = [row for attack in options.only for row in run(attack, folder, options)]
    print(table(rows))
    failed = any(row.failures for row in rows)
    if failed:
        print(reproductions(rows, options.seed))
    return int(failed)


def run(attack: str, folder: Path, options: argparse.Namespace) -> list[Row]:
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"\r{time.monotonic() - began:6.0f} s: {what}", end="", file=sys.stderr, flush=True)

    folder = folder / attack
    folder.mkdir()
    if attack == "kills":
        rows = kills.attack(folder, options.seed, options.kills, options.commands, say)
    elif attack == "lines":
        rows = lines.attack(options.seed, options.lines, say)
    elif attack == "processes":
        rows = processes.attack(folder, options.seed, options.process_lines, options.interrupts, say)
    else:
        rows = files.attack(folder, options.seed, options.files, say)
    print(file=sys.stderr)
    return rows


def one_case(attack: str, folder: Path, seed: int, number: int) -> list[Row]:
    row = Row(attack, f"case {number}")
    if attack == "kills" and number >= kills.COMMAND:
        kills.CommandLine(kills.Killer(folder, seed)).case(number, 4, row)
    elif attack == "kills":
        kills.Killer(folder, seed).case(number, row)
    elif attack == "lines":
        lines.Talks(seed).case(number, row)
    elif attack == "processes" and number >= processes.INTERRUPT:
        processes.interrupted(folder, seed, number, row)
    elif attack == "processes":
        processes.garbage(folder, seed, number, 200, row)
    else:
        files.Hostilities(folder, seed).case(number, row)
    return [row]


if __name__ == "__main__":
    sys.exit(main())
