"""The page of Quoridor."""

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from nicegui import ui
from starlette.requests import Request

from ...core.errors import UserError, require
from ...envs.quoridor.master import MasterAgent
from ...envs.quoridor.notation import Position
from ...envs.quoridor.rules import Quoridor
from ...envs.quoridor.search import CompiledSearch
from ...envs.quoridor.thinker import Thinker, Thought
from .. import shell
from ..drawing import RIGHT, Pick, numbered
from ..ending import Result, result_for
from ..game_page import GamePage, saved_game
from ..lab import Lab, runs_of
from ..players import AgentCache, Player
from ..remarks import search_remark
from ..saved_games import SavedGame
from . import PAGE, panels
from .clock import clock_text, read_clock, write_clock
from .layout import Layout
from .match import (
    DEEP,
    DEEP_SECONDS,
    DEFAULTS,
    SEATS,
    QuoridorMatch,
    Variation,
    players_of,
    run_game,
    toward,
    why_not,
)
from .picture import Marks, Mode, draw
from .review import Judgement, judge
from .style import CSS
from .thinking import Budget, SearchingAgent

ANALYST = "hell"  # the agent that evaluates positions and gives hints
HINTS = 5
TICK = 0.2  # seconds between updates of the clocks
SHORT = 20.0  # seconds left that are shown as short
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
    master = agents.agent(DEEP)
    assert isinstance(master, MasterAgent)
    next(master.new_thinker(game).think(state))


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
        self.main: QuoridorMatch | None = None  # the game, while a variation of it is the match
        self.variations: list[Variation] = []
        self.budget: Budget | None = None  # of the search of the deep player
        self.thinker: Thinker | None = None  # its search, which remembers the game
        self.clock = read_clock(self.setup["clock"])
        self.lost_on_time: int | None = None  # the seat whose time is over
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
            "m": self.find_mistakes,
        }
        self.layout = Layout(self)
        self.busy = self.layout.busy
        self.redraw()
        ui.timer(TICK, shell.handler(self._tick))
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
        layout.variations.draw(self._variation_list())
        layout.back.set_visibility(self.main is not None)
        if not self.hints:
            layout.hints.draw(panels.NO_HINTS)
        layout.watch.set_visibility(self.watching)
        layout.pause.text, layout.pause.icon = ("continue", "play_arrow") if self.paused else ("pause", "pause")
        layout.modes.value = str(self.mode)

    def _variation_list(self) -> str:
        game = self.main or self.match
        named = [(one.ply, game.with_moves(one.moves).names()[one.ply :]) for one in self.variations]
        return panels.variation_list(named, self._here)

    @property
    def _here(self) -> int | None:
        """The number of the variation that is the match."""
        moves = tuple(self.match.moves)
        return next((k for k, one in enumerate(self.variations) if self.main and one.moves == moves), None)

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
        return super().agent_moves and self.lost_on_time is None and not (self.watching and self.paused)

    @property
    def human_to_move(self) -> bool:
        return super().human_to_move and (self.lost_on_time is None or self.main is not None)

    @property
    def can_play(self) -> bool:
        """Whether a move can be made in the position shown: in the game, or as a variation of it."""
        return self.human_to_move or (self.ply is not None and self.game.outcome(self.state) is None)

    @property
    def delay(self) -> float:
        return self.layout.delay if self.watching else REPLY

    def begin_turn(self) -> None:
        super().begin_turn()
        if self.clock is not None:
            self.clock.run(self._clock_seat, time.monotonic())
        self.hints, self.armed = (), None

    def drop_decisions(self) -> None:
        super().drop_decisions()
        self.move_now()

    def move_now(self) -> None:
        """Let the deep player make the best move that it has found."""
        if self.budget is not None:
            self.budget.stop()
        if self.thinker is not None:
            self.thinker.stop()

    async def decide(self) -> tuple[int, Mapping[str, Any]]:
        if self.player_keys[self.match.seat] != DEEP:
            return await super().decide()
        budget = self.budget = Budget(DEEP_SECONDS)
        self._show_thought(None, None)
        try:
            thought = await self.busy.do(self._think, self.match.state, budget, asyncio.get_running_loop())
        finally:
            self.budget = None
            self.layout.thinking_row.set_visibility(False)
        return thought.line[0], {}

    def _think(self, state: Position, budget: Budget, loop: asyncio.AbstractEventLoop) -> Thought:
        """Search until the budget is used, and show every depth."""
        if self.thinker is None:
            agent = self.agents.agent(DEEP)
            assert isinstance(agent, MasterAgent)
            self.thinker = agent.new_thinker(self.game)
        thought = None
        for thought in self.thinker.think(state, budget.left):
            loop.call_soon_threadsafe(self._show_thought, state, thought)
            if not budget.left:
                break
        assert thought is not None
        self.thinker.remember(self.game.play(state, thought.line[0]))
        return thought

    def _show_thought(self, state: Position | None, thought: Thought | None) -> None:
        if self.budget is None or self.layout.thinking.is_deleted:
            return
        words = f"thinks for {DEEP_SECONDS:g} seconds"
        if state is not None and thought is not None:
            line = " ".join(self.game.line_names(state, thought.line)[:6])
            speed = f"{thought.nodes / max(thought.seconds, 0.001) / 1000:,.0f}k positions a second"
            leader = panels.leader(thought.score, self.game.to_move(state))
            words = f"{words} · depth {thought.depth} · {leader} · {line} · {speed}"
        self.layout.thinking.text = words
        self.layout.thinking_row.set_visibility(True)

    def _searcher(self, key: str) -> CompiledSearch:
        agent = self.agents.agent(key)
        assert isinstance(agent, SearchingAgent)
        return self.game.searcher(agent.evaluation)

    def require_human_turn(self) -> None:
        require(self.lost_on_time is None or self.main is not None, "the time is over: start a new game")
        super().require_human_turn()

    def read_move(self, name: str) -> int:
        """Parse a move in the position shown; raise `UserError` if it is illegal or not a person's turn."""
        if self.ply is None:
            self.require_human_turn()
        reason = why_not(self.game, self.state, name)
        if reason is not None:
            raise UserError(reason)
        return self.game.parse_move(self.state, name)

    async def play_named(self, name: str) -> None:
        await self.ready.wait()
        action, self.mode = self.read_move(name), Mode.BOTH
        if self.ply is None:
            await self.play(action)
        elif self.match.moves[self.ply] == action:
            await self.look_by(1)
        else:
            await self._enter([*self.match.moves[: self.ply], action])

    async def take_back(self) -> None:
        await self.ready.wait()
        require(self.lost_on_time is None or self.main is not None, "the time is over: start a new game")
        here = self._here
        self.match.take_back()
        if self.main is not None and self.match.moves == self.main.moves[: len(self.match.moves)]:
            if here is not None:
                del self.variations[here]
            await self.leave_variation()
        else:
            await self._changed_by_user()

    async def load(self, text: str) -> None:
        await self.ready.wait()
        self.new_match().read(text)  # refuses a text that cannot be read before the present game is left
        self._forget()
        self.leave()
        self.match.read(text)
        await self._changed_by_user()

    async def new_game(self) -> None:
        self._forget()
        await super().new_game()

    def _forget(self) -> None:
        """Forget what belongs to the present game."""
        self.match, self.main, self.variations = self.main or self.match, None, []
        self.layout.review.reset()
        self.setup["clock"] = write_clock(self.setup["clock"], None, 0)
        self._set_clock()

    # Variations

    async def _enter(self, moves: list[int]) -> None:
        """Show a variation, which is a match of its own; the game waits."""
        self.main = self.main or self.match
        self.match = self.main.with_moves(moves)
        await self.changed(moved=True)

    def keep(self) -> None:
        """Save the game; a variation is listed instead."""
        if self.main is None:
            self.setup["clock"] = write_clock(self.setup["clock"], self.clock, time.monotonic())
            super().keep()
            return
        moves = tuple(self.match.moves)
        longer = [k for k, one in enumerate(self.variations) if one.moves == moves[: len(one.moves)]]
        if longer:
            self.variations[longer[0]] = self.variations[longer[0]]._replace(moves=moves)
        elif all(one.moves[: len(moves)] != moves for one in self.variations):
            pairs = zip(self.main.moves, moves, strict=False)
            ply = next((k for k, (one, other) in enumerate(pairs) if one != other), len(self.main.moves))
            self.variations.append(Variation(ply, moves))

    async def pick_variation(self, pick: Pick) -> None:
        await self._enter(list(self.variations[numbered(pick.part, "variation", len(self.variations))].moves))

    async def leave_variation(self) -> None:
        """Return to the game, to the position from which the variation begins."""
        if self.main is None:
            return
        same = [one == other for one, other in zip(self.main.moves, self.match.moves, strict=False)]
        ply = same.index(False) if False in same else len(self.match.moves)
        self.match, self.main = self.main, None
        self.begin_turn()
        if self.agent_moves:
            await self.changed()
        else:
            await self.look_at(ply)

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
        return judge(self.game, self._searcher(ANALYST), state, action)

    # Clock

    def check_choice(self, name: str, value: str) -> None:
        if name == "clock":
            read_clock(value)
        else:
            super().check_choice(name, value)

    async def apply_choice(self, name: str) -> None:
        if name == "clock":
            self._set_clock()
            await self.changed()
        else:
            self.match, self.main = self.main or self.match, None
            await super().apply_choice(name)

    def _set_clock(self) -> None:
        self.clock, self.lost_on_time = read_clock(self.setup["clock"]), None
        self._show_clock()

    @property
    def _clock_seat(self) -> int | None:
        """The seat whose time runs: from the first move on, but not while a person waits for the page."""
        game = self.main or self.match
        if not game.moves or game.is_over or self.lost_on_time is not None or (self.watching and self.paused):
            return None
        return None if self.busy.working and game.seat in game.human_seats else game.seat

    async def _tick(self) -> None:
        """Run the clock; the player whose time is over loses."""
        if self.clock is None:
            return
        now, game = time.monotonic(), self.main or self.match
        self.clock.run(self._clock_seat, now)
        if self.lost_on_time is None and not game.is_over:
            self.lost_on_time = self.clock.loser(now)
            if self.lost_on_time is not None:
                self.match, self.main = game, None
                await self.changed()
        self._show_clock()

    def _show_clock(self) -> None:
        self.layout.clock_row.set_visibility(self.clock is not None)
        if self.clock is None:
            return
        for seat, label in enumerate(self.layout.clocks):
            left = self.clock.left(seat, time.monotonic())
            label.text = clock_text(left)
            label.classes(**{"add" if self._clock_seat == seat else "remove": "on"})
            label.classes(**{"add" if left < SHORT else "remove": "short"})

    @property
    def result(self) -> Result | None:
        if self.lost_on_time is None or self.main is not None:
            return super().result
        outcome = -1 if self.lost_on_time == 0 else 1
        return result_for(outcome, frozenset(self.match.human_seats), "on time")

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
