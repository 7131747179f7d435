"""The rules of the wargame in three pictures."""

from math import cos, pi, sin

from ..pages import RulePicture, rule_picture


def _hexes(tints: dict[tuple[int, int], str]) -> str:
    parts = []
    for col in range(7):
        for row in range(4):
            x, y = 26 + 18 * col, 20 + 21 * row + 10.5 * (col % 2)
            corners = " ".join(f"{x + 11 * cos(k * pi / 3):.1f},{y + 11 * sin(k * pi / 3):.1f}" for k in range(6))
            fill = tints.get((col, row), "--board")
            parts.append(f'<polygon points="{corners}" fill="var({fill})" stroke="var(--line)"/>')
    return "".join(parts)


def _unit(col: int, row: int, side: str) -> str:
    x, y = 26 + 18 * col, 20 + 21 * row + 10.5 * (col % 2)
    return f'<circle cx="{x}" cy="{y}" r="6.5" fill="var(--{side})" stroke="var(--ink)"/>'


ZONE = {(col, 3): "--sky" for col in range(7)}
ARMIES = _unit(1, 3, "first") + _unit(2, 3, "first") + _unit(5, 0, "second")
SHOT = '<path d="M62 71L114 34" stroke="var(--bad)" stroke-width="3" stroke-dasharray="5 4"/>'
OBJECTIVES = {(3, 1): "--yellow", (1, 1): "--yellow", (5, 2): "--yellow"}
RULES = (
    RulePicture(rule_picture(_hexes(ZONE) + ARMIES), "Place your units in your zone, then confirm the deployment."),
    RulePicture(
        rule_picture(_hexes({}) + SHOT + _unit(2, 2, "first") + _unit(5, 0, "second")),
        "In battle, units move, shoot, charge and fight. Dice decide: roll to hit, to wound, to save.",
    ),
    RulePicture(
        rule_picture(_hexes(OBJECTIVES) + _unit(3, 1, "first") + _unit(5, 2, "second")),
        "Hold the objectives to score. Most points after the last round wins.",
    ),
)
