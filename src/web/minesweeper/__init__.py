"""Minesweeper: play, see mine probabilities, get hints, watch agents, and analyze positions."""

from ..pages import PageEntry, card_picture, rule

INKS = {"1": "var(--link)", "2": "var(--good)", "3": "var(--bad)"}


def _cells(*rows: str, size: int = 30, top: int = 15) -> str:
    """Draw cells: # hidden, F flag, * mine, or a number; . is an open cell without mines around it."""
    parts = []
    for row, signs in enumerate(rows):
        for col, sign in enumerate(signs):
            parts.append(
                f'<g transform="translate({80 - size * len(signs) / 2 + size * col:g} {top + size * row}) '
                f'scale({size / 30:.3g})"><rect width="29" height="29" rx="4" stroke="var(--line)" '
                f'fill="var({"--closed" if sign in "#F" else "--cell"})"/>'
            )
            if sign in INKS:
                parts.append(
                    '<text x="14.5" y="21" font-size="19" font-weight="700" text-anchor="middle" '
                    f'fill="{INKS[sign]}">{sign}</text>'
                )
            elif sign == "F":
                parts.append('<path d="M11 6v18m0-18l10 4.5-10 4.5z" fill="var(--bad)" stroke="var(--ink)"/>')
            elif sign == "*":
                parts.append('<circle cx="14.5" cy="14.5" r="8" fill="var(--bad)" stroke="var(--ink)"/>')
            parts.append("</g>")
    return "".join(parts)


PAGE = PageEntry(
    package=__name__,
    title="Minesweeper",
    path="/minesweeper",
    icon="flag",
    order=20,
    summary="Play, see the odds of every cell, or watch a solver or a network.",
    picture=card_picture([_cells("##11.", "F211.", "#2.11", "112##", size=20, top=10)]),
    games=True,
    rules=(
        rule(_cells("#1.", "#21", "##1"), "A number counts the mines in the cells around it."),
        rule(_cells("F1.", "121", ".1F"), "Mark a mine with a flag: right click, long press or F."),
        rule(
            _cells("#1.", "*21", "##1"), "Reveal every safe cell to win. A mine loses. The first reveal is always safe."
        ),
    ),
)
