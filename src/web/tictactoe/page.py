"""The page of tic-tac-toe: a match, the analysis of positions by an agent, and comments on the moves of agents."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from nicegui import events, ui
from starlette.requests import Request

from ...core.errors import require
from ...core.play.agent import Agent
from ...core.play.game import Canonical
from ...core.runs.index.playable import FinishedRun, runs_of
from ...envs.tictactoe.game import TicTacToe
from ...envs.tictactoe.rules import EMPTY, STONES
from .. import shell
from ..clickable import LEFT, Clickable, Pick, parse_id
from ..event_loop import in_thread
from ..game_page import GamePage, Visit, read_visit
from ..match import Match
from ..match_panel import Result
from ..players import HUMAN_PLAYER, LEVELS, YOU, AgentCache, Player, chosen, search_comment, trained_players
from ..services import Services
from . import PAGE, board
from .board import CellValue

KEYS = {"1 to 9": "play a cell", "U": "take back", "N": "new game", "[ ]": "look back and forward"}
NONE, RANDOM = "none", "random"
USUAL = "qtable:experiments/tictactoe_qlearning"  # default player of O


TABLE_RULES = {"greedy": "It uses its table", "win_in_1": "It wins at once", "block_in_1": "It blocks a row"}
LOOKED_UP = {
    "Identity": "as it is",
    "Rot90": "rotated by 90°",
    "Rot180": "rotated by 180°",
    "Rot270": "rotated by 270°",
    "FlipVertical": "mirrored top to bottom",
    "FlipHorizontal": "mirrored left to right",
    "FlipMainDiagonal": "mirrored along the main diagonal",
    "FlipAntiDiagonal": "mirrored along the other diagonal",
}


class TicTacToeMatch(Match[str, int, Mapping[str, Any]]):
    no_move_message = "there is no move of yours to take back"

    def __init__(self, game: TicTacToe, rng: np.random.Generator, human_seats: Collection[int]) -> None:
        super().__init__(game, lambda: game.initial(rng), human_seats)

    def play_human(self, move: int) -> None:
        """Play the move of a person; raise `UserError` if it is an agent's turn."""
        require(self.is_over or self.waits_for_human, f"it is {STONES[self.seat]}'s turn, which an agent plays")
        require(self.is_over or self.state[move] == EMPTY, "that cell is taken")
        self.play(move)


@dataclass(frozen=True)
class Analysis:
    values: dict[int, CellValue]  # by free cell
    move: int | None
    comment: str
    canonical: Canonical | None  # the table entry it used, if any


def analyze(game: TicTacToe, agent: Agent, state: str) -> Analysis:
    lines = agent.analyze(game, state, game.num_actions)
    values = {line.actions[0]: CellValue(line.score, line.score == lines[0].score) for line in lines}
    decision = agent.decide(game, state, np.random.default_rng(0))
    canonical = game.canonical(state) if "transform" in decision.info else None
    return Analysis(values, decision.action, comment(decision.info), canonical)


def comment(info: Mapping[str, Any]) -> str:
    """Describe the info of a decision in a sentence, or return an empty text."""
    match info:
        case {"rule": name, "transform": transform, "best_q": best}:
            used = f"{TABLE_RULES[name]}. Looked up {LOOKED_UP[transform]}"
            return f"{used}, the best move has the value {best + 0.0:.3g}."
        case {"score": score, "depth": depth, "nodes": nodes, "line": line}:
            decided, _, plies = score.partition("-in-")
            seen = f"a {decided} in {plies}" if plies else f"a score of {score}"
            cells = " ".join(str(int(cell) + 1) for cell in line.split(","))
            return f"It sees {seen}, {depth} moves deep in {nodes} positions: {cells}."
        case {"visits": _, "simulations": _, "value": _}:
            return search_comment(info)
        case {"value": value}:
            return f"It values the position at {value:.3g}, where a win is 1 and a loss -1."
    return ""


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


async def build(services: Services, request: Request) -> None:
    visit = await in_thread(read_visit, services, PAGE.path, request)
    players = players_of(await in_thread(runs_of, services.folders, "tictactoe"))
    ui.timer(0, TicTacToePage(visit, players).open, once=True)


class TicTacToePage(GamePage[TicTacToeMatch]):
    path, seats = PAGE.path, ("x", "o")

    def __init__(self, visit: Visit, players: dict[str, Player]) -> None:
        agents = {key: player.title for key, player in players.items() if key not in (YOU, RANDOM)}
        self.evaluators = {NONE: "none"} | agents
        usual = USUAL if USUAL in players else "minimax"
        super().__init__(visit, players, {"x": YOU, "o": usual, "values": NONE})
        self.game = TicTacToe(symmetric=True)
        self.agents = AgentCache(visit.services, self.game, players)
        self.match = self.new_match()
        self.add_layout()
        with self.stage:
            self.board = Clickable(board.draw(self.match.state), self._picked)
        self.add_match_actions()
        with self.details:
            self.dropdown("x", self.titles, "X, moves first")
            self.dropdown("o", self.titles, "O")
            self.dropdown("values", self.evaluators, "Show the values of")
            self.move_list = ui.html(sanitize=False).classes("history w-full")
            shell.add_keys(KEYS)
        ui.keyboard(self.key)

    def new_match(self) -> TicTacToeMatch:
        self.rng = self.services.rng()
        return TicTacToeMatch(self.game, self.rng, self.human_seats)

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
        options: Mapping[str, object] = self.evaluators if name == "values" else self.players
        chosen(options, value)

    async def apply_choice(self, name: str) -> None:
        if name == "values":
            self.save()
            await self.show()
        else:
            await self.new_game()

    async def _picked(self, pick: Pick) -> None:
        if pick.button == LEFT:
            await self._play_human(parse_id(pick.part, "cell", 9))

    async def key(self, event: events.KeyEventArguments) -> None:
        if not event.key.number:
            await super().key(event)
        elif shell.key_name(event) is not None and not event.action.repeat:
            await self._play_human(event.key.number - 1)

    async def _play_human(self, cell: int) -> None:
        require(self.ply is None or self.match.is_over, "this is an earlier position: return to the latest one to move")
        if not self.human_to_move:
            return  # harmless: the agent is thinking, or the game is over
        self.match.play_human(cell)
        await self.changed(moved=True)

    async def show(self, moved: bool = False) -> None:
        match, state, key = self.match, self.state, self.setup["values"]
        analysis = None
        with shell.show_errors():
            if key != NONE and self.game.outcome(state) is None:
                evaluator = await self.busy.do(self.agents.agent, key)
                analysis = await self.busy.do(analyze, self.game, evaluator, state)
        if (match, state, key) == (self.match, self.state, self.setup["values"]):
            self.show_match_panel()
            last = match.moves[self.now - 1] if self.now else None
            self.board.draw(board.draw(state, last, analysis.values if analysis else None))
            self.move_list.set_content(move_list(match, analysis))


def move_list(match: TicTacToeMatch, analysis: Analysis | None) -> str:
    """Return the moves with comments on them, and the analysis of the position, as HTML."""
    position, rows = "", []
    if analysis is not None and analysis.move is not None:
        words = f'<b>It would play {analysis.move + 1}</b><div class="faint">{escape(analysis.comment)}</div>'
        if analysis.canonical is not None:
            words += '<div class="faint">Left: the position in the table.</div>'
            position = board.draw_small(analysis.canonical.key)
        position = f'<div class="analysis">{position}<div>{words}</div></div>'
    for ply, (move, note) in enumerate(zip(match.moves, match.notes, strict=True)):
        words = comment(note or {})
        shown = f' <span class="faint">{escape(words)}</span>' if words else ""
        rows.append(f"<li><b>{STONES[ply % 2]} {move + 1}</b>{shown}</li>")
    return f'{position}<ol class="moves">{"".join(rows)}</ol>'
