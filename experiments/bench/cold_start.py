"""Measure the first answer of each game on a machine that has compiled nothing, and again with the compiled kernels.

    python -m experiments.bench.cold_start

The figures are CPU seconds of the whole process, imports included: unlike wall time they hardly depend on other load.
"""

import os
import resource
import subprocess
import sys
from tempfile import TemporaryDirectory

FIRST_ANSWERS = {
    "exact solver, first move": ("env=minesweeper_16x16", "agent=exact", "go"),
    "wargame, first move": ("env=deployment", "agent=tactical", "go"),
    "Quoridor, first move": ("env=quoridor", "agent=alphabeta", "go"),
}


def cpu_seconds(kernels: str, *overrides: str, command: str) -> float:
    """Return what one command to the engine takes, with compiled kernels in the folder `kernels`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "src.engine", *overrides],
        input=f"{command}\nquit\n",
        env=os.environ | {"NUMBA_CACHE_DIR": kernels},
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    print(f"{'':28}{'empty cache':>14}{'full cache':>14}   CPU s")
    for name, (*overrides, command) in FIRST_ANSWERS.items():
        with TemporaryDirectory() as kernels:
            seconds = [cpu_seconds(kernels, *overrides, command=command) for _ in range(2)]
        print(f"{name:28}{seconds[0]:14.1f}{seconds[1]:14.1f}")


if __name__ == "__main__":
    main()
