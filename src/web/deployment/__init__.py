"""The deployment wargame, for humans and agents."""

from collections.abc import Iterable
from math import cos, pi, sin

from ..pages import PageEntry, card_picture
from .how_to_play import RULES


def _picture() -> Iterable[str]:
    tints = {(0, 0): "--first", (1, 0): "--first", (5, 2): "--second", (5, 3): "--second", (3, 1): "--yellow"}
    for q in range(6):
        for r in range(4):
            x, y = 40 + 17 * q, 18 + 20 * r + 10 * (q % 2)
            corners = " ".join(f"{x + 10.5 * cos(k * pi / 3):.1f},{y + 10.5 * sin(k * pi / 3):.1f}" for k in range(6))
            yield f'<polygon points="{corners}" fill="var({tints.get((q, r), "--board")})" stroke="var(--line)"/>'


PAGE = PageEntry(
    package=__name__,
    title="Deployment",
    path="/deployment",
    icon="hexagon",
    order=40,
    summary="Place your warband on the hexes, then fight for the objectives.",
    picture=card_picture(_picture()),
    games=True,
    rules=RULES,
)
