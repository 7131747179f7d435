"""The deployment wargame, for humans and agents."""

from collections.abc import Mapping
from math import cos, pi, sin

from ..pages import PageEntry, card_picture, rule


def _board(tints: Mapping[tuple[int, int], str]) -> str:
    """Draw 7 by 4 hexes, some of them in colors by column and row."""
    parts = []
    for col in range(7):
        for row in range(4):
            x, y = 26 + 18 * col, 20 + 21 * row + 10.5 * (col % 2)
            around = [(x + 11 * cos(k * pi / 3), y + 11 * sin(k * pi / 3)) for k in range(6)]
            corners = " ".join(f"{corner_x:.1f},{corner_y:.1f}" for corner_x, corner_y in around)
            fill = tints.get((col, row), "--board")
            parts.append(f'<polygon points="{corners}" fill="var({fill})" stroke="var(--line)"/>')
    return "".join(parts)


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
    picture=card_picture([f'<g transform="translate(4 0) scale(.95)">{_board(CARD)}</g>']),
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
