"""Positions as text, one line per row: `.` hidden, `F` flagged, 0 to 8 the revealed number.

1F.
12.
01.
"""

import numpy as np

from ...core.errors import UserError, require
from .variant import FLAGGED, HIDDEN

SIGNS = {HIDDEN: ".", FLAGGED: "F"} | {number: str(number) for number in range(9)}
_VALUES = {sign: value for value, sign in SIGNS.items()} | {"#": HIDDEN, "f": FLAGGED}  # alternative signs


def write_board(visible: np.ndarray) -> str:
    return "\n".join("".join(SIGNS[int(value)] for value in row) for row in visible)


def read_board(text: str) -> np.ndarray:
    """Parse a board, (rows, cols) int8; whitespace is ignored."""
    lines = ["".join(line.split()) for line in text.strip().splitlines()]
    require(bool(lines) and bool(lines[0]), "a position needs a line for each row of the board")
    for number, line in enumerate(lines, start=1):
        if len(line) != len(lines[0]):
            raise UserError(f"line {number} has {len(line)} cells, but the first has {len(lines[0])}")
        for sign in line:
            require(sign in _VALUES, f"line {number} holds {sign!r}: a cell is . (hidden), F (flag) or 0 to 8")
    return np.array([[_VALUES[sign] for sign in line] for line in lines], np.int8)
