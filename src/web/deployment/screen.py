"""The route of the page: a frame at once, and the game in it as soon as it is built."""

from functools import cache

from nicegui import ui
from starlette.requests import Request

from src.core.errors import LabError
from src.envs.deployment.game import DeploymentGame
from src.web import shell
from src.web.deployment import keys, setup
from src.web.deployment.match import Match, rehearse
from src.web.deployment.panels import NewGame
from src.web.deployment.setup import Setup
from src.web.deployment.style import CSS
from src.web.deployment.table import Table
from src.web.lab import Lab


def page(lab: Lab) -> None:
    @cache  # rules hold no state of a game, so all visitors share them
    def game_of(scenario: str, order: str, zones: str) -> DeploymentGame:
        game = setup.game_of(lab, scenario, order, zones)
        rehearse(game)
        return game

    def match_of(chosen: Setup) -> Match:
        return setup.match_of(lab, game_of(chosen.scenario, chosen.order, chosen.zones), chosen)

    @ui.page(setup.PATH)
    def deployment(request: Request) -> None:
        ui.add_css(CSS)
        ui.add_body_html(keys.SCRIPT)
        with shell.frame(shell.DEPLOYMENT):
            room = ui.element("div").classes("w-full")
        with room:
            busy = _awaited()

        async def move_in() -> None:
            chosen, match, problem = Setup(), None, ""
            try:
                chosen = setup.read(dict(request.query_params))
                match = await busy.do(match_of, chosen)
            except LabError as error:
                problem = str(error)
            room.clear()
            with room:
                new_game = NewGame(lab, chosen)
                if match is not None:
                    keys.listen(Table(match, new_game))
                else:
                    _refused(problem, new_game)

        ui.timer(0, move_in, once=True)


def _awaited() -> shell.Busy:
    """The room that the board will take, so that nothing jumps when it comes."""
    with ui.element("div").classes("dp w-full"):
        with ui.element("div").classes("dp-left"):
            ui.element("div").classes("dp-status-room")
            ui.label("Setting up the board").classes("dp-headline")
            with ui.element("div").classes("board dp-board grid place-items-center"):
                busy = shell.Busy()
        ui.element("div").classes("dp-right")
    return busy


def _refused(problem: str, new_game: NewGame) -> None:
    with ui.element("div").classes("panel mx-auto"):
        ui.label("This game cannot be set up").classes("headline")
        ui.label(problem).props('data-part="problem"')
        ui.button("Choose another", on_click=new_game.open)
