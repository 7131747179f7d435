"""Build and show the match named by a URL, or the reason why it is invalid."""

from functools import cache

from nicegui import ui
from starlette.requests import Request

from ...core.errors import UserError
from ...envs.deployment.game import DeploymentGame
from .. import shell
from ..game_page import saved_game
from ..lab import Lab
from ..saved_games import SavedGame
from . import PAGE, setup
from .match import DeploymentMatch, warm_up
from .match_page import DeploymentPage
from .panels import NewGame
from .setup import Setup


@cache
def _prepared_game(lab: Lab, scenario: str, order: str, zones: str, people: tuple[int, ...]) -> DeploymentGame:
    """Cached for all visitors: rules are stateless."""
    game = setup.game_of(lab, scenario, order, zones, people)
    warm_up(game)
    return game


def _new_match(lab: Lab, chosen: Setup, saved: SavedGame | None) -> DeploymentMatch:
    game = _prepared_game(lab, chosen.scenario, chosen.order, chosen.zones, chosen.people)
    return setup.match_of(lab, game, chosen if saved is None else setup.read({**saved.setup, "seed": str(saved.start)}))


def prepare(lab: Lab) -> None:
    _new_match(lab, Setup(), None)


async def show_match(lab: Lab, box: ui.element, busy: shell.Busy, request: Request) -> None:
    """Show the match of a URL in an element of the page."""
    chosen, match, saved, problem = Setup(), None, None, ""
    try:
        saved = await busy.do(saved_game, lab, PAGE.path, request)
        chosen = setup.read(saved.setup if saved else request.query_params)
        match = await busy.do(_new_match, lab, chosen, saved)
    except UserError as error:
        problem = str(error)
    box.clear()
    with box:
        new_game = NewGame(lab, chosen)
        if match is not None:
            page = DeploymentPage(lab, match, new_game, saved)
            ui.on("dp-key", lambda event: page.on_key(event.args))
            with shell.show_errors():
                await page.open()
        else:
            _refused(problem, new_game)


def _refused(problem: str, new_game: NewGame) -> None:
    with ui.element("div").classes("panel mx-auto"):
        ui.label("This game cannot be set up").classes("headline")
        ui.label(problem).props('data-part="problem"')
        ui.button("Choose another", on_click=new_game.open)
