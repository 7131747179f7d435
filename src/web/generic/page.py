"""Play any game by its text rendering and its list of legal moves."""

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from nicegui import ui
from starlette.requests import Request

from ...core.errors import UserError
from ...core.play.agent import OpponentPool, SelfPlay
from ...core.play.game import Game
from .. import shell
from ..drawing import LEFT, Drawing, Pick, numbered
from ..ending import Ending, HistoryBar
from ..game_page import GamePage, saved_game
from ..lab import Lab, finished_runs
from ..match import SeededMatch, move_name
from ..players import HUMAN_PLAYER, YOU, AgentCache, Player, general_players, trained_players
from ..remarks import search_remark
from ..saved_games import SavedGame
from ..turns import in_thread

GameMatch = SeededMatch[Any, int, Mapping[str, Any]]
SEATS = ("first", "second")
DEFAULTS = {"first": YOU, "second": "random"}
WATCHING, REPLY = 0.7, 0.2  # seconds before an agent moves: if only agents play, and in reply to a person

STYLE = """
.gp-text { font-family: monospace; font-size: 1.25rem; line-height: 1.4; margin: 0; white-space: pre; }
.gp-legal, .gp-moves { display: flex; flex-wrap: wrap; gap: .3rem; max-height: 16rem; overflow: auto; }
.gp-legal button, .gp-moves button { padding: .2rem .55rem; border: 1px solid var(--line); border-radius: .4rem;
  background: var(--board); color: var(--ink); font-variant-numeric: tabular-nums; }
.gp-legal button:hover, .gp-legal button:focus-visible { border-color: var(--blue); }
.gp-moves .first { border-color: var(--first); } .gp-moves .second { border-color: var(--second); }
.gp-moves .here { font-weight: 700; background: var(--cell); }
"""


async def build(lab: Lab, request: Request) -> None:
    """Build the page of the environment named by the path: /play/<env>, or /play/<env>/<key of a game>."""
    _, folder, env, *_ = request.url.path.split("/")
    path = f"/{folder}/{env}"
    saved = await in_thread(saved_game, lab, path, request)
    game, players = await in_thread(_prepare, lab, env)
    page = GenericPage(lab, game, players, request.query_params, path, saved)
    ui.timer(0, shell.handler(page.open), once=True)


def _prepare(lab: Lab, env: str) -> tuple[Game, dict[str, Player]]:
    game, agents = _game_and_agents(lab, env)
    runs = [run for run in finished_runs(lab.folders) if run.env == env]
    return game, {YOU: HUMAN_PLAYER, **agents, **trained_players(runs)}


@cache
def _game_and_agents(lab: Lab, env: str) -> tuple[Game, dict[str, Player]]:
    """Cached for all visitors: rules are stateless."""
    game = lab.game(env)
    return game, fitting_players(lab, game)


def fitting_players(lab: Lab, game: Game) -> dict[str, Player]:
    """Return a player for each agent in conf/agent that can play the game with its defaults."""
    players = general_players()
    named = {player.agent for player in players.values()}
    players |= {name: Player(name.replace("_", " ").capitalize(), name) for name in lab.agents if name not in named}
    able = {name for name in lab.agents if _can_play(lab, name, game)}
    return {key: player for key, player in players.items() if player.agent in able}


def _can_play(lab: Lab, name: str, game: Game) -> bool:
    try:
        return not isinstance(lab.agent(name, game), SelfPlay | OpponentPool)  # for training only
    except UserError:
        return False


class GenericPage(GamePage[GameMatch]):
    def __init__(
        self,
        lab: Lab,
        game: Game,
        players: Mapping[str, Player],
        query: Mapping[str, str],
        path: str = "",
        saved: SavedGame | None = None,
    ) -> None:
        self.game, self.seats, self.path = game, SEATS[: game.players], path
        super().__init__(lab, players, {name: DEFAULTS[name] for name in self.seats}, query, saved)
        self.agents = AgentCache(lab, game, players)
        self.match = self.new_match()
        self.shortcuts = {
            "u": self.take_back,
            "n": self.new_game,
            "[": lambda: self.look_by(-1),
            "]": lambda: self.look_by(1),
        }
        self._layout()

    def new_match(self) -> GameMatch:
        self.rng = self.lab.rng()
        return SeededMatch(self.game, self.rng, self.human_seats)

    def _layout(self) -> None:
        shell.add_style(STYLE)
        with ui.element("div").classes("bench"):
            with ui.element("div").classes("board"):
                self.board = ui.html(sanitize=False)
            with ui.element("div").classes("panel"):
                with ui.row().classes("items-center w-full no-wrap"):
                    self.title = ui.label().classes("headline grow")
                    self.busy = shell.Busy()
                shell.MessageLine()
                self.ending = Ending(self.new_game, self.review)
                self.history = HistoryBar(self)
                for number, name in enumerate(self.seats, 1):
                    self.dropdown(name, self.titles, f"Player {number}")
                with ui.row():
                    ui.button("New game", icon="replay", on_click=shell.handler(self.new_game)).classes("new-game")
                    undo = ui.button("Take back", icon="undo", on_click=shell.handler(self.take_back))
                    undo.props("outline").classes("undo")
                self.remark = ui.label().classes("faint gp-remark")
                ui.label("Legal moves").classes("faint")
                self.legal = Drawing("", self.pick_move).classes("w-full")
                ui.label("Moves: click one to see its position").classes("faint")
                self.moves = Drawing("", self.pick_ply).classes("w-full")
                ui.label("Keys: U takes back, N starts a new game, [ and ] look back and forward.").classes("faint")
        ui.keyboard(self.key)

    @property
    def delay(self) -> float:
        return REPLY if self.human_seats else WATCHING

    async def pick_move(self, pick: Pick) -> None:
        if pick.button != LEFT or self.match.is_over or self.ply is not None:
            return
        action = numbered(pick.part, "move", self.game.num_actions)
        self.require_human_turn()
        await self.play(action)

    async def show(self, moved: bool = False) -> None:
        self.title.text = self.headline()
        self.ending.show(self.result)
        self.history.show(self.now, len(self.match.moves))
        self.moves.draw(move_list(self.match, self.now))
        self.remark.text = search_remark(self.match.notes[self.now - 1]) if self.now > 0 else ""
        self.board.set_content(f'<pre class="gp-text">{escape(self.game.render(self.state))}</pre>')
        self.legal.draw(legal_moves(self.game, self.match.state) if self.human_to_move else "")


def legal_moves(game: Game, state: Any) -> str:
    """Return a button for each legal move, as HTML."""
    actions = game.legal_actions(game.view(state))
    return _buttons("gp-legal", [(f"move-{action}", "", move_name(game, state, action)) for action in actions])


def move_list(match: GameMatch, now: int) -> str:
    """Return the moves as HTML, the one before the position shown in bold."""
    seats = [match.game.to_move(match.at(ply)) for ply in range(len(match.moves))]
    rows = []
    for number, (seat, name) in enumerate(zip(seats, match.names(), strict=True), 1):
        rows.append((f"ply-{number}", SEATS[seat] + " here" * (number == now), f"{number}. {name}"))
    return _buttons("gp-moves", rows)


def _buttons(kind: str, rows: Sequence[tuple[str, str, str]]) -> str:
    """Return buttons from their ids, classes and texts, as HTML."""
    buttons = (f'<button data-id="{key}" class="{style}">{escape(text)}</button>' for key, style, text in rows)
    return f'<div class="{kind}">{"".join(buttons)}</div>'
