"""Tic-tac-toe: play or watch, and see what a table or a search thinks of every cell."""

from nicegui import ui

from src.web import shell
from src.web.lab import Lab


def page(lab: Lab) -> None:
    @ui.page(shell.TICTACTOE.path)
    async def tictactoe(x: str = "", o: str = "", values: str = "") -> None:
        from src.web.tictactoe.view import View  # brings the rules, which no other page waits for

        with shell.frame(shell.TICTACTOE):
            await View.build(lab, {"x": x, "o": o, "values": values})
