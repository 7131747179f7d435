"""Moves and positions as text.

A pawn move is its target, `e2`. A wall is the lower-left cell of the 2x2 block it divides, and `h` or `v`: `e3h` runs
above e3 and f3, `e3v` to the right of e3 and e4. A position is six words:

    e2 e9 10 9 2 d4h,e7v      pawns of player 1 and 2, walls in hand, plies played, walls on the board (- for none)
"""

import re
from collections.abc import Iterator

from ...core.errors import UserError, require
from .rules import Position

COLUMNS = "abcdefghi"
_FORM = "a position is six words such as: e2 e9 10 9 2 d4h,e7v (pawns, walls in hand, plies played, walls or -)"


def cell_name(size: int, cell: int) -> str:
    return f"{COLUMNS[cell % size]}{cell // size + 1}"


def move_name(size: int, move: int) -> str:
    """Return the name of a move on the board (not from its player's point of view)."""
    cells, side = size * size, size - 1
    if move < cells:
        return cell_name(size, move)
    kind, wall = divmod(move - cells, side * side)
    return cell_name(size, wall // side * size + wall % side) + "hv"[kind]


def parse_move(size: int, text: str) -> int:
    """Return the move with this name, whether legal or not."""
    found = re.fullmatch(r"([a-i])([1-9])([hv]?)", text)
    require(found is not None, f"{text} is not a move: expected a cell such as e2, or a wall such as e3h or e3v")
    assert found is not None
    col, row, kind = COLUMNS.index(found[1]), int(found[2]) - 1, found[3]
    most = size - 1 if kind else size
    last = f"{COLUMNS[most - 1]}{most}"
    require(col < most and row < most, f"{text} is outside the board: {'walls' if kind else 'cells'} end at {last}")
    if not kind:
        return row * size + col
    return size * size + "hv".index(kind) * most * most + row * most + col


def write_position(size: int, position: Position) -> str:
    pawns = [cell_name(size, cell) for cell in position.pawns]
    walls = sorted(move_name(size, move) for move in standing(size, position))
    words = [*pawns, *map(str, position.left), str(position.ply), ",".join(walls) or "-"]
    return " ".join(words)


def standing(size: int, position: Position) -> Iterator[int]:
    """Yield the walls on the board, as moves."""
    walls = (size - 1) ** 2
    for kind, numbers in enumerate((position.horizontal, position.vertical)):
        for wall in range(walls):
            if numbers >> wall & 1:
                yield size * size + kind * walls + wall


def read_position(size: int, text: str) -> tuple[Position, list[int]]:
    """Return a position without walls, and its walls as moves; whether it is valid is checked by the rules."""
    words = text.split()
    require(len(words) == 6, f"{len(words)} words where {_FORM}")
    cells, walls = size * size, [] if words[5] == "-" else [parse_move(size, name) for name in words[5].split(",")]
    pawns = [parse_move(size, word) for word in words[:2]]
    require(all(cell < cells for cell in pawns), f"the pawns {words[0]} {words[1]} are not cells: {_FORM}")
    require(all(wall >= cells for wall in walls), f"{words[5]} holds something that is no wall: {_FORM}")
    return Position((pawns[0], pawns[1]), (_count(words[2]), _count(words[3])), 0, 0, _count(words[4])), walls


def _count(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 6):
        raise UserError(f"{word} is not a whole number from 0 upwards: {_FORM}")
    return int(word)


def draw_board(size: int, position: Position) -> str:
    """Return the board as text, rank 1 at the bottom:

        a   b   c
      +   +   +   +
    3   .   2 | .  3      1 and 2 are the pawns; the last line has the walls in hand
      +   +   +   +
    """
    grid = [list("+   " * size + "+") if line % 2 == 0 else list("  . " * size + " ") for line in range(2 * size + 1)]
    for player, cell in enumerate(position.pawns):
        grid[2 * (cell // size) + 1][4 * (cell % size) + 2] = str(player + 1)
    for move in standing(size, position):
        kind, wall = divmod(move - size * size, (size - 1) ** 2)
        row, col = divmod(wall, size - 1)
        if kind == 0:
            grid[2 * row + 2][4 * col + 1 : 4 * col + 8] = "-" * 7
        else:
            for line in range(2 * row + 1, 2 * row + 4):
                grid[line][4 * col + 4] = "|"
    letters = "   " + "".join(f"  {column} " for column in COLUMNS[:size])
    lines = [f"{line // 2 + 1 if line % 2 else ' ':>2} {''.join(cells)}".rstrip() for line, cells in enumerate(grid)]
    hands = f"walls {position.left[0]} {position.left[1]}, ply {position.ply}, player {position.ply % 2 + 1} to move"
    return "\n".join([*reversed(lines), letters.rstrip(), hands])
