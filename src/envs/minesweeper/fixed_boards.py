"""Files of fixed boards: `{"rows", "cols", "mines", "boards": [{"first": cell, "mines": [cell, ...]}, ...]}`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...core.errors import UserError
from ...core.files import MAX_DATA_BYTES, read_regular


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
        return _boards(data, rows, cols, mine_range)
    except _Malformed as error:
        raise UserError(f"{path}: {error}") from None


class _Malformed(Exception):  # noqa: N818 - never leaves this module
    pass


@dataclass(frozen=True)
class _Size:
    rows: int
    cols: int
    mines: int


def _boards(data: Any, rows: int, cols: int, mine_range: tuple[int, int]) -> list[FixedBoard]:
    size = _Size(*(_integer(_member(data, name, "the file"), name) for name in ("rows", "cols", "mines")))
    if (size.rows, size.cols) != (rows, cols):
        raise _Malformed(f"rows, cols: a {size.rows}x{size.cols} board, but the game is played on {rows}x{cols}")
    if not mine_range[0] <= size.mines <= mine_range[1]:
        expected = " to ".join(map(str, sorted(set(mine_range))))
        raise _Malformed(f"mines: {size.mines}, but the game is played with {expected}")
    boards = _list(_member(data, "boards", "the file"), "boards")
    if not boards:
        raise _Malformed("boards: the list is empty")
    return [_board(board, f"boards[{index}]", size) for index, board in enumerate(boards)]


def _board(board: Any, place: str, size: _Size) -> FixedBoard:
    first = _cell(_member(board, "first", place), f"{place}.first", size)
    mines = _list(_member(board, "mines", place), f"{place}.mines")
    seen: set[int] = set()
    for index, mine in enumerate(mines):
        cell = _cell(mine, f"{place}.mines[{index}]", size)
        if cell in seen:
            raise _Malformed(f"{place}.mines[{index}]: {cell} is listed twice")
        if cell == first:
            raise _Malformed(f"{place}.mines[{index}]: {cell} is also the first reveal, which must be safe")
        seen.add(cell)
    if len(mines) != size.mines:
        raise _Malformed(f"{place}.mines: {len(mines)} cells, but the file announces {size.mines} mines")
    return FixedBoard(first, mines)


def _member(value: Any, name: str, place: str) -> Any:
    if not isinstance(value, dict):
        raise _Malformed(f"{place}: expected an object, found {_kind(value)}")
    if name not in value:
        raise _Malformed(f"{place}: {name!r} is missing")
    return value[name]


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise _Malformed(f"{place}: expected a list, found {_kind(value)}")
    return value


def _integer(value: Any, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Malformed(f"{place}: expected a whole number, found {_kind(value)}")
    return value


def _cell(value: Any, place: str, size: _Size) -> int:
    last = size.rows * size.cols - 1
    if not 0 <= _integer(value, place) <= last:
        raise _Malformed(f"{place}: {value} is not a cell of a {size.rows}x{size.cols} board (0..{last})")
    return int(value)


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "null"}.get(type(value), json.dumps(value))
