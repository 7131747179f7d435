"""The board as SVG text. Clickable parts have the name of their move as `data-id`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from src.envs.quoridor.notation import COLUMNS, Position, cell_name, move_name, standing
from src.web.quoridor.plan import CELL, FRAME, RACK, Box, Plan

PLAYERS = ("first", "second")  # CSS classes


class Mode(StrEnum):
    """What a click on the board means."""

    BOTH = "both"  # cells move the pawn, grooves place walls
    HORIZONTAL = "h"  # every click places a wall of this direction
    VERTICAL = "v"


@dataclass(frozen=True)
class Marks:
    """Marks on the board."""

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
    plan = Plan(size, marks.turned)
    parts = [
        *_frame(plan),
        *_cells(plan, marks),
        *_racks(plan, position),
        *_paths(plan, marks),
        *_walls(plan, position, marks),
        *_pawns(plan, position, marks),
        *_spots(plan, marks),
        *_hints(plan, marks),
    ]
    mover = PLAYERS[position.ply % 2]
    return (
        f'<svg viewBox="0 0 {plan.width:g} {plan.height:g}" width="{plan.width:g}" height="{plan.height:g}" '
        f'class="quoridor {mover}-moves{" open" if marks.open else ""} mode-{marks.mode}" role="img" '
        f'aria-label="the board">{"".join(parts)}</svg>'
    )


def _rect(box: Box, kind: str, radius: float = 0.0, inner: str = "") -> str:
    shape = f'x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}"'
    rounded = f' rx="{radius:g}"' if radius else ""
    return f'<rect {shape}{rounded} class="{kind}"{inner}/>'


def _frame(plan: Plan) -> Iterator[str]:
    field = plan.field
    yield _rect(Box(0, RACK, plan.width, plan.width), "frame", 18)
    yield _rect(Box(field.x - 6, field.y - 6, field.width + 12, field.height + 12), "ground", 8)
    for number in range(plan.size):
        x = plan.cell(number).center[0]
        y = plan.cell(number * plan.size).center[1]
        for below in (field.y - FRAME / 2 - 3, field.y + field.height + FRAME / 2 + 3):
            yield f'<text x="{x:g}" y="{below:g}" class="name">{COLUMNS[number]}</text>'
        for beside in (FRAME / 2 - 3, plan.width - FRAME / 2 + 3):
            yield f'<text x="{beside:g}" y="{y:g}" class="name">{number + 1}</text>'


def _cells(plan: Plan, marks: Marks) -> Iterator[str]:
    """Yield the cells; goal rows and the target of the latest pawn move are marked."""
    for cell in range(plan.size**2):
        box, row = plan.cell(cell), cell // plan.size
        yield _rect(box, "cell last" if cell_name(plan.size, cell) == marks.last else "cell", 7)
        if row in (0, plan.size - 1):
            y = box.y + 5 if plan.turned == (row == 0) else box.y + CELL - 9
            yield _rect(Box(box.x + 8, y, CELL - 16, 4), f"goal {PLAYERS[row == 0]}", 2)


def _racks(plan: Plan, position: Position) -> Iterator[str]:
    """Yield the walls in hand of each player, as planks and a number."""
    for player, left in enumerate(position.left):
        above = (player == 1) != plan.turned
        y = 6 if above else plan.height - RACK + 10
        step = min(22.0, (plan.field.width - 130) / max(left, 1))
        yield f'<g class="rack {PLAYERS[player]}">'
        yield _rect(Box(plan.field.x, y, 26, 24), "tag", 12)
        yield f'<text x="{plan.field.x + 13:g}" y="{y + 12.5:g}" class="tag-name">{player + 1}</text>'
        for number in range(left):
            yield _rect(Box(plan.field.x + 38 + number * step, y - 1, 9, 26), "plank", 2.5)
        end = plan.field.x + plan.field.width
        yield f'<text x="{end:g}" y="{y + 13:g}" class="count">{left} {"wall" if left == 1 else "walls"}</text></g>'


def _paths(plan: Plan, marks: Marks) -> Iterator[str]:
    """Yield the shortest paths, shifted so that they do not overlap."""
    for player, path in enumerate(marks.paths or ()):
        off = -5 if player == 0 else 5
        points = [(x + off, y + off) for x, y in (plan.cell(cell).center for cell in path)]
        line = " ".join(f"{x:g},{y:g}" for x, y in points)
        yield f'<polyline points="{line}" class="path {PLAYERS[player]}"/>'
        yield f'<circle cx="{points[-1][0]:g}" cy="{points[-1][1]:g}" r="5" class="path-end {PLAYERS[player]}"/>'


def _walls(plan: Plan, position: Position, marks: Marks) -> Iterator[str]:
    for move in standing(plan.size, position):
        latest = " latest" if move_name(plan.size, move) == marks.last else ""
        yield _rect(plan.wall(move), f"wall{latest}", 3.5)


def _pawns(plan: Plan, position: Position, marks: Marks) -> Iterator[str]:
    for player, cell in enumerate(position.pawns):
        (x, y), style = plan.cell(cell).center, ""
        if marks.origin is not None and cell_name(plan.size, cell) == marks.last:
            from_x, from_y = plan.cell(marks.origin).center
            style = f' style="--dx:{from_x - x:g}px;--dy:{from_y - y:g}px"'
        turn = " turn" if player == position.ply % 2 and marks.open else ""
        yield f'<g class="pawn {PLAYERS[player]}{" moved" if style else ""}{turn}"{style}>'
        yield f'<ellipse cx="{x:g}" cy="{y + 5:g}" rx="18" ry="16" class="shadow"/>'
        yield f'<circle cx="{x:g}" cy="{y:g}" r="18" class="body"/>'
        yield f'<circle cx="{x - 5:g}" cy="{y - 6:g}" r="6.5" class="shine"/>'
        yield f'<text x="{x:g}" y="{y + 0.5:g}" class="pawn-name">{player + 1}</text></g>'


def _hints(plan: Plan, marks: Marks) -> Iterator[str]:
    """Yield the best moves by rank; lower ranks are fainter."""
    moves = {move_name(plan.size, move): move for move in range(plan.size**2 + 2 * (plan.size - 1) ** 2)}
    for rank, name in reversed(list(enumerate(marks.hints, start=1))):
        move = moves[name]
        is_wall = move >= plan.size**2
        box = plan.wall(move) if is_wall else plan.cell(move)
        x, y = box.center
        yield f'<g class="hint" opacity="{max(0.35, 1.15 - 0.2 * rank):g}">'
        yield _rect(box, "hint-mark", 3.5 if is_wall else 7)
        yield f'<circle cx="{x:g}" cy="{y:g}" r="11" class="hint-tag"/>'
        yield f'<text x="{x:g}" y="{y + 0.5:g}" class="hint-rank">{rank}</text></g>'


def _spots(plan: Plan, marks: Marks) -> Iterator[str]:
    """Yield the clickable areas, each with a preview of its move."""
    if not marks.open:
        return
    cells, walls = plan.size**2, (plan.size - 1) ** 2
    if marks.mode == Mode.BOTH:
        yield from (_cell_spot(plan, cell, marks) for cell in range(cells))
        yield from (_wall_spot(plan, move, marks) for move in range(cells, cells + 2 * walls))
    else:
        first = cells if marks.mode == Mode.HORIZONTAL else cells + walls
        yield from (_wall_spot(plan, move, marks) for move in range(first, first + walls))


def _cell_spot(plan: Plan, cell: int, marks: Marks) -> str:
    name, box = cell_name(plan.size, cell), plan.cell(cell)
    x, y = box.center
    legal = name in marks.legal
    ghost = f'<circle cx="{x:g}" cy="{y:g}" r="9" class="dot"/><circle cx="{x:g}" cy="{y:g}" r="18" class="ghost"/>'
    return (
        f'<g class="spot{" legal" if legal else ""}" data-id="{name}">{_rect(box, "hit")}{ghost if legal else ""}</g>'
    )


def _wall_spot(plan: Plan, move: int, marks: Marks) -> str:
    name = move_name(plan.size, move)
    kind = "spot wall-spot" + (" legal" if name in marks.legal else "") + (" armed" if name == marks.armed else "")
    if marks.mode == Mode.BOTH:
        outline = " ".join(f"{x:g},{y:g}" for x, y in plan.groove(move))
        hit = f'<polygon points="{outline}" class="hit"/>'
    else:
        hit = _rect(plan.area(move), "hit")
    return f'<g class="{kind}" data-id="{name}">{hit}{_rect(plan.wall(move), "ghost", 3.5)}</g>'
