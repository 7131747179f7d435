"""The rules of tic-tac-toe in three pictures."""

from ..pages import RulePicture, rule_picture

GRID = '<path d="M62 10V110M98 10V110M30 42H130M30 78H130" stroke="var(--closed-edge)" stroke-width="3"/>'
CENTERS = [(44 + 36 * col, 26 + 34 * row) for row in range(3) for col in range(3)]


def _stones(board: str) -> str:
    parts = []
    for stone, (x, y) in zip(board, CENTERS, strict=True):
        if stone == "X":
            parts.append(f'<path d="M{x - 9} {y - 9}l18 18m0-18l-18 18" stroke="var(--first)" stroke-width="5"/>')
        elif stone == "O":
            parts.append(f'<circle cx="{x}" cy="{y}" r="10" stroke="var(--second)" stroke-width="5" fill="none"/>')
    return GRID + "".join(parts)


WIN = '<path d="M30 14L130 106" stroke="var(--green)" stroke-width="5" stroke-linecap="round"/>'
RULES = (
    RulePicture(rule_picture(_stones("....X...O")), "X and O take turns. Each turn takes one free cell."),
    RulePicture(rule_picture(_stones("X.O.X.O.X") + WIN), "Three in a row wins: across, down or diagonally."),
    RulePicture(rule_picture(_stones("XOXXOOOXX")), "A full board without three in a row is a draw."),
)
