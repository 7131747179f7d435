"""Tic-tac-toe: play or watch, and see the value of every cell for a table or a search."""

from ..pages import PageEntry, card_picture, rule

CARD_GRID = "".join(f'<path d="M{at} 6V94M36 {at - 30}H124" stroke="var(--line)" stroke-width="3"/>' for at in (64, 96))
RULE_GRID = '<path d="M62 10V110M98 10V110M30 42H130M30 78H130" stroke="var(--closed-edge)" stroke-width="3"/>'
WIN = '<path d="M30 14L130 106" stroke="var(--green)" stroke-width="5" stroke-linecap="round"/>'


def _stones(board: str, left: int, top: int, width: int, height: int) -> str:
    """Draw X and O, from the center of the first cell on, in cells of this size."""
    parts = []
    for cell, stone in enumerate(board):
        x, y = left + width * (cell % 3), top + height * (cell // 3)
        if stone == "X":
            cross = f"M{x - 9} {y - 9}l18 18m0-18l-18 18"
            parts.append(f'<path d="{cross}" stroke="var(--first)" stroke-width="5" fill="none"/>')
        elif stone == "O":
            parts.append(f'<circle cx="{x}" cy="{y}" r="10" stroke="var(--second)" stroke-width="5" fill="none"/>')
    return "".join(parts)


def _board(board: str) -> str:
    return RULE_GRID + _stones(board, 44, 26, 36, 34)


PAGE = PageEntry(
    package=__name__,
    title="Tic-tac-toe",
    path="/tictactoe",
    icon="grid_3x3",
    order=10,
    summary="Perfect play, a learned table, and its value of every cell.",
    picture=card_picture([CARD_GRID, _stones("X.O.X.O.X", 48, 18, 32, 32)]),
    games=True,
    rules=(
        rule(_board("....X...O"), "X and O take turns. Each turn takes one free cell."),
        rule(_board("X.O.X.O.X") + WIN, "Three in a row wins: across, down or diagonally."),
        rule(_board("XOXXOOOXX"), "A full board without three in a row is a draw."),
    ),
)
