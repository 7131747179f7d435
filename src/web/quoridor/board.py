"""The board as SVG text. Clickable parts have the name of their move as `data-id`.

Rank 1 is at the bottom, or at the top where the board is `turned` for player 2. Cells and grooves between them:

    +----+ +----+        A wall lies in a groove along two cells and is centered on the corner between four. The click
    | a2 | | b2 |        area of a wall is the groove up to half a cell to either side of its corner, or up to the edge
    +----+ +----+        of the board.
    ==== + ====    a1h
    +----+ +----+        Where two grooves cross, the square is split along its diagonals.
    | a1 | | b1 |
    +----+ +----+
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ...envs.quoridor.notation import COLUMNS, cell_name, move_name, parse_move, standing
from ...envs.quoridor.rules import Position

PLAYERS = ("first", "second")  # CSS classes
CELL, GROOVE = 52.0, 12.0
PITCH = CELL + GROOVE
FRAME = 34.0  # margin for file and rank names
RACK = 40.0  # margin for the walls in hand
TOUCH = 8.0  # extra click area of a groove, for touch screens


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


class BoardGeometry:
    def __init__(self, size: int, turned: bool) -> None:
        self.size, self.turned = size, turned
        side = size * PITCH - GROOVE
        self.field = Box(FRAME, RACK + FRAME, side, side)  # all cells and the grooves between them
        self.width, self.height = side + 2 * FRAME, side + 2 * FRAME + 2 * RACK

    def cell(self, cell: int) -> Box:
        row, col = divmod(cell, self.size)
        col, row = (self.size - 1 - col, row) if self.turned else (col, self.size - 1 - row)
        return Box(self.field.x + col * PITCH, self.field.y + row * PITCH, CELL, CELL)

    def wall(self, move: int) -> Box:
        x, y = self._corner(move)
        length = CELL + GROOVE / 2
        if self.is_horizontal(move):
            return Box(x - length, y - GROOVE / 2, 2 * length, GROOVE)
        return Box(x - GROOVE / 2, y - length, GROOVE, 2 * length)

    def is_horizontal(self, move: int) -> bool:
        return move < self.size**2 + (self.size - 1) ** 2

    def groove(self, move: int) -> list[tuple[float, float]]:
        """Return the outline of the click area of a wall; see the drawing above."""
        x, y = self._corner(move)
        along = self._reach(x, self.field.x) if self.is_horizontal(move) else self._reach(y, self.field.y)
        across, meet = GROOVE / 2 + TOUCH, GROOVE / 2
        before, after = along
        outline = [
            (-before, -across), (-meet - TOUCH, -across), (0.0, 0.0), (meet + TOUCH, -across), (after, -across),
            (after, across), (meet + TOUCH, across), (0.0, 0.0), (-meet - TOUCH, across), (-before, across),
        ]  # fmt: skip
        return [(x + a, y + b) if self.is_horizontal(move) else (x + b, y + a) for a, b in outline]

    def area(self, move: int) -> Box:
        """Return the larger click area of a wall in the mode of its direction."""
        x, y = self._corner(move)
        (left, right), (up, down) = self._reach(x, self.field.x), self._reach(y, self.field.y)
        return Box(x - left, y - up, left + right, up + down)

    def _corner(self, move: int) -> tuple[float, float]:
        """Return the corner between the four cells of a wall."""
        side = self.size - 1
        row, col = divmod((move - self.size**2) % side**2, side)
        here, there = self.cell(row * self.size + col).center, self.cell((row + 1) * self.size + col + 1).center
        return (here[0] + there[0]) / 2, (here[1] + there[1]) / 2

    def _reach(self, at: float, start: float) -> tuple[float, float]:
        """Return the click range before and after a corner: half way to the next one, or to the edge."""
        before, after = at - start, start + self.field.width - at
        return (before if before < PITCH else PITCH / 2), (after if after < PITCH else PITCH / 2)


class Mode(StrEnum):
    """What a click on the board means."""

    BOTH = "both"  # cells move the pawn, grooves place walls
    HORIZONTAL = "h"  # every click places a wall of this direction
    VERTICAL = "v"


@dataclass(frozen=True)
class Marks:
    turned: bool = False  # player 2 at the bottom
    mode: Mode = Mode.BOTH
    open: bool = False  # the board can be clicked
    legal: frozenset[str] = frozenset()  # names of moves
    armed: str | None = None  # the wall that a second click places
    hints: tuple[str, ...] = ()  # names of moves, best first
    paths: tuple[Sequence[int], Sequence[int]] | None = None  # cells, of both players
    last: str | None = None  # the move that led here
    origin: int | None = None  # previous cell of the pawn, to animate its move


def draw(size: int, position: Position, marks: Marks) -> str:
    geometry = BoardGeometry(size, marks.turned)
    walls = [(move, move_name(size, move)) for move in standing(size, position)]
    parts = [
        *_frame(geometry),
        *_cells(geometry, marks),
        *_racks(geometry, position, marks),
        *_paths(geometry, marks),
        *(_rect(geometry.wall(move), f"wall{' latest' * (name == marks.last)}", 3.5) for move, name in walls),
        *_pawns(geometry, position, marks),
        *_spots(geometry, marks),
        *_hints(geometry, position, marks),
    ]
    mover, width, height = PLAYERS[position.ply % 2], f"{geometry.width:g}", f"{geometry.height:g}"
    return (
        f'<svg viewBox="0 0 {width} {height}" style="--aspect: {geometry.width / geometry.height:.3f}" '
        f'class="fitted quoridor {mover}-moves{" open" if marks.open else ""} mode-{marks.mode}" role="group" '
        f'aria-label="the board">{"".join(parts)}</svg>'
    )


def _rect(box: Box, kind: str, radius: float = 0.0) -> str:
    shape = f'x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}"'
    rounded = f' rx="{radius:g}"' if radius else ""
    return f'<rect {shape}{rounded} class="{kind}"/>'


def _frame(geometry: BoardGeometry) -> Iterator[str]:
    field = geometry.field
    yield _rect(Box(0, RACK, geometry.width, geometry.width), "frame", 18)
    yield _rect(Box(field.x - 6, field.y - 6, field.width + 12, field.height + 12), "ground", 8)
    for number in range(geometry.size):
        x = geometry.cell(number).center[0]
        y = geometry.cell(number * geometry.size).center[1]
        for below in (field.y - FRAME / 2 - 3, field.y + field.height + FRAME / 2 + 3):
            yield f'<text x="{x:g}" y="{below:g}" class="name">{COLUMNS[number]}</text>'
        for beside in (FRAME / 2 - 3, geometry.width - FRAME / 2 + 3):
            yield f'<text x="{beside:g}" y="{y:g}" class="name">{number + 1}</text>'


def _cells(geometry: BoardGeometry, marks: Marks) -> Iterator[str]:
    """Yield the cells; goal rows and the target of the latest pawn move are marked."""
    for cell in range(geometry.size**2):
        box, row = geometry.cell(cell), cell // geometry.size
        yield _rect(box, "cell last" if cell_name(geometry.size, cell) == marks.last else "cell", 7)
        if row in (0, geometry.size - 1):
            y = box.y + 5 if geometry.turned == (row == 0) else box.y + CELL - 9
            yield _rect(Box(box.x + 8, y, CELL - 16, 4), f"goal {PLAYERS[row == 0]}", 2)


def _racks(geometry: BoardGeometry, position: Position, marks: Marks) -> Iterator[str]:
    """Yield the walls in hand of each player, as planks and a number; the mover's can be dragged."""
    for player, left in enumerate(position.left):
        above = (player == 1) != geometry.turned
        y = 6 if above else geometry.height - RACK + 10
        step = min(22.0, (geometry.field.width - 130) / max(left, 1))
        own = marks.open and left > 0 and player == position.ply % 2
        yield f'<g class="rack {PLAYERS[player]}{" own" if own else ""}">'
        if own:
            yield "<title>drag a wall to the board</title>"
            yield _rect(Box(geometry.field.x, y - 6, geometry.field.width, RACK - 4), "grip")
        yield _rect(Box(geometry.field.x, y, 26, 24), "tag", 12)
        yield f'<text x="{geometry.field.x + 13:g}" y="{y + 12.5:g}" class="tag-name">{player + 1}</text>'
        for number in range(left):
            yield _rect(Box(geometry.field.x + 38 + number * step, y - 1, 9, 26), "plank", 2.5)
        end = geometry.field.x + geometry.field.width
        yield f'<text x="{end:g}" y="{y + 13:g}" class="count">{left} {"wall" if left == 1 else "walls"}</text></g>'


def _paths(geometry: BoardGeometry, marks: Marks) -> Iterator[str]:
    """Yield the shortest paths, shifted so that they do not overlap."""
    for player, path in enumerate(marks.paths or ()):
        off = -5 if player == 0 else 5
        points = [(x + off, y + off) for x, y in (geometry.cell(cell).center for cell in path)]
        line = " ".join(f"{x:g},{y:g}" for x, y in points)
        yield f'<polyline points="{line}" class="path {PLAYERS[player]}"/>'
        yield f'<circle cx="{points[-1][0]:g}" cy="{points[-1][1]:g}" r="5" class="path-end {PLAYERS[player]}"/>'


def _pawns(geometry: BoardGeometry, position: Position, marks: Marks) -> Iterator[str]:
    for player, cell in enumerate(position.pawns):
        (x, y), style = geometry.cell(cell).center, ""
        if marks.origin is not None and cell_name(geometry.size, cell) == marks.last:
            from_x, from_y = geometry.cell(marks.origin).center
            style = f' style="--dx:{from_x - x:g}px;--dy:{from_y - y:g}px"'
        turn = " turn" if player == position.ply % 2 and marks.open else ""
        yield f'<g class="pawn {PLAYERS[player]}{" moved" if style else ""}{turn}"{style}>'
        yield f'<ellipse cx="{x:g}" cy="{y + 5:g}" rx="18" ry="16" class="shadow"/>'
        yield f'<circle cx="{x:g}" cy="{y:g}" r="18" class="body"/>'
        yield f'<circle cx="{x - 5:g}" cy="{y - 6:g}" r="6.5" class="shine"/>'
        yield f'<text x="{x:g}" y="{y + 0.5:g}" class="pawn-name">{player + 1}</text></g>'


def _hints(geometry: BoardGeometry, position: Position, marks: Marks) -> Iterator[str]:
    """Yield the best moves by rank, lower ranks fainter: arrows for the pawn, and walls."""
    origin = geometry.cell(position.pawns[position.ply % 2]).center
    for rank, name in reversed(list(enumerate(marks.hints, start=1))):
        move = parse_move(geometry.size, name)
        is_wall = move >= geometry.size**2
        x, y = (geometry.wall(move) if is_wall else geometry.cell(move)).center
        yield f'<g class="hint" opacity="{max(0.35, 1.15 - 0.2 * rank):g}">'
        yield _rect(geometry.wall(move), "hint-mark", 3.5) if is_wall else _arrow(origin, (x, y))
        yield f'<circle cx="{x:g}" cy="{y:g}" r="11" class="hint-tag"/>'
        yield f'<text x="{x:g}" y="{y + 0.5:g}" class="hint-rank">{rank}</text></g>'


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Draw an arrow from the edge of a pawn to the tag in a cell."""
    (x, y), (to_x, to_y) = start, end
    length = math.hypot(to_x - x, to_y - y)
    right, down = (to_x - x) / length, (to_y - y) / length  # the direction
    x, y, to_x, to_y = x + 19 * right, y + 19 * down, to_x - 12 * right, to_y - 12 * down
    base_x, base_y = to_x - 13 * right, to_y - 13 * down
    head = f"{to_x:.1f},{to_y:.1f} {base_x - 10 * down:.1f},{base_y + 10 * right:.1f} "
    head += f"{base_x + 10 * down:.1f},{base_y - 10 * right:.1f}"
    return (
        f'<path class="hint-shaft" d="M{x:.1f} {y:.1f}L{base_x:.1f} {base_y:.1f}"/>'
        f'<polygon class="hint-head" points="{head}"/>'
    )


def _spots(geometry: BoardGeometry, marks: Marks) -> Iterator[str]:
    """Yield the clickable areas, each with a preview of its move."""
    if not marks.open:
        return
    cells, walls = geometry.size**2, (geometry.size - 1) ** 2
    first = cells + walls * (marks.mode == Mode.VERTICAL)
    moves = range(cells + 2 * walls) if marks.mode == Mode.BOTH else range(first, first + walls)
    for move in moves:
        name = move_name(geometry.size, move)
        legal = name in marks.legal
        if move < cells:
            kind, label, hit = "spot", f"cell {name}", _rect(geometry.cell(move), "hit")
            at = 'cx="{:g}" cy="{:g}"'.format(*geometry.cell(move).center)
            ghost = f'<circle {at} r="9" class="dot"/><circle {at} r="18" class="ghost"/>' if legal else ""
        else:
            kind, label = "spot wall-spot", f"{'horizontal' if name[-1] == 'h' else 'vertical'} wall at {name[:-1]}"
            outline = " ".join(f"{x:g},{y:g}" for x, y in geometry.groove(move))
            is_groove = marks.mode == Mode.BOTH
            hit = f'<polygon points="{outline}" class="hit"/>' if is_groove else _rect(geometry.area(move), "hit")
            ghost = _rect(geometry.wall(move), "ghost", 3.5)
        kind += " legal" * legal + " armed" * (name == marks.armed)
        is_first = name.startswith("a1") and (move < cells or marks.mode != Mode.BOTH)  # the tab key stops there
        off = "" if legal else ' aria-disabled="true"'
        named = f'data-id="{name}" tabindex="{0 if is_first else -1}" role="button" aria-label="{label}"{off}'
        yield f'<g class="{kind}" {named}>{hit}{ghost}</g>'
