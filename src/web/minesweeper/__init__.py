"""Minesweeper: play, see mine probabilities, get hints, watch agents, and analyze positions."""

from collections.abc import Iterable

from ..pages import PageEntry, card_picture, rule

INKS = {"1": "var(--link)", "2": "var(--good)", "3": "var(--bad)"}


def _card() -> Iterable[str]:
    for r, row in enumerate(("##11.", "#211.", "#2.11", "112##")):
        for c, cell in enumerate(row):
            x, y = 30 + 20 * c, 10 + 20 * r
            fill = "var(--closed)" if cell == "#" else "var(--cell)"
            yield f'<rect x="{x}" y="{y}" width="19" height="19" rx="3" fill="{fill}" stroke="var(--line)"/>'
            if cell in "12":
                ink = "var(--blue)" if cell == "1" else "var(--green)"
                yield f'<text x="{x + 9.5}" y="{y + 15}" font-size="13" font-weight="700" text-anchor="middle" '
                yield f'fill="{ink}">{cell}</text>'
    yield '<path d="M37 35v10m0-10l8 3-8 3z" fill="var(--vermillion)" stroke="var(--ink)"/>'


def _cells(*rows: str) -> str:
    """Draw cells: # hidden, F flag, * mine, or a number; . is an open cell without mines around it."""
    parts = []
    for row, signs in enumerate(rows):
        for col, sign in enumerate(signs):
            x, y = 80 - 15 * len(signs) + 30 * col, 15 + 30 * row
            fill = "var(--closed)" if sign in "#F" else "var(--cell)"
            parts.append(f'<rect x="{x}" y="{y}" width="29" height="29" rx="4" fill="{fill}" stroke="var(--line)"/>')
            if sign in INKS:
                parts.append(
                    f'<text x="{x + 14.5}" y="{y + 21}" font-size="19" font-weight="700" text-anchor="middle" '
                    f'fill="{INKS[sign]}">{sign}</text>'
                )
            elif sign == "F":
                flag = f"M{x + 11} {y + 6}v18m0-18l10 4.5-10 4.5z"
                parts.append(f'<path d="{flag}" fill="var(--bad)" stroke="var(--ink)"/>')
            elif sign == "*":
                parts.append(f'<circle cx="{x + 14.5}" cy="{y + 14.5}" r="8" fill="var(--bad)" stroke="var(--ink)"/>')
    return "".join(parts)


PAGE = PageEntry(
    package=__name__,
    title="Minesweeper",
    path="/minesweeper",
    icon="flag",
    order=20,
    summary="Play, see the odds of every cell, or watch a solver or a network.",
    picture=card_picture(_card()),
    games=True,
    rules=(
        rule(_cells("#1.", "#21", "##1"), "A number counts the mines in the cells around it."),
        rule(_cells("F1.", "121", ".1F"), "Mark a mine with a flag: right click, long press or F."),
        rule(
            _cells("#1.", "*21", "##1"), "Reveal every safe cell to win. A mine loses. The first reveal is always safe."
        ),
    ),
)
