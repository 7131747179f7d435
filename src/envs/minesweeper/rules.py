"""Compiled rules of Minesweeper for N boards.

A kernel takes all boards and the index of one board; a cell is `row * cols + col`. Mines are laid by the first reveal
of a game, so that it is safe and the mines are uniformly distributed over the allowed cells.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from ...core.errors import require
from ...core.kernels import jit
from ..splitmix import below
from .variant import FLAGGED, HIDDEN, MINE

PLAYING, WON, LOST = 0, 1, -1

# Kernels allocate nothing, so Numba's reference counting is disabled, and they are inlined into callers; otherwise
# passing the array arguments would take longer than the rules themselves.
kernel = jit(forceinline=True, _nrt=False)

# One record per game instead of one array per field: kernels with few array arguments run faster.
GAME = np.dtype(
    [
        ("mines", np.int32),
        ("safe_left", np.int32),  # safe cells still to reveal
        ("random", np.uint64),  # generator state; not first, or Numba would take a bare generator for a prefix of this
        ("flags", np.int32),
        ("right_flags", np.int32),  # flags on a mine
        ("status", np.int32),  # PLAYING, WON or LOST
        ("laid", np.bool_),  # the mines are on the board
    ],
    align=True,
)


class Boards(NamedTuple):
    near: np.ndarray  # (HW, 8) int32: the neighbors of each cell, `degree` of them
    degree: np.ndarray  # (HW,) int32
    number: np.ndarray  # (N, HW) int8: 0..8 or MINE; all 0 until the mines are laid
    visible: np.ndarray  # (N, HW) int8: what the player sees
    opened: np.ndarray  # (N, HW + 1) int32: cells opened by the last reveal, in order; one extra element
    games: np.ndarray  # (N,) GAME
    safe_neighborhood: bool  # the first reveal keeps its neighbors free of mines too


def new_boards(count: int, rows: int, cols: int, safe_neighborhood: bool) -> Boards:
    """Allocate `count` boards; start each with `start_game`."""
    near, degree = neighbors(rows, cols)
    return Boards(
        near=near,
        degree=degree,
        number=np.zeros((count, rows * cols), np.int8),
        visible=np.full((count, rows * cols), HIDDEN, np.int8),
        opened=np.zeros((count, rows * cols + 1), np.int32),
        games=np.zeros(count, GAME),
        safe_neighborhood=safe_neighborhood,
    )


@cache
def neighbors(rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbors of each cell (HW, 8) and their number (HW,); cached, so read-only."""
    near = np.zeros((rows * cols, 8), np.int32)
    degree = np.zeros(rows * cols, np.int32)
    for cell in range(rows * cols):
        row, col = divmod(cell, cols)
        for r in range(max(row - 1, 0), min(row + 2, rows)):
            for c in range(max(col - 1, 0), min(col + 2, cols)):
                if (r, c) != (row, col):
                    near[cell, degree[cell]] = r * cols + c
                    degree[cell] += 1
    return near, degree


@kernel
def start_game(boards: Boards, i: int, fewest: int, most: int) -> None:
    """Start a new game with a mine count drawn from fewest..most."""
    game = boards.games[i]
    game.mines = fewest if fewest == most else fewest + below(game, most - fewest + 1)
    game.safe_left = boards.visible.shape[1] - game.mines
    game.flags = 0
    game.right_flags = 0
    game.status = PLAYING
    game.laid = False
    boards.number[i] = 0
    boards.visible[i] = HIDDEN


@kernel
def start_revealed(boards: Boards, i: int, fewest: int, most: int) -> int:
    """Start a new game and reveal a random cell; return the number of cells opened."""
    start_game(boards, i, fewest, most)
    return reveal(boards, i, below(boards.games[i], boards.visible.shape[1]))


@kernel
def lay_mines(boards: Boards, i: int, first: int) -> None:
    """Draw the mines of game `i` at its first reveal.

    Rejection sampling over all cells makes every set of allowed cells equally likely and needs no list of them.
    """
    game, number = boards.games[i], boards.number[i]
    mines = boards.opened[i]  # free as scratch space before the first reveal
    _fill_clearing(boards, i, first, MINE)
    for drawn in range(game.mines):
        cell = below(game, number.size)
        while number[cell] == MINE:
            cell = below(game, number.size)
        number[cell] = MINE
        mines[drawn] = cell
    _fill_clearing(boards, i, first, 0)
    set_mines(boards, i, mines[: game.mines])


@kernel
def _fill_clearing(boards: Boards, i: int, first: int, value: int) -> None:
    """Write `value` to the cells that the first reveal keeps free of mines."""
    boards.number[i, first] = value
    if boards.safe_neighborhood:
        for k in range(boards.degree[first]):
            boards.number[i, boards.near[first, k]] = value


@kernel
def set_mines(boards: Boards, i: int, mines: np.ndarray) -> None:
    """Lay given mines (distinct cells) on an empty board, and write the numbers around them."""
    game, number, near = boards.games[i], boards.number[i], boards.near
    for cell in mines:
        game.right_flags += boards.visible[i, cell] == FLAGGED
        for k in range(boards.degree[cell]):
            number[near[cell, k]] += 1
    for cell in mines:  # after counting, which also increments cells with mines
        number[cell] = MINE
    game.laid = True


@kernel
def reveal(boards: Boards, i: int, cell: int) -> int:
    """Reveal a hidden or flagged cell; return the number of safe cells opened, which are listed in `opened[i]`.

    The cascade from a zero also opens flagged cells, as they are proven safe. A mine that explodes loses its flag and
    stays hidden.
    """
    game, number, visible = boards.games[i], boards.number[i], boards.visible[i]
    if not game.laid:
        lay_mines(boards, i, cell)
    if number[cell] == MINE:
        flag = visible[cell] == FLAGGED
        game.flags -= flag
        game.right_flags -= flag
        game.status = LOST
        visible[cell] = HIDDEN
        return 0
    opened = _cascade(boards, i, cell)
    game.safe_left -= opened
    if game.safe_left == 0:
        game.status = WON
    return opened


@kernel
def _cascade(boards: Boards, i: int, cell: int) -> int:
    """Open a safe cell and the neighbors of every zero reached; the queue of cells is also the result."""
    number, visible, queue = boards.number[i], boards.visible[i], boards.opened[i]
    flags = int(visible[cell] == FLAGGED)
    visible[cell] = number[cell]
    queue[0] = cell
    head, tail = 0, 1
    while head < tail:
        center = queue[head]
        head += 1
        if number[center] == 0:
            for k in range(boards.degree[center]):
                other = boards.near[center, k]
                before = visible[other]
                visible[other] = number[other]
                queue[tail] = other  # kept only if it was hidden: adding 0 or 1 is faster than a branch
                tail += before < 0
                flags += before == FLAGGED
    boards.games[i].flags -= flags
    return tail


@kernel
def toggle_flag(boards: Boards, i: int, cell: int) -> None:
    """Set a flag on a hidden cell, or remove it."""
    game = boards.games[i]
    change = 1 if boards.visible[i, cell] == HIDDEN else -1
    boards.visible[i, cell] = FLAGGED if change == 1 else HIDDEN
    game.flags += change
    if boards.number[i, cell] == MINE:
        game.right_flags += change


def chord(visible: np.ndarray, cell: int) -> list[int]:
    """Return the cells (H, W) that a click on a number reveals: its hidden neighbors, once all its mines are flagged.

    Flags may be wrong, so a chord can lose like any reveal.
    """
    near, degree = neighbors(*visible.shape)
    around = near[cell, : degree[cell]]
    flat = visible.ravel()
    if flat[cell] < 1 or np.count_nonzero(flat[around] == FLAGGED) != flat[cell]:
        return []
    return around[flat[around] == HIDDEN].tolist()


def clicked_cells(visible: np.ndarray, cell: int) -> list[int]:
    """Return what a click on `cell` reveals: the cell itself if hidden, or a chord; a flag protects its cell."""
    value = visible.ravel()[cell]
    require(value != FLAGGED, "take the flag off before you reveal the cell")
    return [cell] if value == HIDDEN else chord(visible, cell)


def require_flaggable(visible: np.ndarray, cell: int) -> None:
    require(visible.ravel()[cell] in (HIDDEN, FLAGGED), "a cell that is revealed takes no flag")
