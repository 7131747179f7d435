"""The page of Quoridor."""

import asyncio
from collections.abc import Mapping
from functools import partial

import numpy as np
from nicegui import ui
from starlette.requests import Request

from ...core.errors import UserError, require
from ...envs.quoridor.agents import MasterAgent
from ...envs.quoridor.game import Quoridor
from ...envs.quoridor.rules import Position
from .. import shell
from ..drawing import RIGHT, Pick
from ..game_page import saved_game
from ..lab import Lab, runs_of
from ..players import AgentCache, Player
from ..remarks import search_remark
from ..saved_games import SavedGame
from . import PAGE, analyst, panels
from .analyst import Analyst
from .layout import Layout
from .match import DEEP, players_of, toward
from .match_page import QuoridorMatchPage
from .picture import Marks, Mode, draw
from .review import Judgement
from .style import CSS
from .time_control import TimeControl
from .timed_player import TimedPlayer

TICK = 0.2  # seconds between updates of the clocks
BROWSING = {"ArrowLeft": -1, "ArrowRight": 1}  # plies, while an earlier position is shown
ARROWS = {"ArrowUp": (0, 1), "ArrowDown": (0, -1), "ArrowRight": (1, 0), "ArrowLeft": (-1, 0)}


async def build(lab: Lab, request: Request) -> None:
    shell.add_style(CSS)
    saved = await asyncio.to_thread(saved_game, lab, PAGE.path, request)
    game, players = await asyncio.to_thread(_prepare, lab)
    QuoridorPage(lab, game, players, request.query_params, saved)


def prepare(lab: Lab) -> None:
    """Load the compiled engine."""
    game, players = _prepare(lab)
    load_engine(game, AgentCache(lab, game, players))


def load_engine(game: Quoridor, agents: AgentCache) -> None:
    """Call what the page needs; compilation on first use takes a minute."""
    state = game.initial(np.random.default_rng(0))
    game.play(state, game.legal_actions(state)[0])
    game.shortest_path(state, 0)
    agents.agent(analyst.LEVEL).analyse(game, state, 1)
    master = agents.agent(DEEP)
    assert isinstance(master, MasterAgent)
    next(master.new_search(game).deepen(state))


def _prepare(lab: Lab) -> tuple[Quoridor, dict[str, Player]]:
    game = lab.game("quoridor")
    assert isinstance(game, Quoridor)
    return game, players_of(runs_of(lab.folders, "quoridor"))


class QuoridorPage(QuoridorMatchPage):
    """What is shown, and what a visitor can do."""

    def __init__(
        self,
        lab: Lab,
        game: Quoridor,
        players: Mapping[str, Player],
        query: Mapping[str, str],
        saved: SavedGame | None = None,
    ) -> None:
        super().__init__(lab, game, players, query, saved)
        self.mode, self.flipped = Mode.BOTH, False
        self.armed: str | None = None  # the wall that a second click places
        self.hints: tuple[str, ...] = ()
        self.evaluation = panels.Evaluation(0.5, "", {})
        self.shortcuts = {
            "u": self.take_back,
            "?": self.hint,
            "n": self.new_game,
            "f": self.flip,
            "p": self.pause,
            "s": self.step,
            "[": lambda: self.look_by(-1),
            "]": lambda: self.look_by(1),
            "Home": lambda: self.look_at(0),
            "End": lambda: self.look_at(len(self.match.moves)),
            "m": self.find_mistakes,
        }
        self.layout = Layout(self)
        self.busy = self.layout.busy
        self.analyst = Analyst(game, self.agents, self.busy, self.rng)
        self.time = TimeControl(self.setup["clock"], self.layout.clock_row, self.layout.clocks)
        self.timed_player = TimedPlayer(game, self.agents, partial(self.layout.thinking.show, has_move=True))
        self.client.on_delete(self._cancel_analysis)
        self.redraw()
        ui.timer(TICK, shell.handler(self.tick))
        ui.timer(0, shell.handler(self.open), once=True)

    async def open(self) -> None:
        await self.busy.do(load_engine, self.game, self.agents)
        try:
            await self.load_saved()
        finally:
            self.ready.set()
        await self.changed()

    # Display

    @property
    def turned(self) -> bool:
        """Whether player 2 is shown at the bottom, as for a person who plays it."""
        return (self.human_seats == {1}) != self.flipped

    def marks(self, moved: bool) -> Marks:
        if not self.ready.is_set():
            return Marks(turned=self.turned)
        position = self.state
        before = self.match.at(self.now - 1) if self.now else None
        legal = self.game.legal_actions(position) if self.can_play else []
        paths = self.game.shortest_path(position, 0), self.game.shortest_path(position, 1)
        return Marks(
            turned=self.turned,
            mode=self.mode,
            open=self.can_play,
            legal=frozenset(self.game.move_name(position, action) for action in legal),
            armed=self.armed,
            hints=self.hints,
            paths=paths if self.layout.with_paths.value else None,
            last=self.game.move_name(before, self.match.moves[self.now - 1]) if before else None,
            origin=before.pawns[self.game.to_move(before)] if before and moved else None,
        )

    def redraw(self, moved: bool = False) -> None:
        self.layout.board.draw(draw(self.game.size, self.state, self.marks(moved)))
        self._show_panels()

    def _show_panels(self) -> None:
        layout, match = self.layout, self.match
        layout.headline.text, layout.note.text = self.headline(), self._note()
        if self.main is None:
            layout.ending.show(self.result)
        else:
            layout.ending.set_visibility(False)
        layout.evaluation.text = self.evaluation.text or "…"
        layout.bar.content = panels.share_bar(self.evaluation.share, self.turned)
        layout.factors.content = panels.factor_bars(self.evaluation.parts)
        layout.moves.draw(panels.move_list(match.names(), match.at(0).ply, self.now, layout.review.signs(match)))
        layout.review.show(match, self.now)
        layout.variations.draw(self.variations.html(self.main or match, match.moves if self.main else None))
        layout.back.set_visibility(self.main is not None)
        if not self.hints:
            layout.hints.draw(panels.NO_HINTS)
        layout.watch.set_visibility(self.watching)
        if self.paused and self.agent_to_move and not self.watching:
            layout.thinking.show_cancelled(f"cancelled; it is the turn of {self.mover}")
        elif not self.agent_moves:
            layout.thinking.hide()
        layout.pause.text, layout.pause.icon = ("continue", "play_arrow") if self.paused else ("pause", "pause")
        layout.modes.value = str(self.mode)

    def headline(self) -> str:
        words = super().headline()
        return words if self.main is None else f"Variation: {words[0].lower()}{words[1:]}"

    def _note(self) -> str:
        if not self.ready.is_set():
            return "loading the engine; the first time it is compiled, which takes a minute"
        if self.main is not None:
            return "you play both sides; the game is kept - press Esc to return to it"
        if self.ply is not None:
            return f"position after ply {self.state.ply} - press Esc to return, or play another move to try it"
        if self.armed is not None:
            return f"click again to place {self.armed}"
        ply = f"ply {self.match.state.ply} of at most {self.game.ply_limit}"
        remark = search_remark(self.match.notes[-1]) if self.match.notes else ""
        return f"{ply} - {remark}" if remark else ply

    async def show(self, moved: bool = False) -> None:
        self.redraw(moved)
        position = self.state
        evaluation = await self.analyst.evaluate(position)
        if evaluation is not None and position == self.state:
            self.evaluation = evaluation
            self._show_panels()

    # Moves

    def begin_turn(self) -> None:
        super().begin_turn()
        self.hints, self.armed = (), None

    def drop_decisions(self) -> None:
        super().drop_decisions()
        self.cancel_hint()

    def _cancel_analysis(self) -> None:
        """Stop what would go on without the page."""
        self.analyst.cancel_evaluation()
        self.layout.review.cancel()

    async def play_named(self, name: str) -> None:
        await self.ready.wait()
        action, self.mode = self.read_move(name), Mode.BOTH
        if self.ply is None:
            await self.play(action)
        elif self.match.moves[self.ply] == action:
            await self.look_by(1)
        else:
            await self.enter_variation([*self.match.moves[: self.ply], action])

    # Review

    async def review(self) -> None:
        await super().review()
        await self.find_mistakes()

    async def find_mistakes(self) -> None:
        """Start the review of the moves, or stop it."""
        await self.ready.wait()
        if self.layout.review.running:
            self.layout.review.cancel()
            return
        require(bool(self.match.moves), "there are no moves to review yet")
        await self.layout.review.run(self.match)

    def judge(self, state: Position, action: int) -> Judgement:
        return self.analyst.judge(state, action)

    # User actions

    async def pick(self, pick: Pick) -> None:
        """Play the clicked move; in a wall mode the first click previews the wall, the second places it."""
        await self.ready.wait()
        if pick.button == RIGHT:
            self.switch_to(Mode.VERTICAL if self.mode == Mode.HORIZONTAL else Mode.HORIZONTAL)
        elif self.mode != Mode.BOTH and pick.part != self.armed:
            self.read_move(pick.part)
            self.armed = pick.part
            self.redraw()
        else:
            await self.play_named(pick.part)

    async def drop_wall(self, pick: Pick) -> None:
        """Place a wall that was dragged to the board."""
        await self.play_named(pick.part)

    async def pick_hint(self, pick: Pick) -> None:
        await self.play_named(pick.part)

    def switch_to(self, mode: Mode) -> None:
        self.mode, self.armed = mode, None
        self.redraw()

    async def look_at(self, ply: int) -> None:
        """Show an earlier position; a match of two agents is paused."""
        self.hints = ()
        self.cancel_hint()
        if self.watching and ply < len(self.match.moves):
            self.paused = True
            self.drop_decisions()
        await super().look_at(ply)

    async def hint(self) -> None:
        """Search for the best moves in the position shown, whatever else is searched; a second request cancels it."""
        await self.ready.wait()
        if self.analyst.is_hinting:
            self.cancel_hint()
            return
        require(self.game.outcome(self.state) is None, "the game is over")
        self.layout.show_hinting(True)
        try:
            lines = await self.analyst.hint(self.state)
        finally:
            self.layout.show_hinting(self.analyst.is_hinting)
        if lines is not None:
            self.hints = tuple(names[0] for _, names in lines)
            self.redraw()
            self.layout.hints.draw(panels.hint_list(lines))

    def cancel_hint(self) -> None:
        """Stop the search for a hint, if there is one."""
        self.analyst.cancel_hint()
        self.layout.show_hinting(False)

    def flip(self) -> None:
        self.flipped = not self.flipped
        self.redraw()

    def position_text(self) -> str:
        return self.game.write_position(self.state)

    def game_text(self) -> str:
        return self.match.write()

    async def press(self, name: str, repeated: bool = False) -> None:
        if name in BROWSING and self.ply is not None:
            await self.look_by(BROWSING[name])
        elif name in ARROWS:
            await self._walk(*ARROWS[name])
        elif name in (Mode.HORIZONTAL, Mode.VERTICAL):
            self.switch_to(Mode.BOTH if self.mode == name else Mode(name))
        elif name == "Escape" and self.analyst.is_hinting:
            self.cancel_hint()
        elif name == "Escape":
            self.mode = Mode.BOTH
            if self.main is not None and self.ply is None:
                await self.leave_variation()
            else:
                await self.look_at(len(self.match.moves))
        else:
            await super().press(name, repeated)

    async def _walk(self, right: int, up: int) -> None:
        await self.ready.wait()
        if not self.human_to_move:
            return
        side = -1 if self.turned else 1
        action = toward(self.game, self.match.state, side * right, side * up)
        if action is None:
            raise UserError("your pawn cannot go there, or in more than one way: click the cell")
        await self.play(action)
