"""Labelled positions on disk, for training the evaluation."""

from typing import Any

import numpy as np

from .board import ONE, ZERO, bit, kernel, lowest, new_board, set_up
from .features import COLUMNS, PATH_WORDS, SIZE, WORDS, trace, write_features
from .notation import Position

RECORD = np.dtype(
    [
        ("horizontal", np.uint64),
        ("vertical", np.uint64),
        ("pawns", np.uint8, (2,)),
        ("left", np.uint8, (2,)),
        ("ply", np.uint8),
        ("outcome", np.int8),  # of the game for the player to move: 1, 0 or -1
        ("score", np.int16),  # of a search for the player to move; a proven win is PROVEN
    ]
)
PROVEN = 32_000


def record_of(state: Position, score: int) -> Any:
    """Return a record without an outcome."""
    clipped = max(-PROVEN, min(PROVEN, score))
    return (state.horizontal, state.vertical, state.pawns, state.left, state.ply, 0, clipped)


@kernel
def _pack(board: Any, records: Any, paths: Any, lengths: Any, words: Any, columns: Any, out: Any) -> None:
    for n in range(records.size):
        record = records[n]
        set_up(board, record.horizontal, record.vertical, record.pawns, record.left, np.int64(record.ply))
        for player in range(2):
            lengths[player] = trace(board, player, False, paths[player])
        write_features(board, paths, lengths, words)
        for i in range(WORDS):
            word = words[i]
            while word != ZERO:
                column = np.int64(columns[board.ply & 1, 64 * i + lowest(word)])
                out[n, column // 64] |= bit(column % 64)
                word &= word - ONE


def packed_features(records: np.ndarray) -> np.ndarray:
    """Return the features of each record as bits, (N, FEATURES / 8) uint8, in the order of the network's columns."""
    out = np.zeros((len(records), WORDS), np.uint64)
    paths, lengths, words = np.zeros((2, PATH_WORDS), np.uint64), np.zeros(2, np.int64), np.zeros(WORDS, np.uint64)
    _pack(new_board(SIZE, 1 << 20), records, paths, lengths, words, COLUMNS, out)
    return out.astype("<u8").view(np.uint8)
