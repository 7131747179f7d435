"""Print the jobs of a sweep as a table: python -m src.sweep <sweep dir>."""

import sys
from pathlib import Path

from .config.cli import launch
from .config.sweep_callback import show
from .core.errors import require
from .core.package import command


def main() -> None:
    named = len(sys.argv) == 2 and not sys.argv[1].startswith("-")
    require(named, f"expected one sweep directory, such as: {command('sweep')} outputs/sweeps/...")
    show(Path(sys.argv[1]))


def run() -> None:
    launch(main)


if __name__ == "__main__":
    run()
