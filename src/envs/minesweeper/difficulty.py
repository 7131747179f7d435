"""How hard a board is."""

import numpy as np

from .rules import neighbors


def count_3bv(mines: np.ndarray) -> int:
    """Return how many clicks reveal all safe cells of (rows, cols) bool: openings, and numbers beside none."""
    rows, cols = mines.shape
    near = [cells[:degree] for cells, degree in zip(*neighbors(rows, cols), strict=True)]
    numbers = [np.count_nonzero(mines.flat[near[cell]]) for cell in range(mines.size)]
    open_, clicks = mines.ravel().copy(), 0  # mines count as open
    for start in [cell for cell in range(mines.size) if numbers[cell] == 0]:
        if open_[start]:
            continue
        clicks += 1
        open_[start], pending = True, [start]
        while pending:
            cell = pending.pop()
            if numbers[cell] == 0:
                pending += [int(other) for other in near[cell] if not open_[other]]
                open_[near[cell]] = True
    return clicks + int(np.count_nonzero(~open_))
