"""A board of tic-tac-toe as SVG text."""

from collections.abc import Mapping
from typing import NamedTuple

from ...envs.tictactoe.rules import EMPTY, LINES

SIZE = 100  # of a cell
SIDE, LARGEST = 3 * SIZE, 780
GRID = "".join(f'<path class="grid" d="M{at} 8V{SIDE - 8}M8 {at}H{SIDE - 8}"/>' for at in (SIZE, 2 * SIZE))


class CellValue(NamedTuple):
    score: str  # win, draw or loss, or a number
    best: bool  # no cell has a higher value

    @property
    def tone(self) -> str:
        for sign, tone in (("win", "good"), ("draw", "even"), ("loss", "bad")):
            if self.score.startswith(sign):
                return tone
        number = float(self.score)
        return "even" if number == 0 else "good" if number > 0 else "bad"


def draw(state: str, last: int | None = None, values: Mapping[int, CellValue] | None = None) -> str:
    """Draw the position with the latest move highlighted and the values of free cells."""
    cells = [_cell(state, cell, cell == last, (values or {}).get(cell)) for cell in range(9)]
    parts = [f'<g role="row">{"".join(cells[row : row + 3])}</g>' for row in (0, 3, 6)] + [GRID]
    for a, b, c in LINES:  # one stone can complete two rows
        if state[a] != EMPTY and state[a] == state[b] == state[c]:
            (x1, y1), (x2, y2) = _center(a), _center(c)
            dx, dy = (x2 - x1) * 0.2, (y2 - y1) * 0.2
            parts.append(f'<path class="row" d="M{x1 - dx:g} {y1 - dy:g}L{x2 + dx:g} {y2 + dy:g}"/>')
    return (
        f'<svg class="ttt fitted" viewBox="0 0 {SIDE} {SIDE}" role="grid" style="--aspect: 1; max-width: {LARGEST}px" '
        f'aria-label="the board">{"".join(parts)}</svg>'
    )


def draw_small(state: str) -> str:
    """Draw a small position that is not clickable."""
    cells = "".join(_stone(state[cell], *_center(cell)) for cell in range(9) if state[cell] != EMPTY)
    return f'<svg class="ttt" viewBox="0 0 {SIDE} {SIDE}" width="72" height="72">{GRID}{cells}</svg>'


def _center(cell: int) -> tuple[int, int]:
    return cell % 3 * SIZE + SIZE // 2, cell // 3 * SIZE + SIZE // 2


def _stone(stone: str, x: int, y: int) -> str:
    if stone == "X":
        return f'<path class="x" d="M{x - 25} {y - 25}l50 50m0 -50l-50 50"/>'
    return f'<circle class="o" cx="{x}" cy="{y}" r="27"/>'


def _cell(state: str, cell: int, last: bool, value: CellValue | None) -> str:
    x, y = _center(cell)
    parts = [f'<rect class="{"last" if last else "field"}" x="{x - 44}" y="{y - 44}" width="88" height="88" rx="10"/>']
    if state[cell] != EMPTY:
        parts.append(_stone(state[cell], x, y))
    else:
        parts.append(f'<text class="key" x="{x - 34}" y="{y - 24}">{cell + 1}</text>')
        if value is not None:
            if value.best:
                parts.append(f'<rect class="best" x="{x - 40}" y="{y - 40}" width="80" height="80" rx="10"/>')
            style = f'class="value {value.tone}" font-size="{15 if len(value.score) > 6 else 20}"'
            parts.append(f'<text {style} text-anchor="middle" x="{x}" y="{y + 8}">{value.score}</text>')
    label = f"cell {cell + 1}, {'free' if state[cell] == EMPTY else state[cell]}"
    return (
        f'<g data-id="cell-{cell}" tabindex="{-1 if cell else 0}" role="gridcell" aria-label="{label}">'
        f"{''.join(parts)}</g>"
    )
