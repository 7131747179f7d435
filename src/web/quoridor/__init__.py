"""Quoridor against a search, another person, or with two agents to watch."""

from ..pages import PageEntry, card_picture, rule

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


CARD = CELLS + _wall(0, 0) + _wall(2, 1) + _wall(2, 2, across=False) + _pawn(2, 3, "first") + _pawn(3, 0, "second")

PAGE = PageEntry(
    package=__name__,
    title="Quoridor",
    path="/quoridor",
    icon="border_outer",
    order=30,
    summary="Walls and pawns against a search from easy to hell, with its best lines.",
    picture=card_picture([f'<g transform="translate(10 0) scale(.89)">{CARD}</g>']),
    games=True,
    rules=(
        rule(
            CELLS + _pawn(2, 3, "first") + _pawn(2, 0, "second") + _arrow("M78 82V52m-5 7l5-7 5 7"),
            "Each turn, move your pawn one cell or place a wall. Reach the far side first to win.",
        ),
        rule(
            CELLS + _pawn(2, 3, "first") + _pawn(2, 0, "second") + _wall(1, 0) + _wall(2, 1, across=False),
            "A wall is two cells long. Walls cannot cross, and must leave each player a way.",
        ),
        rule(
            CELLS + _pawn(2, 2, "first") + _pawn(2, 1, "second") + _arrow("M92 68V24m-5 7l5-7 5 7"),
            "Face to face, you may jump over the other pawn; if a wall is behind it, step to its side.",
        ),
    ),
)
