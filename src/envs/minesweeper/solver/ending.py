"""Buffers for the search of endings."""

from typing import NamedTuple

import numpy as np

from ....core.kernels import by_reference
from ...splitmix import STRIDE, mix

COMPLETIONS = 2000  # the most that are searched
MEMO = 1 << 16  # places of the table; half of them are used at most
UNDECIDED, SIZE, BUDGET, STOP = range(4)  # places in `Ending.total`
DEPTH = 24  # times the number of completions: room for the nested subsets of a search

# 64 random bits for each completion: two of a million subsets share an xor with a chance below 1e-7.
LABELS = mix.py_func(STRIDE * np.arange(1, COMPLETIONS + 1, dtype=np.uint64))


@by_reference
class Ending(NamedTuple):
    """Tables are flat, as their width is the number of undecided cells: a row of it follows the other."""

    cells: np.ndarray  # (cells,) int32: the undecided ones
    place: np.ndarray  # (cells + 1,) int32: of each box in the order, or of each undecided cell in `cells`
    begin: np.ndarray  # (cells + 2,) int32: where the cells of each place begin
    tried: np.ndarray  # (cells,) int8: what comes next at each depth: 2 mine, 1 no mine, 0 neither
    mined: np.ndarray  # (cells,) bool: one completion
    shown: np.ndarray  # (completions * undecided,) int8: number revealed there, BANG for a mine
    label: np.ndarray  # (completions,) uint64: random; a subset is known by their xor
    subset: np.ndarray  # (DEPTH * completions,) int32: nested subsets, one behind the other
    frame: np.ndarray  # (undecided + 3, 9) int64: a row of fields for each subset of the nest
    order: np.ndarray  # ((undecided + 2) * undecided,) int32: cells worth revealing in each
    bangs: np.ndarray  # ((undecided + 2) * undecided,) int32: mines on each cell, counted over the subset
    active: np.ndarray  # ((undecided + 3) * undecided,) int32: cells not the same all over the subset one level up
    memo_key: np.ndarray  # (MEMO,) uint64
    memo_wins: np.ndarray  # (MEMO,) int32, 0 empty
    total: np.ndarray  # (4,) int64: undecided cells, completions, positions that may still be looked at, stop flag


def make_ending(cells: int) -> Ending:
    """Return buffers for boards of this size; they take memory only where they are used."""
    return Ending(
        cells=np.empty(cells, np.int32),
        place=np.empty(cells + 1, np.int32),
        begin=np.empty(cells + 2, np.int32),
        tried=np.empty(cells, np.int8),
        mined=np.empty(cells, np.bool_),
        shown=np.empty(COMPLETIONS * cells, np.int8),
        label=LABELS,
        subset=np.empty(DEPTH * COMPLETIONS, np.int32),
        frame=np.empty((cells + 3, 9), np.int64),
        order=np.empty((cells + 2) * cells, np.int32),
        bangs=np.empty((cells + 2) * cells, np.int32),
        active=np.empty((cells + 3) * cells, np.int32),
        memo_key=np.empty(MEMO, np.uint64),
        memo_wins=np.empty(MEMO, np.int32),
        total=np.zeros(4, np.int64),
    )
