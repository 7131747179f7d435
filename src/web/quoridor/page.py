"""The page of Quoridor."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import numpy as np
from nicegui import events, ui
from starlette.requests import Request

from ...core.errors import UserError, require
from ...core.interrupt import CancelledWorkError
from ...core.runs.index.playable import runs_of
from ...envs.quoridor.agents import MasterAgent
from ...envs.quoridor.game import Quoridor
from ...envs.quoridor.play_by_hand import toward, why_not
from .. import shell
from ..clickable import RIGHT, TOUCH, Clickable, Pick, parse_id
from ..event_loop import in_thread
from ..game_page import GamePage, Visit, read_visit
from ..match import SeededMatch, first_difference
from ..match_panel import HintButton, Result, result_for
from ..players import AgentCache, Player, search_comment
from ..saved_games import SavedGame
from ..services import Services
from . import PAGE, panels
from .board import Marks, Mode, draw
from .clock import TIMES, ClockPanel, read_clock
from .match import DEEP, DEFAULTS, SEATS, QuoridorMatch, Variations, players_of, read_variations, run_game
from .panels import Board, ThinkingRow, add_button
from .review import ReviewPanel
from .searches import LEVEL, Analyst, Evaluation, TimedPlayer

LONG = 1.0  # seconds before an agent is said to think
TICK = 0.2  # seconds between updates of the clocks
BROWSING = {"ArrowLeft": -1, "ArrowRight": 1}  # plies, while an earlier position is shown
KEYS = {
    **{"arrows": "move the pawn", "H, V": "walls of one direction", "Esc": "back to both, cancel a hint", "?": "hint"},
    **{"U": "take back", "[ ], Home, End": "look back and forward", "F": "turn the board", "M": "find mistakes"},
    **{"N": "new game", "P": "stop an agent, or let it continue", "S": "one move of two agents"},
}
DELAYS = 0, 2
KEY_TAKERS: list[Literal["input", "select", "button", "textarea"]] = ["input", "select", "textarea"]  # not buttons
MODES = {Mode.BOTH: "Pawn + walls", Mode.HORIZONTAL: "― wall", Mode.VERTICAL: "| wall"}


async def build(services: Services, request: Request) -> None:
    visit = await in_thread(read_visit, services, PAGE.path, request)
    page = QuoridorPage(visit, *await in_thread(_game_and_players, services))
    ui.timer(TICK, page.tick)
    ui.timer(0, page.open, once=True)


def prepare(services: Services) -> None:
    game, players = _game_and_players(services)
    load_engine(game, AgentCache(services, game, players))


def load_engine(game: Quoridor, agents: AgentCache) -> None:
    """Call what the page needs; compilation on first use takes a minute."""
    state = game.initial(np.random.default_rng(0))
    game.play(state, game.legal_actions(state)[0])
    game.shortest_path(state, 0)
    agents.agent(LEVEL).analyze(game, state, 1)
    master = agents.agent(DEEP)
    assert isinstance(master, MasterAgent)
    next(master.new_search(game).deepen(state))


def _game_and_players(services: Services) -> tuple[Quoridor, dict[str, Player]]:
    game = services.game("quoridor")
    assert isinstance(game, Quoridor)
    return game, players_of(runs_of(services.folders, "quoridor"))


class QuoridorPage(GamePage[QuoridorMatch]):
    path, seats = PAGE.path, SEATS
    reply_delay = 0.35

    def __init__(self, visit: Visit, game: Quoridor, players: Mapping[str, Player]) -> None:
        super().__init__(visit, players, DEFAULTS)
        self.game, self.rng = game, self.services.rng()
        self.agents = AgentCache(self.services, game, players, partial(run_game, self.services, game))
        self.match = self.new_match()
        self.main: QuoridorMatch | None = None  # the game, while a variation of it is the match
        self.variations = Variations()
        self.ready = asyncio.Event()  # set once the compiled engine and the saved game are loaded
        self.paused, self.watching_delay = False, 0.5
        self.mode, self.flipped = Mode.BOTH, False
        self.armed: str | None = None  # the wall that a second click places
        self.hints: tuple[str, ...] = ()
        self.puzzle: int | None = None  # the number of the mistake for which a better move is to be found
        self.evaluation = Evaluation(0.5, "", {})
        self.shortcuts |= {
            "?": self.hint,
            "f": self.flip,
            "p": self.pause,
            "s": self.step,
            "Home": lambda: self.look_at(0),
            "End": lambda: self.look_at(len(self.match.moves)),
            "m": self.find_mistakes,
        }
        shell.prevent_scrolling("Home", "End", ignored=KEY_TAKERS)
        ui.keyboard(self.key, repeating=False, ignore=KEY_TAKERS)
        self.add_layout()
        with self.stage.classes("qr-board"):
            self.bar = ui.html("", sanitize=False).classes("qr-bar-box")
            self.board = Board(self.pick, self.play_named)
        self.add_match_actions()
        with self.actions:
            self._add_actions()
        with self.details:
            with ui.row().classes("w-full gap-2"):
                for seat, name in enumerate(SEATS):
                    self.dropdown(name, self.titles, f"Player {seat + 1}").classes(f"qr-seat qr-{name}")
            clock = shell.dropdown(TIMES, self.time.total, "Clock", lambda event: self.choose("clock", event.value))
            clock.classes("qr-times")
            self._add_moves()
            with ui.row(wrap=False).classes("w-full items-center"):
                self.evaluation_label = ui.label().classes("subtitle grow qr-evaluation")
                self.with_paths = ui.switch("Paths", value=True, on_change=lambda: self.redraw())
            self.factors = ui.html("", sanitize=False).classes("w-full qr-factors")
            self.hint_list = Clickable("", lambda pick: self.play_named(pick.part)).classes("w-full qr-hints")
            shell.add_keys(KEYS)
        for cancel in (self.analyst.cancel_evaluation, self.review_panel.cancel):
            self.client.on_delete(cancel)  # what would go on without the page
        self.redraw()

    def new_match(self) -> QuoridorMatch:
        seed = int(self.services.rng().integers(SeededMatch.SEEDS))
        return QuoridorMatch(self.game, self.game.initial(self.rng), self.human_seats, seed)

    def agent_rng(self) -> np.random.Generator:
        return self.match.rng()

    async def open(self) -> None:
        await self.busy.do(load_engine, self.game, self.agents)
        try:
            await self.load_saved()
        finally:
            self.ready.set()
        await self.changed()

    # Layout

    def _add_actions(self) -> None:
        titles = {str(mode): title for mode, title in MODES.items()}
        self.modes = ui.toggle(titles, value=str(Mode.BOTH)).props("unelevated").classes("qr-modes")
        self.modes.on_value_change(lambda event: self.switch_to(shell.checked(event.value, Mode)))
        with ui.row().classes("gap-2 w-full no-wrap"):
            self.hint_button = HintButton(self.hint).props("outline").classes("qr-do-lightbulb")
            add_button("Turn board", "swap_vert", self.flip)
        self.time = ClockPanel(self.setup["clock"], SEATS)
        self.analyst = Analyst(self.game, self.agents, self.busy, self.rng)
        self.timed_player = TimedPlayer(self.game, self.agents, lambda words: self.thinking.show(words, has_move=True))
        self.thinking = ThinkingRow(self.timed_player.move_now, self.cancel_move, self.pause)
        with ui.row().classes("gap-2 items-center") as self.watch_row:
            self.pause_button = add_button("Pause", "pause", self.pause)
            add_button("Step", "skip_next", self.step)
            ui.label("seconds per move").classes("faint")
            low, high = DELAYS
            delay = ui.slider(min=low, max=high, step=0.1, value=self.watching_delay, on_change=self._set_delay)
            delay.classes("qr-delay").props('label aria-label="seconds per move"')

    def _set_delay(self, event: events.ValueChangeEventArguments) -> None:
        self.watching_delay = shell.between(event.value, *DELAYS)

    def _add_moves(self) -> None:
        ui.label("Moves").classes("subtitle")
        self.move_list = Clickable("", self.pick_ply).classes("w-full qr-movebox")
        self.return_button = add_button("Return to the game", "undo", self.leave_variation).classes("qr-return")
        self.variation_list = Clickable("", self.pick_variation).classes("w-full")
        self.review_panel = ReviewPanel(
            self.analyst.judge, self.find_mistakes, self.practice, self.pick_ply, self.redraw
        )
        typed = ui.input("Type a move", placeholder="e2 or e3h").props("dense outlined").classes("w-full qr-typed")

        async def play_typed() -> None:
            name, typed.value = str(typed.value or "").strip().lower(), ""
            await self.play_named(name)

        typed.on("keydown.enter", play_typed)
        with ui.expansion("Position and game as text", icon="content_paste").classes("w-full qr-texts"):
            text = ui.textarea(placeholder="paste moves such as e2 e8 e3 e3h, a saved game or a position")
            text.props("outlined dense").classes("w-full qr-text")

            def copy(words: str) -> None:
                text.value = words
                shell.copy(words)

            with ui.row().classes("gap-2"):
                add_button("Load", "upload", lambda: self.load(str(text.value or "")))
                add_button("Copy position", "content_copy", lambda: copy(self.game.write_position(self.state)))
                add_button("Copy game", "save", lambda: copy(self.match.write()))

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
            paths=paths if self.with_paths.value else None,
            last=self.game.move_name(before, self.match.moves[self.now - 1]) if before else None,
            origin=before.pawns[self.game.to_move(before)] if before and moved else None,
        )

    def redraw(self, moved: bool = False) -> None:
        self.board.draw(draw(self.game.size, self.state, self.marks(moved)))
        self._show_panels()

    def _show_panels(self) -> None:
        match = self.match
        self.show_match_panel(self._note(), self.main is None)
        self.evaluation_label.text = self.evaluation.text or "…"
        style = f"{'top' if self.turned else 'bottom'}:0;height:{100 * self.evaluation.share:.1f}%"
        self.bar.content = f'<div class="qr-bar"><div class="qr-bar-first" style="{style}"></div></div>'
        self.factors.content = panels.factor_bars(self.evaluation.parts)
        signs = self.review_panel.signs(match)
        self.move_list.draw(panels.move_list(match.names(), match.at(0).ply, self.now, signs))
        self.review_panel.show(match, self.now)
        self.variation_list.draw(self.variations.html(self.main or match, match.moves if self.main else None))
        self.return_button.set_visibility(self.main is not None)
        if not self.hints:
            self.hint_list.draw(panels.NO_HINTS)
        self.watch_row.set_visibility(self.watching)
        if self.paused and self.agent_to_move and not self.watching:
            self.thinking.show(f"cancelled; it is the turn of {self.mover}", is_running=False)
        elif not self.agent_moves:
            self.thinking.hide()
        self.pause_button.text = "Continue" if self.paused else "Pause"
        self.pause_button.icon = "play_arrow" if self.paused else "pause"
        self.modes.value = str(self.mode)

    def headline(self) -> str:
        words = super().headline()
        return words if self.main is None else f"Variation: {words[0].lower()}{words[1:]}"

    def _note(self) -> str:
        if not self.ready.is_set():
            return "Loading the engine; the first time it is compiled, which takes a minute."
        if self.main is not None:
            return f"{'Right. ' * (self.puzzle is not None)}You play both sides; the game is kept."
        if self.puzzle is not None:
            return f"Find a better move than {self.match.names()[self.puzzle]}."
        if self.ply is not None:
            return "Play another move to try it, or go on to the latest one."
        if self.armed is not None:
            return f"{self._again} again to place {self.armed}."
        comment = search_comment(self.match.notes[-1]) if self.match.notes else ""
        return f"Move {self.match.state.ply // 2 + 1}. {comment}"

    async def show(self, moved: bool = False) -> None:
        self.redraw(moved)
        position = self.state
        evaluation = await self.analyst.evaluate(position)
        if evaluation is not None and position == self.state:
            self.evaluation = evaluation
            self._show_panels()

    # Moves

    @property
    def watching(self) -> bool:
        return not self.human_seats

    @property
    def agent_to_move(self) -> bool:
        return super().agent_moves and self.time.loser is None

    @property
    def agent_moves(self) -> bool:
        return self.agent_to_move and not self.paused

    @property
    def human_to_move(self) -> bool:
        return super().human_to_move and (self.time.loser is None or self.main is not None)

    @property
    def can_play(self) -> bool:
        """Whether a move can be made in the position shown: in the game, or as a variation of it."""
        return self.human_to_move or (self.ply is not None and self.game.outcome(self.state) is None)

    def begin_turn(self) -> None:
        super().begin_turn()
        if self.main is None:
            self.variations.forget_played(self.match.moves)
        self.time.run(self._clock_seat)
        self.hints, self.armed = (), None

    async def decide(self) -> tuple[int, Mapping[str, Any]]:
        token, row = self.token, self.thinking
        row.hide()
        note = asyncio.get_running_loop().call_later(LONG, row.show, f"{self.mover} thinks")
        try:
            if self.player_keys[self.match.seat] != DEEP:
                return await super().decide()
            note.cancel()  # it reports what it is doing
            return await self.timed_player.decide(self.busy, token, self.match.state), {}
        finally:
            note.cancel()
            if token is self.token:
                row.hide()

    async def cancel_move(self) -> None:
        """Stop the search of the agent to move, which waits until it is continued."""
        if self.agent_to_move:  # else it has moved before the click arrived
            self.paused = True
            await self.changed()

    async def pause(self) -> None:
        """Pause an agent, and stop its search, or let it continue."""
        require(self.watching or self.agent_to_move, "there is no agent to pause: it is your turn")
        self.paused = not self.paused
        self.shared.lead(self)
        await self.changed()

    async def step(self) -> None:
        """Pause, and play one ply of two agents."""
        await self.ready.wait()
        require(self.watching, "step needs two agents: choose an agent for both players")
        require(not self.match.is_over, "the game is over")
        self.paused = True
        self.shared.lead(self)
        self.cancel_decisions()
        token, (action, _) = self.token, await self.decide()
        if token is self.token:
            await self.play(action)

    def _require_time(self) -> None:
        require(self.time.loser is None or self.main is not None, "the time is over: start a new game")

    def require_human_turn(self) -> None:
        self._require_time()
        super().require_human_turn()

    def read_move(self, name: str) -> int:
        """Parse a move in the position shown; raise `UserError` if it is illegal or not a person's turn."""
        if self.ply is None:
            self.require_human_turn()
        if (reason := why_not(self.game, self.state, name)) is not None:
            raise UserError(reason)
        return self.game.parse_move(self.state, name)

    async def take_back(self) -> None:
        await self.ready.wait()
        self._require_time()
        moves = list(self.match.moves)
        self.match.take_back()
        self.is_rated = self.is_rated and self.main is not None
        if self.main is not None and self.match.moves == self.main.moves[: len(self.match.moves)]:
            self.variations.remove(moves)
            await self.leave_variation()
        else:
            self.paused = self.watching
            await self.changed()

    async def load(self, text: str) -> None:
        await self.ready.wait()
        match = self.new_match()
        match.read(text)  # refuses a text that cannot be read before the present game is left
        self._forget()
        self.leave()
        self.match, self.paused, self.is_rated = match, self.watching, False
        await self.changed()

    async def new_game(self) -> None:
        await self.ready.wait()
        self._forget()
        await super().new_game()

    def _forget(self) -> None:
        self.match, self.main, self.variations, self.puzzle = self.main or self.match, None, Variations(), None
        self.paused = self.paused and self.watching
        self.review_panel.reset()
        self.setup["clock"] = self.time.total
        self.time.begin(self.setup["clock"])

    def cancel_decisions(self) -> None:
        super().cancel_decisions()
        self.hint_button.cancel()

    async def play_named(self, name: str) -> None:
        await self.ready.wait()
        action, self.mode = self.read_move(name), Mode.BOTH
        if self.ply is None:
            await self.play(action)
        elif self.puzzle is not None:
            match, ply = self.match, self.ply
            try:
                judgment = await self.review_panel.judge(self.state, action, self.token)
            except CancelledWorkError:  # the game was changed meanwhile
                return
            require(not judgment.sign, f"{name} costs {judgment.loss:.0%} of the winning chances: try another move")
            if (match, ply) == (self.match, self.ply):
                await self.enter_variation([*match.moves[:ply], action])
        elif self.match.moves[self.ply] == action:
            await self.look_by(1)
        else:
            await self.enter_variation([*self.match.moves[: self.ply], action])

    # Variations

    async def enter_variation(self, moves: list[int]) -> None:
        """Show a variation, which is a match of its own; the game waits."""
        self.main = self.main or self.match
        self.match = self.main.with_moves(moves)
        await self.changed(moved=True)

    @contextmanager
    def _in_game(self) -> Iterator[None]:
        """Let the match be the game for a while, even if a variation of it is shown."""
        shown, main = self.match, self.main
        self.match, self.main = main or shown, None
        try:
            yield
        finally:
            if main is not None:
                self.match, self.main = shown, main

    def save(self) -> None:
        """Save the game with its variations, of which the match may be one."""
        self.setup["clock"] = self.time.choice
        if self.main is not None:
            self.variations.add(self.match.moves)
        with self._in_game():
            super().save()

    async def follow(self, game: SavedGame) -> None:
        await self.ready.wait()
        await super().follow(game)

    def adopt(self, game: SavedGame) -> None:
        with self._in_game():
            super().adopt(game)
        self.time.begin(self.setup["clock"])

    def give_way(self) -> None:
        super().give_way()
        self.paused = self.watching
        self.redraw()

    def variations_as_json(self) -> list[Any]:
        return self.variations.as_json()

    def restore_variations(self, variations: Sequence[Any]) -> None:
        self.variations = read_variations(self.match, variations)

    async def pick_variation(self, pick: Pick) -> None:
        await self.enter_variation(list(self.variations[parse_id(pick.part, "variation", len(self.variations))]))

    async def leave_variation(self) -> None:
        """Return to the game, to the position from which the variation begins."""
        if self.main is None:
            return
        ply = first_difference(self.main.moves, self.match.moves)
        self.match, self.main = self.main, None
        self.begin_turn()
        self.save()
        if self.agent_moves:
            await self.changed()
        else:
            await self.look_at(ply)

    # Time

    def check_choice(self, name: str, value: str) -> None:
        if name == "clock":
            read_clock(value)
        else:
            super().check_choice(name, value)

    async def apply_choice(self, name: str) -> None:
        if name == "clock":
            self.time.begin(self.setup["clock"])
            await self.changed()
        else:
            self.match, self.main = self.main or self.match, None
            self.paused = self.paused and self.watching
            await super().apply_choice(name)

    @property
    def _clock_seat(self) -> int | None:
        """The seat whose time runs: from the first move on, but not while a person waits for the page."""
        game = self.main or self.match
        if not game.moves or game.is_over or self.time.loser is not None or self.paused:
            return None
        return None if self.busy.working and game.seat in game.human_seats else game.seat

    async def tick(self) -> None:
        """Run the clock; the player whose time is over loses."""
        game = self.main or self.match
        if self.ready.is_set() and self.time.tick(self._clock_seat, game.is_over):
            self.match, self.main = game, None
            await (self.changed() if self.leads else self.show())

    @property
    def result(self) -> Result | None:
        if self.time.loser is None or self.main is not None:
            return super().result
        outcome = -1 if self.time.loser == 0 else 1
        return result_for(outcome, frozenset(self.match.human_seats), "on time")

    # Review

    async def review(self) -> None:
        await super().review()
        await self.find_mistakes()

    async def find_mistakes(self) -> None:
        """Start the review of the moves, or stop it."""
        await self.ready.wait()
        if self.review_panel.running:
            self.review_panel.cancel()
            return
        require(bool(self.match.moves), "there are no moves to review yet")
        await self.review_panel.run(self.match)

    async def practice(self) -> None:
        """Show the position before the next mistake that the review has found, to find a better move."""
        self.match, self.main = self.main or self.match, None
        found = [number for number, sign in enumerate(self.review_panel.signs(self.match)) if sign]
        people = [number for number in found if self.game.to_move(self.match.at(number)) in self.human_seats]
        found, before = people or found, -1 if self.puzzle is None else self.puzzle
        require(bool(found), "find mistakes first")
        self.puzzle = next((number for number in found if number > before), found[0])
        await self.look_at(self.puzzle)

    # User actions

    async def pick(self, pick: Pick) -> None:
        """Play the clicked move; in a wall mode, or by touch, a first click previews the wall, a second places it."""
        await self.ready.wait()
        if pick.button == RIGHT:
            self.switch_to(Mode.VERTICAL if self.mode == Mode.HORIZONTAL else Mode.HORIZONTAL)
        elif (self.mode != Mode.BOTH or pick.button == TOUCH) and pick.part != self.armed:
            self.read_move(pick.part)
            self.armed, self._again = pick.part, "Tap" if pick.button == TOUCH else "Click"
            self.redraw()
        else:
            await self.play_named(pick.part)

    def switch_to(self, mode: Mode) -> None:
        self.mode, self.armed = mode, None
        self.redraw()

    async def look_at(self, ply: int) -> None:
        """Show an earlier position; a match of two agents is paused."""
        self.hints = ()
        self.hint_button.cancel()
        self.puzzle = self.puzzle if self.puzzle == ply else None
        if self.watching and ply < len(self.match.moves):
            self.paused = True
            self.cancel_decisions()
        await super().look_at(ply)

    async def hint(self) -> None:
        """Search for the best moves in the position shown, whatever else is searched; a second request cancels it."""
        await self.ready.wait()
        if self.hint_button.is_searching:
            self.hint_button.cancel()
            return
        require(self.game.outcome(self.state) is None, "the game is over")
        position, self.is_rated = self.state, False
        lines = await self.hint_button.search(lambda token: self.analyst.hint(position, token))
        self.hints = tuple(names[0] for _, names in lines)
        self.redraw()
        self.hint_list.draw(panels.hint_list(lines))

    def flip(self) -> None:
        self.flipped = not self.flipped
        self.redraw()

    async def press(self, name: str, repeated: bool = False) -> None:
        if name in BROWSING and self.ply is not None:
            await self.look_by(BROWSING[name])
        elif name in shell.ARROWS:
            await self._walk(*shell.ARROWS[name])
        elif name in (Mode.HORIZONTAL, Mode.VERTICAL):
            self.switch_to(Mode.BOTH if self.mode == name else Mode(name))
        elif name == "Escape" and self.hint_button.is_searching:
            self.hint_button.cancel()
        elif name == "Escape":
            self.mode = Mode.BOTH
            if self.main is not None and self.ply is None:
                await self.leave_variation()
            else:
                await self.look_at(len(self.match.moves))
        else:
            await super().press(name, repeated)

    async def _walk(self, right: int, down: int) -> None:
        await self.ready.wait()
        if not self.human_to_move:
            return
        side = -1 if self.turned else 1
        action = toward(self.game, self.match.state, side * right, -side * down)
        if action is None:
            raise UserError("your pawn cannot go there, or in more than one way: click the cell")
        await self.play(action)
