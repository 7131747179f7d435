"""The deployment wargame, for humans and agents."""

from collections.abc import Iterator, Mapping
from math import cos, pi, sin

from ..pages import PageEntry, card_picture, rule

Hexes = Mapping[tuple[int, int], str]  # the colors of some hexes, by column and row


def _hexes(cols: int, rows: int, x: int, y: int, width: int, height: int, radius: float, tints: Hexes) -> Iterator[str]:
    """Draw hexes of this radius, whose centers are this far apart, from the first one on."""
    for col in range(cols):
        for row in range(rows):
            at_x, at_y = x + width * col, y + height * row + height / 2 * (col % 2)
            around = [(at_x + radius * cos(k * pi / 3), at_y + radius * sin(k * pi / 3)) for k in range(6)]
            corners = " ".join(f"{corner_x:.1f},{corner_y:.1f}" for corner_x, corner_y in around)
            yield f'<polygon points="{corners}" fill="var({tints.get((col, row), "--board")})" stroke="var(--line)"/>'


def _board(tints: Hexes) -> str:
    return "".join(_hexes(7, 4, 26, 20, 18, 21, 11, tints))


def _unit(col: int, row: int, side: str) -> str:
    x, y = 26 + 18 * col, 20 + 21 * row + 10.5 * (col % 2)
    return f'<circle cx="{x}" cy="{y}" r="6.5" fill="var(--{side})" stroke="var(--ink)"/>'


CARD = {(0, 0): "--first", (1, 0): "--first", (5, 2): "--second", (5, 3): "--second", (3, 1): "--yellow"}
ZONE = {(col, 3): "--sky" for col in range(7)}
ARMIES = _unit(1, 3, "first") + _unit(2, 3, "first") + _unit(5, 0, "second")
SHOT = '<path d="M62 71L114 34" stroke="var(--bad)" stroke-width="3" stroke-dasharray="5 4"/>'
OBJECTIVES = {(3, 1): "--yellow", (1, 1): "--yellow", (5, 2): "--yellow"}

PAGE = PageEntry(
    package=__name__,
    title="Deployment",
    path="/deployment",
    icon="hexagon",
    order=40,
    summary="Place your warband on the hexes, then fight for the objectives.",
    picture=card_picture(_hexes(6, 4, 40, 18, 17, 20, 10.5, CARD)),
    games=True,
    rules=(
        rule(_board(ZONE) + ARMIES, "Place your units in your zone, then confirm the deployment."),
        rule(
            _board({}) + SHOT + _unit(2, 2, "first") + _unit(5, 0, "second"),
            "In battle, units move, shoot, charge and fight. Dice decide: roll to hit, to wound, to save.",
        ),
        rule(
            _board(OBJECTIVES) + _unit(3, 1, "first") + _unit(5, 2, "second"),
            "Hold the objectives to score. Most points after the last round wins.",
        ),
    ),
)
