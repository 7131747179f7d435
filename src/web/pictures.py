"""A small picture of each place for the start page, in the colours of the theme."""

from collections.abc import Iterable
from math import cos, pi, sin

from src.web import shell


def _svg(*parts: str) -> str:
    body = "".join(parts)
    return f'<svg viewBox="0 0 160 100" width="100%" role="img" aria-hidden="true">{body}</svg>'


def _tictactoe() -> Iterable[str]:
    for at in (64, 96):
        yield f'<path d="M{at} 6V94M36 {at - 30}H124" stroke="var(--line)" stroke-width="3"/>'
    for x, y in ((80, 50), (48, 18), (112, 82)):
        yield f'<path d="M{x - 9} {y - 9}l18 18m0-18l-18 18" stroke="var(--first)" stroke-width="5" fill="none"/>'
    for x, y in ((112, 18), (48, 82)):
        yield f'<circle cx="{x}" cy="{y}" r="10" stroke="var(--second)" stroke-width="5" fill="none"/>'


def _minesweeper() -> Iterable[str]:
    rows = ("##11.", "#211.", "#2.11", "112##")
    for r, row in enumerate(rows):
        for c, cell in enumerate(row):
            x, y = 30 + 20 * c, 10 + 20 * r
            fill = "var(--closed)" if cell == "#" else "var(--cell)"
            yield f'<rect x="{x}" y="{y}" width="19" height="19" rx="3" fill="{fill}" stroke="var(--line)"/>'
            if cell in "12":
                ink = "var(--blue)" if cell == "1" else "var(--green)"
                yield f'<text x="{x + 9.5}" y="{y + 15}" font-size="13" font-weight="700" text-anchor="middle" '
                yield f'fill="{ink}">{cell}</text>'
    yield '<path d="M37 35v10m0-10l8 3-8 3z" fill="var(--vermillion)" stroke="var(--ink)"/>'


def _quoridor() -> Iterable[str]:
    for r in range(4):
        for c in range(6):
            x, y = 21 + 20 * c, 11 + 20 * r
            yield f'<rect x="{x}" y="{y}" width="16" height="16" rx="2" fill="var(--board)" stroke="var(--line)"/>'
    for x, y, w, h in ((41, 27, 36, 4), (81, 47, 36, 4), (77, 51, 4, 36)):
        yield f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="1" fill="var(--orange)"/>'
    yield '<circle cx="69" cy="79" r="6" fill="var(--first)"/><circle cx="89" cy="19" r="6" fill="var(--second)"/>'


def _deployment() -> Iterable[str]:
    tints = {(0, 0): "--first", (1, 0): "--first", (5, 2): "--second", (5, 3): "--second", (3, 1): "--yellow"}
    for q in range(6):
        for r in range(4):
            x, y = 40 + 17 * q, 18 + 20 * r + 10 * (q % 2)
            corners = " ".join(f"{x + 10.5 * cos(k * pi / 3):.1f},{y + 10.5 * sin(k * pi / 3):.1f}" for k in range(6))
            yield f'<polygon points="{corners}" fill="var({tints.get((q, r), "--board")})" stroke="var(--line)"/>'


def _runs() -> Iterable[str]:
    yield '<path d="M22 8V88H146" stroke="var(--faint)" stroke-width="2" fill="none"/>'
    yield '<path d="M22 84C52 80 54 30 84 24S128 16 146 14" stroke="var(--blue)" stroke-width="4" fill="none"/>'
    yield '<path d="M22 86C70 84 72 62 98 48S130 34 146 32" stroke="var(--orange)" stroke-width="4" fill="none"/>'


PICTURES = {
    shell.TICTACTOE: _svg(*_tictactoe()),
    shell.MINESWEEPER: _svg(*_minesweeper()),
    shell.QUORIDOR: _svg(*_quoridor()),
    shell.DEPLOYMENT: _svg(*_deployment()),
    shell.RUNS: _svg(*_runs()),
}
