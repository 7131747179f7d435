"""Play any game by its picture, or else its text, and its list of legal moves."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from html import escape
from typing import Any

from nicegui import ui
from starlette.requests import Request

from ...core.errors import UserError
from ...core.play.agent import OpponentPool, SelfPlay
from ...core.play.game import Game
from ...core.runs.index.playable import finished_runs
from .. import shell
from ..clickable import LEFT, Clickable, Pick, parse_id
from ..event_loop import in_thread
from ..game_page import GamePage, Visit, read_visit
from ..match import SeededMatch, move_name
from ..players import HUMAN_PLAYER, YOU, AgentCache, Player, general_players, search_comment, trained_players
from ..services import Services

GameMatch = SeededMatch[Any, int, Mapping[str, Any]]
SEATS = ("first", "second")
DEFAULTS = {"first": YOU, "second": "random"}


async def build(services: Services, request: Request) -> None:
    """Build the page of the environment named by the path: /play/<env>, or /play/<env>/<key of a game>."""
    _, folder, env, *_ = request.url.path.split("/")
    path = f"/{folder}/{env}"
    visit = await in_thread(read_visit, services, path, request)
    game, agents = await in_thread(_game_and_agents, services, env)
    runs = [run for run in await in_thread(finished_runs, services.folders) if run.env == env]
    players = {YOU: HUMAN_PLAYER, **agents, **trained_players(runs)}
    ui.timer(0, GenericPage(visit, path, game, players).open, once=True)


@cache
def _game_and_agents(services: Services, env: str) -> tuple[Game, dict[str, Player]]:
    """Cached for all visitors: rules are stateless."""
    game = services.game(env)
    return game, fitting_players(services, game)


def fitting_players(services: Services, game: Game) -> dict[str, Player]:
    """Return a player for each agent in conf/agent that can play the game with its defaults."""
    players = general_players()
    named = {player.agent for player in players.values()}
    agents = services.agents
    players |= {name: Player(name.replace("_", " ").capitalize(), name) for name in agents if name not in named}
    able = set()
    for name in agents:
        with suppress(UserError):  # it cannot play this game
            if not isinstance(services.agent(name, game), SelfPlay | OpponentPool):  # for training only
                able.add(name)
    return {key: player for key, player in players.items() if player.agent in able}


class GenericPage(GamePage[GameMatch]):
    reply_delay = 0.2

    def __init__(self, visit: Visit, path: str, game: Game, players: Mapping[str, Player]) -> None:
        self.game, self.seats, self.path = game, SEATS[: game.players], path
        super().__init__(visit, players, {name: DEFAULTS[name] for name in self.seats})
        self.agents = AgentCache(visit.services, game, players)
        self.match = self.new_match()
        self.add_layout()
        with self.stage:
            self.board = ui.html(sanitize=False)
        self.add_match_actions()
        with self.actions:
            self.legal = Clickable("", self.pick_move).classes("w-full")
        with self.details:
            for number, name in enumerate(self.seats, 1):
                self.dropdown(name, self.titles, f"Player {number}")
            ui.label("Moves: click one to see its position").classes("faint")
            self.moves = Clickable("", self.pick_ply).classes("w-full")
            shell.add_keys({"U": "take back", "N": "new game", "[ ]": "look back and forward"})
        ui.keyboard(self.key)

    def new_match(self) -> GameMatch:
        self.rng = self.services.rng()
        return SeededMatch(self.game, self.rng, self.human_seats)

    async def pick_move(self, pick: Pick) -> None:
        if pick.button != LEFT or self.match.is_over or self.ply is not None:
            return
        action = parse_id(pick.part, "move", self.game.num_actions)
        self.require_human_turn()
        await self.play(action)

    async def show(self, moved: bool = False) -> None:
        self.show_match_panel(search_comment(self.match.notes[self.now - 1]) if self.now > 0 else "")
        self.moves.draw(move_list(self.match, self.now))
        self.board.set_content(board(self.game, self.state))
        game, state = self.game, self.match.state
        legal = game.legal_actions(game.view(state)) if self.human_to_move else []
        buttons = [(f"move-{action}", "", move_name(game, state, action)) for action in legal]
        self.legal.draw(_buttons("gp-legal", buttons) if buttons else "")


def board(game: Game, state: Any) -> str:
    """Return the position as HTML: the picture of the game, or its text if it draws none."""
    text = escape(game.render(state))
    if type(game).image is Game.image:
        return f'<pre class="gp-text">{text}</pre>'
    picture = game.image(state)
    size, source = f"--aspect: {picture.shape[1] / picture.shape[0]:.4f}", shell.data_address(shell.as_png(picture))
    return f'<img class="gp-picture lab-drawn fitted" style="{size}" src="{source}" alt="{text}">'


def move_list(match: GameMatch, now: int) -> str:
    """Return the moves as HTML, the one before the position shown in bold."""
    seats = [match.game.to_move(match.at(ply)) for ply in range(len(match.moves))]
    rows = []
    for number, (seat, name) in enumerate(zip(seats, match.names(), strict=True), 1):
        rows.append((f"ply-{number}", SEATS[seat] + " here" * (number == now), f"{number}. {name}"))
    return _buttons("gp-moves", rows)


def _buttons(kind: str, rows: Sequence[tuple[str, str, str]]) -> str:
    buttons = (f'<button data-id="{key}" class="{style}">{escape(text)}</button>' for key, style, text in rows)
    return f'<div class="{kind}">{"".join(buttons)}</div>'
