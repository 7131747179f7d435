"""The start page: a card for each game."""

from nicegui import ui

from src.web import shell
from src.web.lab import Lab
from src.web.pictures import PICTURES

WORDS = {
    shell.TICTACTOE: "Perfect play, a learned table and what it thinks of every cell.",
    shell.MINESWEEPER: "Play, see the odds of every cell, or let a solver or a network sweep.",
    shell.QUORIDOR: "Walls and pawns against a search from easy to hell, with its best lines.",
    shell.DEPLOYMENT: "Place your warband on the hexes, then fight for the objectives.",
    shell.RUNS: "Learning curves of everything that was trained here, side by side.",
}


def page(lab: Lab) -> None:
    @ui.page(shell.HOME.path)
    def start() -> None:
        with shell.frame(shell.HOME):
            ui.label("Play what was trained and what was proved here, and see what it thinks.").classes("tagline")
            with ui.element("div").classes("cards"):
                for place, words in WORDS.items():
                    _card(place, words)


def _card(place: shell.Place, words: str) -> None:
    with ui.link(target=place.path).classes("game-card"):
        ui.html(PICTURES[place], sanitize=False).classes("picture")
        ui.label(place.title).classes("headline")
        ui.label(words).classes("faint")
