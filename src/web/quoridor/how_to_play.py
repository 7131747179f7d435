"""The rules of Quoridor in three pictures."""

from ..pages import RulePicture, rule_picture

CELLS = "".join(
    f'<rect x="{18 + 25 * col}" y="{11 + 25 * row}" width="21" height="21" rx="3" fill="var(--board)" '
    'stroke="var(--line)"/>'
    for row in range(4)
    for col in range(5)
)


def _pawn(col: int, row: int, side: str) -> str:
    return f'<circle cx="{28.5 + 25 * col}" cy="{21.5 + 25 * row}" r="8" fill="var(--{side})"/>'


def _wall(col: int, row: int, across: bool = True) -> str:
    """Draw a wall from the corner between four cells, two cells long."""
    x, y = 39 + 25 * col, 32 + 25 * row
    box = (x - 21, y, 46, 4) if across else (x, y - 21, 4, 46)
    return '<rect x="{}" y="{}" width="{}" height="{}" rx="1.5" fill="var(--orange)"/>'.format(*box)


def _arrow(path: str) -> str:
    return f'<path d="{path}" fill="none" stroke="var(--green)" stroke-width="3.5" stroke-linecap="round"/>'


RULES = (
    RulePicture(
        rule_picture(CELLS + _pawn(2, 3, "first") + _pawn(2, 0, "second") + _arrow("M78 82V52m-5 7l5-7 5 7")),
        "Each turn, move your pawn one cell or place a wall. Reach the far side first to win.",
    ),
    RulePicture(
        rule_picture(CELLS + _pawn(2, 3, "first") + _pawn(2, 0, "second") + _wall(1, 0) + _wall(2, 1, across=False)),
        "A wall is two cells long. Walls cannot cross, and must leave each player a way.",
    ),
    RulePicture(
        rule_picture(CELLS + _pawn(2, 2, "first") + _pawn(2, 1, "second") + _arrow("M92 68V24m-5 7l5-7 5 7")),
        "Face to face, you may jump over the other pawn; if a wall is behind it, step to its side.",
    ),
)
