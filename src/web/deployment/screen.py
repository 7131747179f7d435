"""Where games begin: what an address asks for is built and shown, or told why it cannot be."""

from collections.abc import Mapping
from functools import cache

from nicegui import ui

from src.core.errors import LabError
from src.envs.deployment.game import DeploymentGame
from src.web import shell
from src.web.deployment import keys, setup
from src.web.deployment.match import Match, rehearse
from src.web.deployment.panels import NewGame
from src.web.deployment.setup import Setup
from src.web.deployment.table import Table
from src.web.lab import Lab


class Hall:
    """What all visitors share."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._game_of = cache(self._new_game)  # rules hold no state of a game

    def _new_game(self, scenario: str, order: str, zones: str) -> DeploymentGame:
        game = setup.game_of(self._lab, scenario, order, zones)
        rehearse(game)
        return game

    def _match_of(self, chosen: Setup) -> Match:
        return setup.match_of(self._lab, self._game_of(chosen.scenario, chosen.order, chosen.zones), chosen)

    async def move_in(self, room: ui.element, busy: shell.Busy, query: Mapping[str, str]) -> None:
        """Put the game that a query names into a room of the page."""
        chosen, match, problem = Setup(), None, ""
        try:
            chosen = setup.read(query)
            match = await busy.do(self._match_of, chosen)
        except LabError as error:
            problem = str(error)
        room.clear()
        with room:
            new_game = NewGame(self._lab, chosen)
            if match is not None:
                keys.listen(Table(match, new_game))
            else:
                _refused(problem, new_game)


def _refused(problem: str, new_game: NewGame) -> None:
    with ui.element("div").classes("panel mx-auto"):
        ui.label("This game cannot be set up").classes("headline")
        ui.label(problem).props('data-part="problem"')
        ui.button("Choose another", on_click=new_game.open)
