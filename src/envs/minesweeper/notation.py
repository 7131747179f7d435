"""Boards as text: positions to type, drawings to read, and JSON files of fixed boards.

A position has one line per row: `.` hidden, `F` flagged, 0 to 8 the revealed number. A drawing leaves zeros blank:

    1F.          0  1  2
    12.     0    1  F  .
    01.     1    1  2  .
            2       1  .

A file of boards is `{"rows", "cols", "mines", "boards": [{"first": cell, "mines": [cell, ...]}, ...]}`.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import UserError, require
from ...core.files import MAX_DATA_BYTES, read_regular
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


def text_board(
    visible: np.ndarray,
    mines: int,
    *,
    action_probability: np.ndarray | None = None,
    mine_probability: np.ndarray | None = None,
    solution: np.ndarray | None = None,
) -> str:
    """Return a board (H, W) as text: `.` hidden, `F` flag, blank for zero.

    `action_probability` (A,) puts the three most probable actions in brackets and lists them, `mine_probability` (H, W)
    adds a board of percentages, `solution` (H, W) bool shows the mines as `*` after the game.
    """
    rows, cols = visible.shape
    signs = [[f" {SIGNS[value] if value else ' '} " for value in row] for row in visible.tolist()]
    if solution is not None:
        for row, col in np.argwhere(solution):
            signs[row][col] = " * "
    notes = []
    if action_probability is not None:
        for rank, action in enumerate(np.argsort(-action_probability, kind="stable")[:3].tolist(), start=1):
            if action_probability[action] == 0:
                break
            kind, cell = divmod(action, rows * cols)
            row, col = divmod(cell, cols)
            signs[row][col] = f"[{signs[row][col][1]}]"
            verb = ("reveal", "flag")[kind]
            notes.append(f"{rank}. {verb} row {row}, column {col}: {action_probability[action]:.1%}")
    flags = int(np.count_nonzero(visible == FLAGGED))
    text = [f"{mines} mines, {flags} flags, {np.count_nonzero(visible < 0)} cells hidden", *_grid(signs), *notes]
    if mine_probability is not None:
        percent = [
            [f"{100 * mine_probability[r, c]:3.0f} " if visible[r, c] < 0 else "    " for c in range(cols)]
            for r in range(rows)
        ]
        text += ["mine probability, %", *_grid(percent)]
    return "\n".join(line.rstrip() for line in text)


def _grid(cells: list[list[str]]) -> list[str]:
    width = len(cells[0][0])
    header = "    " + "".join(f"{col:{width - 1}d} " for col in range(len(cells[0])))
    return [header, *(f"{row:3d} " + "".join(line) for row, line in enumerate(cells))]


class FixedBoard(NamedTuple):
    first: int
    mines: list[int]


def read_boards(path: Path, rows: int, cols: int, mine_range: tuple[int, int]) -> list[FixedBoard]:
    """Read the boards of a file; the first error is reported with its location."""
    text = read_regular(Path(path), MAX_DATA_BYTES)
    try:
        data = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a JSON text: {error}") from error
    try:
        height, width, mines = (_member(data, name, int, "the file") for name in ("rows", "cols", "mines"))
        if (height, width) != (rows, cols):
            raise UserError(f"rows, cols: a {height}x{width} board, but the game is played on {rows}x{cols}")
        if not mine_range[0] <= mines <= mine_range[1]:
            expected = " to ".join(map(str, sorted(set(mine_range))))
            raise UserError(f"mines: {mines}, but the game is played with {expected}")
        boards = _member(data, "boards", list, "the file")
        require(bool(boards), "boards: the list is empty")
        return [_read_board(board, f"boards[{index}]", rows, cols, mines) for index, board in enumerate(boards)]
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _read_board(board: Any, place: str, rows: int, cols: int, count: int) -> FixedBoard:
    def require_cell(cell: int, place: str) -> None:
        last = rows * cols - 1
        require(0 <= cell <= last, f"{place}: {cell} is not a cell of a {rows}x{cols} board (0..{last})")

    first = _member(board, "first", int, place)
    require_cell(first, f"{place}.first")
    mines, seen = _member(board, "mines", list, place), set()
    for index, mine in enumerate(mines):
        where = f"{place}.mines[{index}]"
        require_cell(_typed(mine, int, where), where)
        require(mine not in seen, f"{where}: {mine} is listed twice")
        require(mine != first, f"{where}: {mine} is also the first reveal, which must be safe")
        seen.add(mine)
    require(len(mines) == count, f"{place}.mines: {len(mines)} cells, but the file announces {count} mines")
    return FixedBoard(first, mines)


def _member(value: Any, name: str, kind: type, place: str) -> Any:
    """Return a member of a JSON object, which must be of this type."""
    require(name in _typed(value, dict, place), f"{place}: {name!r} is missing")
    return _typed(value[name], kind, name if place == "the file" else f"{place}.{name}")


def _typed(value: Any, kind: type, place: str) -> Any:
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    if type(value) is not kind:
        found = names.get(type(value), json.dumps(value))
        raise UserError(f"{place}: expected {names.get(kind, 'a whole number')}, found {found}")
    return value
