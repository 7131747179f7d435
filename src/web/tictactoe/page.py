"""The page of tic-tac-toe."""

from collections.abc import Mapping
from html import escape

from nicegui import events, ui
from starlette.requests import Request

from ...envs.tictactoe.game import TicTacToe
from ...envs.tictactoe.rules import STONES
from .. import shell
from ..drawing import LEFT, Drawing, Pick, numbered
from ..ending import Ending, HistoryBar, Result
from ..game_page import GamePage, saved_game
from ..lab import FinishedRun, Lab, runs_of
from ..players import HUMAN_PLAYER, LEVELS, YOU, AgentCache, Player, chosen, trained_players
from ..saved_games import SavedGame
from ..turns import in_thread
from . import PAGE, picture
from .match import Analysis, TicTacToeMatch, analyse
from .remarks import remark_of

WATCHING = 0.7  # seconds between moves if only agents play
KEYS = "Keys: 0 to 8 play a cell, U takes back, N starts a new game, [ and ] look back and forward."
NONE, RANDOM = "none", "random"
USUAL = "qtable:experiments/tictactoe_qlearning"  # default player of O


def players_of(runs: list[FinishedRun]) -> dict[str, Player]:
    searches = {
        f"alphabeta-{level}": Player(f"Alpha-beta, {level}", "alphabeta", {"difficulty": level}) for level in LEVELS
    }
    tables = {
        f"qtable:{run.name}": Player(f"Q-table {run.name}", "qtable", {"path": str(run.path / "qtable.json")})
        for run in runs
        if (run.path / "qtable.json").is_file()
    }
    fixed = {YOU: HUMAN_PLAYER, "minimax": Player("Minimax, plays perfectly", "minimax"), **searches}
    others = trained_players([run for run in runs if f"qtable:{run.name}" not in tables])
    return {**fixed, **tables, **others, RANDOM: Player("Random", "random")}


def evaluators(players: dict[str, Player]) -> dict[str, Player]:
    """Return the players that can evaluate cells."""
    return {NONE: Player("none", None)} | {key: players[key] for key in players if key not in (YOU, RANDOM)}


async def build(lab: Lab, request: Request) -> None:
    saved = await in_thread(saved_game, lab, PAGE.path, request)
    players = players_of(await in_thread(runs_of, lab.folders, "tictactoe"))
    page = TicTacToePage(lab, players, request.query_params, saved)
    ui.timer(0, shell.handler(page.open), once=True)


class TicTacToePage(GamePage[TicTacToeMatch]):
    path, seats = PAGE.path, ("x", "o")

    def __init__(
        self, lab: Lab, players: dict[str, Player], query: Mapping[str, str], saved: SavedGame | None = None
    ) -> None:
        self.evaluators = evaluators(players)
        usual = USUAL if USUAL in players else "minimax"
        super().__init__(lab, players, {"x": YOU, "o": usual, "values": NONE}, query, saved)
        self.game = TicTacToe(symmetric=True)
        self.agents = AgentCache(lab, self.game, players)
        self.match = self.new_match()
        self.shortcuts = {
            "u": self.take_back,
            "n": self.new_game,
            "[": lambda: self.look_by(-1),
            "]": lambda: self.look_by(1),
        }
        self._layout()

    def new_match(self) -> TicTacToeMatch:
        self.rng = self.lab.rng()
        return TicTacToeMatch(self.game, self.rng, self.human_seats)

    def _layout(self) -> None:
        shell.add_style(picture.STYLE)
        with ui.element("div").classes("bench"):
            with ui.element("div").classes("board"):
                self.drawing = Drawing(picture.board(self.match.state), self._picked)
            with ui.element("div").classes("panel"):
                with ui.row().classes("items-center w-full no-wrap"):
                    self.title = ui.label().classes("headline grow")
                    self.busy = shell.Busy()
                shell.MessageLine()
                self.ending = Ending(self.new_game, self.review)
                self.bar = HistoryBar(self)
                self.dropdown("x", self.titles, "X, moves first")
                self.dropdown("o", self.titles, "O")
                evaluators = {key: evaluator.title for key, evaluator in self.evaluators.items()}
                self.dropdown("values", evaluators, "Show the values of")
                with ui.row():
                    ui.button("New game", icon="replay", on_click=shell.handler(self.new_game)).classes("new-game")
                    undo = ui.button("Undo", icon="undo", on_click=shell.handler(self.take_back))
                    undo.props("outline").classes("undo")
                self.history = ui.html(sanitize=False).classes("history w-full")
                ui.label(KEYS).classes("faint")
        ui.keyboard(self.key)

    @property
    def delay(self) -> float:
        return 0 if self.human_seats else WATCHING

    def headline(self) -> str:
        if self.ply is not None or self.match.is_over:
            return super().headline()
        stone = STONES[self.match.seat]
        return f"Your turn: {stone}" if self.match.waits_for_human else f"{stone} to move"

    @property
    def result(self) -> Result | None:
        found = super().result
        named = {"first": f"{STONES[0]} wins", "second": f"{STONES[1]} wins"}
        return found and found._replace(words=named.get(found.tone, found.words))

    def check_choice(self, name: str, value: str) -> None:
        chosen(self.evaluators if name == "values" else self.players, value)

    async def apply_choice(self, name: str) -> None:
        if name == "values":
            self.keep()
            await self.show()
        else:
            await self.new_game()

    async def _picked(self, pick: Pick) -> None:
        if pick.button == LEFT:
            await self._play_human(numbered(pick.part, "cell", 9))

    async def key(self, event: events.KeyEventArguments) -> None:
        if event.key.number is None:
            await super().key(event)
        elif shell.pressed(event) is not None and not event.action.repeat:
            with shell.show_errors():
                await self._play_human(event.key.number)

    async def _play_human(self, cell: int) -> None:
        if not self.human_to_move:
            return  # harmless: the agent is thinking, the game is over, or an earlier position is shown
        self.match.play_human(cell)
        await self.changed(moved=True)

    async def show(self, moved: bool = False) -> None:
        match, state, key = self.match, self.state, self.setup["values"]
        analysis = None
        with shell.show_errors():
            if key != NONE and self.game.outcome(state) is None:
                evaluator = await self.busy.do(self.agents.agent, key)
                analysis = await self.busy.do(analyse, self.game, evaluator, state)
        if (match, state, key) == (self.match, self.state, self.setup["values"]):
            self.title.text = self.headline()
            self.ending.show(self.result)
            self.bar.show(self.now, len(match.moves))
            last = match.moves[self.now - 1] if self.now else None
            self.drawing.draw(picture.board(state, last, analysis.values if analysis else None))
            self.history.set_content(history(match, analysis))


def history(match: TicTacToeMatch, analysis: Analysis | None) -> str:
    """Return the moves with their remarks, and the analysis of the position, as HTML."""
    position, rows = "", []
    if analysis is not None and analysis.move is not None:
        words = f'<b>It would play {analysis.move}</b><div class="faint">{escape(analysis.remark)}</div>'
        if analysis.canonical is not None:
            words += '<div class="faint">Left: the position in the table.</div>'
            position = picture.small(analysis.canonical.key)
        position = f'<div class="analysis">{position}<div>{words}</div></div>'
    for ply, (move, note) in enumerate(zip(match.moves, match.notes, strict=True)):
        remark = remark_of(note or {})
        shown = f' <span class="faint">{escape(remark)}</span>' if remark else ""
        rows.append(f"<li><b>{STONES[ply % 2]} {move}</b>{shown}</li>")
    return f'{position}<ol class="moves">{"".join(rows)}</ol>'
