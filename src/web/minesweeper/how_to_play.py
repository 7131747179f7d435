"""The rules of Minesweeper in three pictures."""

from ..pages import RulePicture, rule_picture

INKS = {"1": "var(--link)", "2": "var(--good)", "3": "var(--bad)"}


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


RULES = (
    RulePicture(rule_picture(_cells("#1.", "#21", "##1")), "A number counts the mines in the cells around it."),
    RulePicture(rule_picture(_cells("F1.", "121", ".1F")), "Mark a mine with a flag: right click, long press or F."),
    RulePicture(
        rule_picture(_cells("#1.", "*21", "##1")),
        "Reveal every safe cell to win. A mine loses. The first reveal is always safe.",
    ),
)
