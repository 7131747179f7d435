"""Quoridor against a search, another person, or with two agents to watch."""

from collections.abc import Iterable

from ..pages import PageEntry, card_picture
from .how_to_play import RULES


def _picture() -> Iterable[str]:
    for r in range(4):
        for c in range(6):
            x, y = 21 + 20 * c, 11 + 20 * r
            yield f'<rect x="{x}" y="{y}" width="16" height="16" rx="2" fill="var(--board)" stroke="var(--line)"/>'
    for x, y, w, h in ((41, 27, 36, 4), (81, 47, 36, 4), (77, 51, 4, 36)):
        yield f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="1" fill="var(--orange)"/>'
    yield '<circle cx="69" cy="79" r="6" fill="var(--first)"/><circle cx="89" cy="19" r="6" fill="var(--second)"/>'


PAGE = PageEntry(
    package=__name__,
    title="Quoridor",
    path="/quoridor",
    icon="border_outer",
    order=30,
    summary="Walls and pawns against a search from easy to hell, with its best lines.",
    picture=card_picture(_picture()),
    games=True,
    rules=RULES,
)
