"""The page of Minesweeper."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import numpy as np
from nicegui import background_tasks, ui
from starlette.requests import Request

from ...core.errors import UserError, require
from ...core.runs.index.playable import runs_of
from ...envs.minesweeper.difficulty import count_3bv
from ...envs.minesweeper.game import View
from ...envs.minesweeper.variant import FLAGGED, HIDDEN
from .. import shell
from ..clickable import LEFT, RIGHT, Clickable, Pick, parse_id
from ..event_loop import in_thread
from ..game_page import GamePage, Visit, read_visit
from ..match_panel import HistoryBar, Result
from ..players import Player, chosen
from ..saved_games import SavedGame
from ..services import Services
from . import PAGE, advice, board
from .advice import EXACT, NONE, Advice, Advisor, Mistake, odds_sources, players_of
from .match import MinesweeperMatch, Stopwatch, read_size
from .panels import GUESSING, Editor, Panel, count_game, custom_position, describe_consistency, show_statistics

DEFAULTS = {"board": "9x9x10", "guess": "luck", "odds": NONE, "agent": EXACT}


async def build(services: Services, request: Request) -> None:
    visit = await in_thread(read_visit, services, PAGE.path, request)
    players = players_of(await in_thread(runs_of, services.folders, "minesweeper"))
    ui.timer(0, MinesweeperPage(visit, players).open, once=True)


def prepare(services: Services) -> None:
    """Load the compiled solver."""
    match = MinesweeperMatch("9x9x10", np.random.default_rng(0), no_guess=True)
    match.click(40)
    Advisor(services, players_of([]), 9, 9).advise(EXACT, match.view, np.random.default_rng(0))


class MinesweeperPage(GamePage[MinesweeperMatch]):
    """Requests are handled one after the other, so that none applies to an earlier game. Only a hint waits for no
    other and stops none: it is dropped when the position changes.
    """

    path = PAGE.path

    def __init__(self, visit: Visit, players: dict[str, Player]) -> None:
        super().__init__(visit, players, DEFAULTS)
        self.rng = self.services.rng()
        self.has_match = False  # the match exists
        self._begun: dict[str, str] = {}  # its choices
        self.custom: View | None = None  # a position set up by hand
        self.advice: Advice | None = None
        self.mistakes: list[Mistake] | None = None  # of a match that is over, once they are found
        self._examined: MinesweeperMatch | None = None  # the match whose mistakes are searched for
        self._is_counted = False  # in the statistics, or over when it was opened
        self.queued: list[int] = []  # safe reveals of the latest decision, to play next
        self.cursor: int | None = None
        self.playing = False
        self._examination: asyncio.Task[None] | None = None  # that looks for the mistakes of the match
        self.stopwatch = Stopwatch()
        self._play_loops = 0  # starts of `play_on`: only the latest loop continues
        self._lock = asyncio.Lock()
        self._advisor: tuple[tuple[int, ...], Advisor] | None = None
        rows, cols, _ = read_size(self.setup["board"])
        self.add_layout()
        with self.status.line:
            self.left = _count("flag", "mines minus flags").classes("ms-left")
            self.clock = _count("timer", "seconds since the first reveal").classes("ms-clock")
        with self.stage:
            self.board = Clickable(board.draw(np.full((rows, cols), HIDDEN, np.int8)), self._picked)
        with self.actions, ui.row().classes("gap-2 items-center"):
            ui.button("New board", icon="replay", on_click=self.new_game).classes("new-game")
            again = ui.button("Same board again", icon="refresh", on_click=self.same_board)
            self.again = again.props("outline").classes("same-board")
            self.add_share_button()
        with self.details:
            self.editor = Editor(self.show_position)
        self.panel = Panel(self, self.hint, self.step, self.play_on, self.edit_position)
        with self.actions, ui.row().classes("w-full items-center justify-between gap-0"):
            self.history = HistoryBar(self.look_at, self.look_by, self.review)
            self.flagging = ui.switch("Flag mode").classes("flag-mode")
            self.flagging.tooltip("a click or tap plants a flag, a right click or long press reveals")
        self.shortcuts |= {"n": self.new_game, "h": self.hint, "s": self.step, "p": self.play_on}
        self.shortcuts["Escape"] = self.panel.hint.cancel
        self.busy.on_change = self._keep_time
        shell.prevent_scrolling()
        ui.timer(0.5, self._show_clock)
        ui.keyboard(self.key)

    def _show_clock(self) -> None:
        self.clock.text = f"{self.seconds:.0f}" if self.custom is None else "-"

    async def do(self, work: Callable[[], Awaitable[None] | None] = lambda: None) -> None:
        """Handle one request after the previous ones, and show its result; raise its error."""
        async with self._lock:
            if not self.has_match:
                await self._begin()
            self.cancel_decisions()
            try:
                await shell.maybe_await(work())
            except Exception:  # CancelledError passes: the tab is closed
                self.playing = False
                await self.show()
                raise
            self.save()
            await self.show()

    # Games

    async def open(self) -> None:
        await self.do()

    async def new_game(self) -> None:
        await self.do(self._leave_and_begin)

    async def same_board(self) -> None:
        """Start again with the mines and the first reveal of this game, which then does not count."""

        async def begin() -> None:
            start, first = self.match.start | {"help": "seen"}, self.match.first_reveal
            require(first is not None, "reveal a cell first: the mines are placed then")
            await self._leave_and_begin()
            await self.busy.do(self.match.restore, start, [first])
            self._keep_time(self.busy.working)

        await self.do(begin)

    async def _leave_and_begin(self) -> None:
        self.leave()
        self.stopwatch = Stopwatch()
        await self._begin()

    async def _begin(self) -> None:
        if self._examination is not None:
            self._examination.cancel()  # else the clock would wait for it
        begun, no_guess = {name: self.setup[name] for name in ("board", "guess")}, self.setup["guess"] == "none"
        is_seen = self.has_match and self.match.first is not None and self.match.started and begun == self._begun
        self.match = await self.busy.do(MinesweeperMatch, begun["board"], self.services.rng(), no_guess)
        self.match.help = "seen" if is_seen else ""
        self._begun, self.ply, self.has_match = begun, None, True
        saved = self.saved
        await self.load_saved()
        if saved is not None:
            away = time.time() - saved.updated if self.match.started and not self.match.is_over else 0.0
            self.stopwatch = Stopwatch(saved.seconds + away)  # a refresh does not stop the clock
        self._is_counted = self.match.is_over
        self._keep_time(self.busy.working)
        show_statistics(begun["board"] if self.match.first is None else "of a day", self.match.no_guess)
        self.custom, self.advice, self.queued, self.mistakes = None, None, [], None
        self.playing = False
        if self.cursor is not None and self.cursor >= self.match.game.cells:
            self.cursor = None
        self.editor.edit(None)

    async def follow(self, game: SavedGame) -> None:
        await self.do(lambda: super(MinesweeperPage, self).follow(game))

    def adopt(self, game: SavedGame) -> None:
        super().adopt(game)
        self.advice, self.queued, self._is_counted = None, [], self._is_counted or self.match.is_over
        self.stopwatch = Stopwatch(game.seconds)
        self._keep_time(self.busy.working)

    def give_way(self) -> None:
        super().give_way()
        self.playing = False

    @property
    def match_setup(self) -> dict[str, str]:
        """Another board may have been chosen for the next match, which waits for what the page is doing."""
        return self.setup | self._begun

    def check_choice(self, name: str, value: str) -> None:
        if name == "board":
            read_size(value)
        else:
            options = {"guess": GUESSING, "odds": odds_sources(self.players), "agent": self.players}
            chosen(options[name], value, name)

    async def apply_choice(self, name: str) -> None:
        """Start a new game after a change of the board, but not of odds or agent."""
        self.advice, self.queued = None, []
        await (self.new_game() if name in ("board", "guess") else self.do())

    async def _picked(self, pick: Pick) -> None:
        await self.do(lambda: self._touch(pick))

    async def _touch(self, pick: Pick) -> None:
        cell, button = parse_id(pick.part, "cell", self._view().visible.size), pick.button
        if self.custom is not None:
            visible = self.custom.visible.copy()
            visible.ravel()[cell] = HIDDEN if button == RIGHT else self.editor.brush
            self.custom = custom_position(visible, self.custom.mines)
            self.editor.edit(self.custom)
            return
        match = self._game()
        require(self.ply is None or match.is_over, "this is an earlier position: return to the latest one to move")
        if match.is_over or (button == RIGHT and match.value(cell) >= 0):
            return  # harmless
        self.advice, self.queued = None, []
        if self.flagging.value and match.value(cell) < 0:
            button = LEFT if button == RIGHT else RIGHT
        await self.busy.do(match.flag if button == RIGHT else match.click, cell)

    def _game(self) -> MinesweeperMatch:
        require(self.custom is None, "this position was set up by hand: return to the game to play")
        return self.match

    def _view(self) -> View:
        return self.match.game.view(self.state) if self.custom is None else self.custom

    @property
    def seconds(self) -> float:
        return self.stopwatch.seconds

    def _keep_time(self, working: bool) -> None:
        """Count the seconds of a game while the page waits for the player, not while the player waits for it."""
        if working or not self.has_match or not self.match.started or self.match.is_over:
            self.stopwatch.stop()
        else:
            self.stopwatch.run()

    # Agents

    async def hint(self) -> None:
        """Ask the agent without stopping the player; a second request cancels the first."""
        if self.panel.hint.is_searching or not self.has_match:
            self.panel.hint.cancel()
            return
        view = self._view()
        require(not view.over, "the game is over")
        self._note_help("hint")
        self.save()
        advise, key = self._advisor_for(view).advise, self.setup["agent"]
        found = await self.panel.hint.search(
            lambda token: self.busy.search(lambda: not token.is_cancelled, token.run, advise, key, view, self.rng)
        )
        self.advice, self.queued = found, list(found.also)
        await self.show()

    def cancel_decisions(self) -> None:
        """Wait no longer for what belongs to the previous position, so that the clock goes on."""
        super().cancel_decisions()
        self.panel.hint.cancel()

    async def review(self) -> None:
        """Show the position before the first mistake of a game that was lost, or else before its last move."""
        first = self.mistakes[0].number if self.mistakes else len(self.match.moves)
        await self.look_at(first - 1 if self.match.outcome == -1 else 0)

    async def look_at(self, ply: int) -> None:
        if self.custom is None and self.has_match:
            self.advice, self.queued, self.playing = None, [], False
            await super().look_at(ply)

    async def step(self) -> None:
        await self.do(self._step)

    async def _step(self) -> None:
        match = self._game()
        require(self.ply is None, "this is an earlier position: return to the latest one to move")
        ready = self.advice is not None and self.advice.action is not None and self._is_open(self.advice.action)
        self.queued = [cell for cell in self.queued if self._is_open(cell)]
        if not ready and self.queued and self.advice is not None:
            self.advice = Advice(self.queued[0], f"{len(self.queued)} safe cells left.")
        elif not ready:
            view = self._view()
            require(not view.over, "the game is over")
            self.advice = await self.busy.do(self._advisor_for(view).advise, self.setup["agent"], view, self.rng)
            self.queued = list(self.advice.also)
        assert self.advice is not None
        if self.advice.action is None:
            raise UserError(self.advice.text)
        self._note_help("agent")
        await self.busy.do(match.play, self.advice.action)

    def _note_help(self, kind: str) -> None:
        """Note that the match does not count: the player had a hint or odds, or an agent made a move."""
        if self.custom is None and self.match.help != "agent":
            self.match.help = kind

    def _is_open(self, action: int) -> bool:
        return self._game().value(action % self._game().game.cells) < 0

    async def play_on(self) -> None:
        """Let the agent play until it is stopped or the game is over."""
        self.playing = not self.playing
        self._play_loops += 1
        this = self._play_loops
        await self.do()
        while self.playing and this == self._play_loops and not self.match.is_over:
            await self.step()
            await asyncio.sleep(1 / self.panel.speed)

    def _advisor_for(self, view: View) -> Advisor:
        if self._advisor is None or self._advisor[0] != view.visible.shape:
            self._advisor = view.visible.shape, Advisor(self.services, self.players, *view.visible.shape)
        return self._advisor[1]

    # Positions set up by hand

    async def edit_position(self) -> None:
        def edit() -> None:
            view = self._view()
            self._note_help("hint")
            self._edit(custom_position(view.visible, view.mines))

        await self.do(edit)

    async def show_position(self, position: View | None) -> None:
        """Analyze a position set up by hand, or return to the game."""
        await self.do(lambda: self._edit(position))

    def _edit(self, position: View | None) -> None:
        self.custom, self.advice, self.queued = position, None, []
        if position is not None:
            self.cursor, self.playing = None, False
        self.editor.edit(position)

    # Display

    async def show(self, moved: bool = False) -> None:
        view = self._view()
        odds = None
        text = self.advice.text if self.advice else ""
        with shell.show_errors():
            odds, note = await self._evaluate(view)
            text = text or note
        over = self.custom is None and self.ply is None and self.match.is_over
        if over:
            self.playing, self.advice = False, None
            self._examine()
            if not self._is_counted and not self.match.help:
                self._is_counted = True
                count_game(self.match.outcome == 1, self.seconds, count_3bv(self.match.mines))
        outcome = (self.match.outcome or 0) if over else 0
        visible = np.where(self.match.mines, FLAGGED, view.visible) if outcome == 1 else view.visible
        self.board.draw(board.draw(visible, self._marks(odds, over)))
        self.show_match_panel()
        self._show_clock()
        self.again.set_enabled(self.match.started)
        self.panel.legend.classes(remove="on", add=None if odds is None else "on")
        self.left.text = str(self.custom.mines if self.custom else 0 if outcome == 1 else self.match.mines_left)
        self.panel.show(text, self.playing)

    async def _evaluate(self, view: View) -> tuple[np.ndarray | None, str]:
        """Return the odds if they are shown, and a text: whether a custom position is consistent."""
        source = self.setup["odds"] if self.custom is None or self.setup["odds"] != NONE else EXACT
        if self.custom is None and self.ply is None and self.match.is_over:
            lost = self.match.outcome == -1
            words = await self.busy.do(advice.describe_loss, self.match) if lost else ""
            return None, f"{words} {advice.describe_mistakes(self.mistakes or (), len(self.match.moves))}".strip()
        text = await self.busy.do(describe_consistency, view) if self.custom else str(self._mistake or "")
        if self.custom is None and self.match.first is not None and not self.match.started:
            text = "The same board for everybody, until midnight UTC. It needs no guess. Begin at the marked cell."
        if source == NONE or view.over:
            return None, text
        self._note_help("hint")
        if self.custom is None and (view.visible < 0).all():
            return None, "The first reveal is always safe, so there are no odds yet."
        return await self.busy.do(self._advisor_for(view).odds, source, view), text

    def _examine(self) -> None:
        """Search for the mistakes of a match that is over behind the page, and show them."""
        match = self.match
        if self._examined is match:
            return
        self._examined = match

        async def find() -> None:
            with self.client:
                mistakes = await self.busy.search(lambda: match is self.match, advice.find_mistakes, match)
                if match is self.match:
                    self.mistakes = mistakes
                    await self.show()

        self._examination = background_tasks.create(find(), name="find mistakes")

    @property
    def _mistake(self) -> Mistake | None:
        """The mistake that the next move of the position shown is."""
        return next((one for one in self.mistakes or () if self.custom is None and one.number == self.now + 1), None)

    def _marks(self, odds: np.ndarray | None, over: bool) -> board.Marks:
        begins = None if self.custom or self.match.started else self.match.first
        shown = self.advice or Advice(self._mistake.safe if self._mistake else begins, "")
        return board.Marks(
            odds=odds,
            hint=None if shown.action is None else shown.action % self._view().visible.size,
            risky=shown.risky,
            also=() if over else shown.also,
            proof=() if over else shown.proof,
            cursor=self.cursor,
            mines=self.match.mines if over else None,
            exploded=self.match.exploded if over else None,
        )

    @property
    def result(self) -> Result | None:
        found = super().result if self.custom is None else None
        if found is None or self.match.help != "agent":
            return found
        return found._replace(words="Solved with an agent" if self.match.outcome == 1 else "Lost with an agent")

    def headline(self) -> str:
        if self.custom is not None:
            return "A position set up by hand"
        if self.ply is not None or self.match.is_over:
            return super().headline()
        begins = "Reveal any cell" if self.match.first is None else "The board of the day"
        return "Playing" if self.match.started else begins

    def result_detail(self) -> str:
        left = np.count_nonzero((self.match.view.visible < 0) & ~self.match.mines)
        score = "every safe cell is revealed" if self.match.outcome == 1 else f"{left} safe cells were left"
        return f"{score}, {self.seconds:.2f} s"

    async def press(self, name: str, repeated: bool = False) -> None:
        if name in shell.ARROWS:
            await self.do(lambda: self._move(*shell.ARROWS[name]))
        elif name in ("Enter", " ", "f") and self.cursor is not None:
            await self._picked(Pick(f"cell-{self.cursor}", RIGHT if name == "f" else LEFT))
        else:
            await super().press(name, repeated)

    def _move(self, right: int, down: int) -> None:
        rows, cols = self._view().visible.shape
        row, col = divmod(self.cursor, cols) if self.cursor is not None else (rows // 2 - down, cols // 2 - right)
        self.cursor = (row + down) % rows * cols + (col + right) % cols


def _count(icon: str, meaning: str) -> ui.label:
    with ui.element("div").classes("ms-count").tooltip(meaning):
        ui.icon(icon)
        return ui.label()
