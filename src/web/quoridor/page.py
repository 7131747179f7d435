"""The page of Quoridor."""

import asyncio
from collections.abc import Mapping
from functools import partial

import numpy as np
from nicegui import ui
from starlette.requests import Request

from ...core.errors import UserError, require
from ...envs.quoridor.rules import Quoridor
from .. import shell
from ..drawing import RIGHT, Pick
from ..game_page import GamePage, saved_game
from ..lab import Lab, runs_of
from ..players import AgentCache, Player
from ..saved_games import SavedGame
from . import PAGE, panels
from .layout import Layout
from .match import DEFAULTS, SEATS, QuoridorMatch, players_of, run_game, toward, why_not
from .picture import Marks, Mode, draw
from .style import CSS

ANALYST = "hell"  # the agent that evaluates positions and gives hints
HINTS = 5
REPLY = 0.35  # seconds before an agent replies to a person
BROWSING = {"ArrowLeft": -1, "ArrowRight": 1}  # plies, while an earlier position is shown
ARROWS = {"ArrowUp": (0, 1), "ArrowDown": (0, -1), "ArrowRight": (1, 0), "ArrowLeft": (-1, 0)}


async def build(lab: Lab, request: Request) -> None:
    ui.add_css(CSS)
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
    agents.agent(ANALYST).analyse(game, state, 1)


def _prepare(lab: Lab) -> tuple[Quoridor, dict[str, Player]]:
    game = lab.game("quoridor")
    assert isinstance(game, Quoridor)
    return game, players_of(runs_of(lab.folders, "quoridor"))


class QuoridorPage(GamePage[QuoridorMatch]):
    path, seats = PAGE.path, SEATS

    def __init__(
        self,
        lab: Lab,
        game: Quoridor,
        players: Mapping[str, Player],
        query: Mapping[str, str],
        saved: SavedGame | None = None,
    ) -> None:
        super().__init__(lab, players, DEFAULTS, query, saved)
        self.game, self.rng = game, lab.rng()
        self.agents = AgentCache(lab, game, players, partial(run_game, lab, game))
        self.match = self.new_match()
        self.ready = asyncio.Event()  # set once the compiled engine is loaded
        self.mode, self.flipped, self.paused = Mode.BOTH, False, False
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
        }
        self.layout = Layout(self)
        self.busy = self.layout.busy
        self.redraw()
        ui.timer(0, shell.handler(self.open), once=True)

    def new_match(self) -> QuoridorMatch:
        return QuoridorMatch(self.game, self.game.initial(self.rng), self.human_seats)

    async def open(self) -> None:
        await self.busy.do(load_engine, self.game, self.agents)
        self.ready.set()
        await super().open()

    # Display

    @property
    def turned(self) -> bool:
        """Whether player 2 is shown at the bottom, as for a person who plays it."""
        return (self.human_seats == {1}) != self.flipped

    @property
    def watching(self) -> bool:
        return not self.human_seats

    def marks(self, moved: bool) -> Marks:
        if not self.ready.is_set():
            return Marks(turned=self.turned)
        position = self.state
        before = self.match.at(self.now - 1) if self.now else None
        legal = self.game.legal_actions(position) if self.human_to_move else []
        paths = self.game.shortest_path(position, 0), self.game.shortest_path(position, 1)
        return Marks(
            turned=self.turned,
            mode=self.mode,
            open=self.human_to_move,
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
        layout.ending.show(self.result)
        layout.evaluation.text = self.evaluation.text or "…"
        layout.bar.content = panels.share_bar(self.evaluation.share, self.turned)
        layout.factors.content = panels.factor_bars(self.evaluation.parts)
        layout.moves.draw(panels.move_list(match.names(), match.at(0).ply, self.now))
        if not self.hints:
            layout.hints.draw(panels.NO_HINTS)
        layout.watch.set_visibility(self.watching)
        layout.pause.text, layout.pause.icon = ("continue", "play_arrow") if self.paused else ("pause", "pause")
        layout.modes.value = str(self.mode)

    def _note(self) -> str:
        if not self.ready.is_set():
            return "loading the engine; the first time it is compiled, which takes a minute"
        if self.ply is not None:
            return f"position after ply {self.state.ply} - press Esc to return to the game"
        if self.armed is not None:
            return f"click again to place {self.armed}"
        return f"ply {self.match.state.ply} of at most {self.game.ply_limit}"

    async def show(self, moved: bool = False) -> None:
        self.redraw(moved)
        await self._evaluate()

    async def _evaluate(self) -> None:
        position, outcome = self.state, self.game.outcome(self.state)
        if outcome is not None:
            evaluation = panels.from_outcome(outcome)
        else:
            info = (await self.busy.do(self.agents.decide, ANALYST, position, self.rng)).info
            evaluation = panels.from_search(info, self.game.to_move(position))
        if position == self.state:
            self.evaluation = evaluation
            self._show_panels()

    # Moves

    @property
    def agent_moves(self) -> bool:
        return super().agent_moves and not (self.watching and self.paused)

    @property
    def delay(self) -> float:
        return self.layout.delay if self.watching else REPLY

    def begin_turn(self) -> None:
        super().begin_turn()
        self.hints, self.armed = (), None

    def read_move(self, name: str) -> int:
        """Parse a move of a person; raise `UserError` if it is illegal or not their turn."""
        self.require_human_turn()
        reason = why_not(self.game, self.match.state, name)
        if reason is not None:
            raise UserError(reason)
        return self.game.parse_move(self.match.state, name)

    async def play_named(self, name: str) -> None:
        await self.ready.wait()
        action, self.mode = self.read_move(name), Mode.BOTH
        await self.play(action)

    async def take_back(self) -> None:
        await self.ready.wait()
        self.match.take_back()
        await self._changed_by_user()

    async def load(self, text: str) -> None:
        await self.ready.wait()
        self.match.read(text)
        await self._changed_by_user()

    async def _changed_by_user(self) -> None:
        """Show a change by the user; a match of two agents is paused."""
        self.paused = self.paused or self.watching
        await self.changed()

    async def pause(self) -> None:
        require(self.watching, "pause needs two agents: choose an agent for both players")
        self.paused = not self.paused
        await self.changed()

    async def step(self) -> None:
        """Pause, and play one ply of two agents."""
        await self.ready.wait()
        require(self.watching, "step needs two agents: choose an agent for both players")
        require(not self.match.is_over, "the game is over")
        self.paused = True
        self.drop_decisions()
        turn, (action, _) = self.turn, await self.decide()
        if turn is self.turn:
            await self.play(action)

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

    async def pick_hint(self, pick: Pick) -> None:
        await self.play_named(pick.part)

    def switch_to(self, mode: Mode) -> None:
        self.mode, self.armed = mode, None
        self.redraw()

    async def look_at(self, ply: int) -> None:
        """Show an earlier position; a match of two agents is paused."""
        self.hints = ()
        if self.watching and ply < len(self.match.moves):
            self.paused = True
            self.drop_decisions()
        await super().look_at(ply)

    async def hint(self) -> None:
        await self.ready.wait()
        require(self.game.outcome(self.state) is None, "the game is over")
        turn, position = self.turn, self.state
        lines = await self.busy.do(self.agents.agent(ANALYST).analyse, self.game, position, HINTS)
        if turn is self.turn and position == self.state:
            named = [(line.score, self.game.line_names(position, line.actions)) for line in lines]
            self.hints = tuple(names[0] for _, names in named)
            self.redraw()
            self.layout.hints.draw(panels.hint_list(named))

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
        elif name == "Escape":
            self.mode = Mode.BOTH
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
