"""Tic-tac-toe: play or watch, and see the value of every cell for a table or a search."""

from collections.abc import Iterable

from ..pages import PageEntry, card_picture
from .how_to_play import RULES


def _picture() -> Iterable[str]:
    for at in (64, 96):
        yield f'<path d="M{at} 6V94M36 {at - 30}H124" stroke="var(--line)" stroke-width="3"/>'
    for x, y in ((80, 50), (48, 18), (112, 82)):
        yield f'<path d="M{x - 9} {y - 9}l18 18m0-18l-18 18" stroke="var(--first)" stroke-width="5" fill="none"/>'
    for x, y in ((112, 18), (48, 82)):
        yield f'<circle cx="{x}" cy="{y}" r="10" stroke="var(--second)" stroke-width="5" fill="none"/>'


PAGE = PageEntry(
    package=__name__,
    title="Tic-tac-toe",
    path="/tictactoe",
    icon="grid_3x3",
    order=10,
    summary="Perfect play, a learned table, and its value of every cell.",
    picture=card_picture(_picture()),
    games=True,
    rules=RULES,
)
