"""Write a file of random boards, or of boards that can be won without guessing.

python -m src.envs.minesweeper.make_boards boards.json --rows 16 --cols 16 --mines 40 --count 1000
python -m src.envs.minesweeper.make_boards no_guess.json --rows 16 --cols 16 --mines 40 --count 50 --no-guess
python -m src.evaluate env=minesweeper_16x16 agent=exact boards=no_guess.json
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...core.errors import UserError, require
from ...core.files import write_atomic
from ...core.runs.console import progress_bar
from ...core.seeding import generator
from .solver import no_guess_board, random_boards


def make_boards(
    rows: int, cols: int, mines: int, count: int, seed: int, safe_neighborhood: bool, max_tries: int | None
) -> dict:
    """Return boards with uniform first clicks for `read_boards`; with `max_tries` only boards that need no guess."""
    require(rows >= 1 and cols >= 1, f"a board of {rows}x{cols} has no cells: rows and cols are at least 1")
    require(mines >= 1, f"{mines} mines: there must be at least one")
    require(count >= 1, f"{count} boards: there must be at least one")
    require(max_tries is None or max_tries >= 1, f"{max_tries} tries: there must be at least one")
    boards = []
    with progress_bar("boards", count) as advance:
        for number in range(count):
            rng = generator(seed, "boards", number)
            first = int(rng.integers(rows * cols))
            if max_tries is None:
                mined = random_boards((rows, cols), mines, np.array([first]), rng, safe_neighborhood)
                cells = np.flatnonzero(mined[0])
            else:
                cells = no_guess_board(rows, cols, mines, first, rng, max_tries, safe_neighborhood)
            boards.append({"first": first, "mines": cells.tolist()})
            advance(number + 1)
    return {"rows": rows, "cols": cols, "mines": mines, "boards": boards}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--cols", type=int, required=True)
    parser.add_argument("--mines", type=int, required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only-click-safe", action="store_true", help="mines may lie beside the first click")
    parser.add_argument("--no-guess", action="store_true", help="only boards that can be won without a guess")
    parser.add_argument("--max-tries", type=int, default=10_000, help="boards to try for each that needs no guess")
    options = parser.parse_args(arguments)
    tries = options.max_tries if options.no_guess else None
    size = (options.rows, options.cols, options.mines)
    try:
        document = make_boards(*size, options.count, options.seed, not options.only_click_safe, tries)
        write_atomic(options.file, json.dumps(document) + "\n")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
