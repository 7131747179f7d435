"""Minesweeper: play, see mine probabilities, get hints, watch agents, and analyse positions."""

from collections.abc import Iterable

from ..pages import PageEntry, card_picture
from .how_to_play import RULES


def _picture() -> Iterable[str]:
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


PAGE = PageEntry(
    package=__name__,
    title="Minesweeper",
    path="/minesweeper",
    icon="flag",
    order=20,
    summary="Play, see the odds of every cell, or watch a solver or a network.",
    picture=card_picture(_picture()),
    games=True,
    rules=RULES,
)
