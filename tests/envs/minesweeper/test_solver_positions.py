"""Small positions, and a brute-force enumeration of their completions."""

import numpy as np
from hypothesis import strategies as st

from src.envs.minesweeper.rules import FLAGGED, HIDDEN
from src.envs.minesweeper.solver.constraints import padded_neighbors

MAX_HIDDEN = 13


def numbers(mined: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """(..., cells) mines around each cell."""
    padded = np.concatenate([mined, np.zeros((*mined.shape[:-1], 1), np.bool_)], axis=-1)
    return padded[..., padded_neighbors(rows, cols)].sum(axis=-1)


def position(mined: np.ndarray, shown: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """(rows, cols) int8: what a player sees who has revealed the safe ones of the `shown` cells."""
    visible = np.where(shown & ~mined, numbers(mined, rows, cols), HIDDEN)
    return visible.astype(np.int8).reshape(rows, cols)


@st.composite
def positions(draw: st.DrawFn, most_hidden: int = MAX_HIDDEN) -> tuple[np.ndarray, int]:
    """A consistent position of up to 4x5 cells with flags anywhere, and its number of mines."""
    rows, cols = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    cells = rows * cols
    mines = draw(st.integers(0, min(cells, most_hidden)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mined, shown = np.zeros(cells, np.bool_), rng.random(cells) < draw(st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]))
    order = rng.permutation(cells)
    mined[order[:mines]] = True
    shown[order[most_hidden:]] = True
    visible = position(mined, shown, rows, cols)
    return np.where((visible == HIDDEN) & (rng.random((rows, cols)) < 0.3), FLAGGED, visible).astype(np.int8), mines


def completions(visible: np.ndarray, mines: int) -> np.ndarray:
    """(completions, cells) bool: every placement of the mines that agrees with the numbers."""
    flat = visible.reshape(-1)
    hidden = np.flatnonzero(flat < 0)
    bits = (np.arange(2**hidden.size)[:, None] >> np.arange(hidden.size)) & 1
    mined = np.zeros((bits.shape[0], flat.size), np.bool_)
    mined[:, hidden] = bits
    mined = mined[bits.sum(axis=1) == mines]
    agree = (numbers(mined, *visible.shape) == flat) | (flat < 0)
    return mined[agree.all(axis=1)]


def test_enumeration_by_hand():
    """A 1 between two hidden cells has one mine left or right of it."""
    placements = completions(np.array([[HIDDEN, 1, FLAGGED]], np.int8), 1)
    assert sorted(np.flatnonzero(mined).tolist() for mined in placements) == [[0], [2]]
    assert len(completions(np.array([[HIDDEN, 1, FLAGGED]], np.int8), 2)) == 0
