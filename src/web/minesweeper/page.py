"""The page of Minesweeper: what happens when something is clicked."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import numpy as np
from nicegui import events, ui
from starlette.requests import Request

from src.core.errors import LabError, require
from src.envs.minesweeper.game import View
from src.envs.minesweeper.variant import HIDDEN
from src.web import shell
from src.web.drawing import LEFT, RIGHT, Drawing, Pick, numbered
from src.web.lab import Lab, finished_runs
from src.web.minesweeper import picture
from src.web.minesweeper.advice import EXACT, NONE, Advice, Crew, advise, odds_sources, players
from src.web.minesweeper.panel import GUESSING, Panel
from src.web.minesweeper.sketch import Sketch, verdict
from src.web.minesweeper.sweep import Sweep, read_size
from src.web.minesweeper.tools import Tools
from src.web.players import Player, chosen

ENDINGS = {1: "Swept: every safe cell is found.", 0: "The game was cut off.", -1: "Boom: that was a mine."}
ARROWS = {"ArrowUp": (-1, 0), "ArrowDown": (1, 0), "ArrowLeft": (0, -1), "ArrowRight": (0, 1)}


async def build(lab: Lab, request: Request) -> None:
    """The page for what its address asks for; what cannot be is told, and left as usual."""
    wanted = {name: request.query_params.get(name, "") for name in ("board", "guess", "odds", "agent")}
    runs = await asyncio.to_thread(
        lambda: [run for run in finished_runs(lab.folders) if run.env.startswith("minesweeper")]
    )
    people = players(runs)
    setup = {"board": "9x9x10", "guess": "luck", "odds": NONE, "agent": EXACT}
    for name, value in wanted.items():
        with shell.refusals_told():
            if value:
                check_choice(people, name, value)
                setup[name] = value
    screen = Screen(lab, people, setup)
    ui.timer(0.05, lambda: screen.do(_nothing), once=True)


def check_choice(people: Mapping[str, Player], name: str, value: str) -> None:
    """Raise `LabError` where a choice is none, whether it comes from an address or from the page."""
    if name == "board":
        read_size(value)
    else:
        options = {"guess": GUESSING, "odds": odds_sources(people), "agent": people}
        chosen(options[name], value, name)


class Screen:
    """One tab. What is asked for is done one after the other, so nothing is answered for a game that is gone."""

    def __init__(self, lab: Lab, people: dict[str, Player], setup: dict[str, str]) -> None:
        self.lab, self.people, self.setup = lab, people, setup
        self.rng = lab.rng()
        self.sweep: Sweep | None = None
        self.sketch: Sketch | None = None
        self.advice: Advice | None = None
        self.ahead: list[int] = []  # what the agent will reveal next without thinking again
        self.cursor: int | None = None
        self.playing = False
        self._rounds = 0  # how often playing on was begun, so that only the latest goes on
        self._turn = asyncio.Lock()
        self._shortcuts = {"n": self.new_game, "h": self.hint, "s": self.step, "p": self.play_on}
        self._crew: tuple[tuple[int, ...], Crew] | None = None
        self._layout()

    def _layout(self) -> None:
        ui.add_css(picture.STYLE)
        rows, cols, _ = read_size(self.setup["board"])
        with ui.element("div").classes("bench"):
            with ui.element("div").classes("board ms-board"):
                with ui.element("div").classes("ms-bar"):
                    self.left = _count("flag", "mines less flags").classes("ms-left")
                    self.headline = ui.label("Reveal any cell").classes("headline")
                    self.clock = _count("timer", "seconds since the first reveal").classes("ms-clock")
                self.drawing = Drawing(picture.empty(rows, cols), self._picked)
                self.legend = ui.html(picture.LEGEND, sanitize=False).classes("ms-legend")
                self.tools = Tools(self)
            self.panel = Panel(self)
        shell.keep_still()
        ui.timer(0.5, self._tick)
        ui.keyboard(self._key)

    async def do(self, work: Callable[[], Awaitable[None]]) -> None:
        """One request: done when its turn comes, its refusal told, and the outcome shown."""
        with shell.refusals_told():
            async with self._turn:
                if self.sweep is None:
                    await self._begin()
                try:
                    await work()
                except Exception:  # which the end of the tab is not: then there is nothing to show any more
                    self.playing = False
                    await self._show()
                    raise
                await self._show()

    # Games

    async def new_game(self) -> None:
        await self.do(self._begin)

    async def _begin(self) -> None:
        size, no_guess = read_size(self.setup["board"]), self.setup["guess"] == "none"
        self.sweep = await self.panel.busy.do(Sweep, *size, self.lab.rng(), no_guess)
        self.sketch, self.advice, self.ahead = None, None, []
        self.playing = False
        if self.cursor is not None and self.cursor >= self.sweep.game.cells:
            self.cursor = None
        self.tools.edit(None)

    async def choose(self, name: str, value: str) -> None:
        """Another board begins a new game, other odds or another agent do not."""
        with shell.refusals_told():
            check_choice(self.people, name, value)
            self.setup[name] = value
            shell.remember(self.setup)
            self.advice, self.ahead = None, []
            await (self.new_game() if name in ("board", "guess") else self.do(_nothing))

    async def _picked(self, pick: Pick) -> None:
        await self.do(lambda: self._touch(pick))

    async def _touch(self, pick: Pick) -> None:
        cell, button = numbered(pick.part, "cell", self._view().visible.size), pick.button
        if self.sketch is not None:
            self.sketch = self.sketch.painted(cell, HIDDEN if button == RIGHT else self.tools.brush)
            self.tools.edit(self.sketch)
            return
        sweep = self._game()
        self.advice, self.ahead = None, []
        await self.panel.busy.do(sweep.flag if button == RIGHT else sweep.click, cell)

    def _game(self) -> Sweep:
        require(self.sketch is None, "there is no game behind this position: go back to the game to play")
        assert self.sweep is not None
        return self.sweep

    def _view(self) -> View:
        if self.sketch is not None:
            return self.sketch.view
        assert self.sweep is not None
        return self.sweep.view

    # Agents

    async def hint(self) -> None:
        await self.do(self._ask)

    async def _ask(self) -> None:
        view = self._view()
        require(not view.over, "the game is over")
        crew = await self._crew_for(view)
        self.advice = await self.panel.busy.do(advise, crew, self.setup["agent"], view, self.rng)
        self.ahead = list(self.advice.also)

    async def step(self) -> None:
        await self.do(self._step)

    async def _step(self) -> None:
        sweep = self._game()
        ready = self.advice is not None and self.advice.action is not None and self._is_open(self.advice.action)
        self.ahead = [cell for cell in self.ahead if self._is_open(cell)]
        if not ready and self.ahead and self.advice is not None:
            self.advice = Advice(self.ahead[0], f"{len(self.ahead)} left of those that are just as certain.")
        elif not ready:
            await self._ask()
        assert self.advice is not None
        if self.advice.action is None:
            raise LabError(self.advice.words)
        await self.panel.busy.do(sweep.act, self.advice.action)

    def _is_open(self, action: int) -> bool:
        return self._game().value(action % self._game().game.cells) < 0

    async def play_on(self) -> None:
        """Let the agent play until it is stopped or the game is over."""
        self.playing = not self.playing
        self._rounds += 1
        this = self._rounds
        await self.do(_nothing)
        while self.playing and this == self._rounds:
            await self.step()
            await asyncio.sleep(1 / self.panel.speed)

    async def _crew_for(self, view: View) -> Crew:
        if self._crew is None or self._crew[0] != view.visible.shape:
            self._crew = view.visible.shape, Crew(self.lab, self.people, *view.visible.shape)
        return self._crew[1]

    # Positions set up by hand

    async def sketch_on(self) -> None:
        """Set up a position, beginning with what is on the board."""
        await self.do(self._set_up)

    async def _set_up(self) -> None:
        view = self._view()
        self._use(Sketch(view.visible, view.mines))

    async def sketch_off(self) -> None:
        async def back() -> None:
            self.sketch, self.advice, self.ahead = None, None, []
            self.tools.edit(None)

        await self.do(back)

    async def sketch_as(self, text: str, mines: int) -> None:
        async def take_over() -> None:
            self._use(Sketch.read(text, mines))

        await self.do(take_over)

    def _use(self, sketch: Sketch) -> None:
        self.sketch, self.advice, self.ahead, self.cursor, self.playing = sketch, None, [], None, False
        self.tools.edit(sketch)

    # What is shown

    async def _show(self) -> None:
        view = self._view()
        odds = None
        words = self.advice.words if self.advice else ""
        with shell.refusals_told():
            odds, verdict_words = await self._judge(view)
            words = words or verdict_words
        over = self.sweep is not None and self.sketch is None and self.sweep.outcome is not None
        if over:
            self.playing = False
        self.drawing.draw(picture.board(view.visible, self._look(odds, over)))
        self.legend.classes(remove="on", add=None if odds is None else "on")
        self._tell(over)
        self.panel.tell(words, self.playing)

    async def _judge(self, view: View) -> tuple[np.ndarray | None, str]:
        """Odds where they are wanted, and of a sketch whether it can be at all."""
        source = self.setup["odds"] if self.sketch is None or self.setup["odds"] != NONE else EXACT
        words = "" if self.sketch is None else await self.panel.busy.do(verdict, view)
        if source == NONE or view.over:
            return None, words
        if self.sketch is None and (view.visible < 0).all():
            return None, "The first reveal is safe wherever it is, so there are no odds yet."
        crew = await self._crew_for(view)
        return await self.panel.busy.do(crew.odds, source, view), words

    def _look(self, odds: np.ndarray | None, over: bool) -> picture.Look:
        advice = self.advice or Advice(None, "")
        return picture.Look(
            odds=odds,
            hint=None if advice.action is None else advice.action % self._view().visible.size,
            risky=advice.risky,
            also=() if over else advice.also,
            proof=() if over else advice.proof,
            cursor=self.cursor,
            mines=self.sweep.mines if over and self.sweep else None,
            exploded=self.sweep.exploded if over and self.sweep else None,
        )

    def _tell(self, over: bool) -> None:
        assert self.sweep is not None
        left = self.sketch.mines if self.sketch else self.sweep.mines_left
        self.headline.classes(
            remove="won lost", add={1: "won", -1: "lost"}.get(self.sweep.outcome or 0) if over else None
        )
        self.left.text = str(left)
        if self.sketch is not None:
            self.headline.text = "A position set up by hand"
        elif over:
            self.headline.text = ENDINGS[self.sweep.outcome or 0]
        else:
            self.headline.text = "Sweeping" if self.sweep.started else "Reveal any cell"

    def _tick(self) -> None:
        seconds = 0.0 if self.sweep is None else self.sweep.seconds
        self.clock.text = f"{seconds:.0f}" if self.sketch is None else "-"

    async def _key(self, event: events.KeyEventArguments) -> None:
        name = shell.pressed(event)
        if name in ARROWS:
            await self.do(lambda: self._move(*ARROWS[name]))
        elif name in ("Enter", " ", "f") and self.cursor is not None:
            pick = Pick(f"cell-{self.cursor}", RIGHT if name == "f" else LEFT)
            await self.do(lambda: self._touch(pick))
        elif name in self._shortcuts and not event.action.repeat:
            await self._shortcuts[name]()

    async def _move(self, down: int, right: int) -> None:
        rows, cols = self._view().visible.shape
        row, col = divmod(self.cursor, cols) if self.cursor is not None else (rows // 2 - down, cols // 2 - right)
        self.cursor = (row + down) % rows * cols + (col + right) % cols


def _count(icon: str, meaning: str) -> ui.label:
    with ui.element("div").classes("ms-count").tooltip(meaning):
        ui.icon(icon)
        return ui.label()


async def _nothing() -> None:
    """Only show anew."""
