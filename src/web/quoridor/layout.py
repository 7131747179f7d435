"""The layout of the page."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal, Protocol

from nicegui import events, ui

from ...envs.quoridor.rules import Position
from .. import shell
from ..drawing import Drawing, Pick, read_pick
from ..ending import Ending
from .clock import TIMES
from .match import SEATS
from .picture import Mode
from .review import Judgement
from .review_panel import ReviewPanel
from .thinking_row import ThinkingRow

KEYS = (
    "Keys: arrows move, H and V switch to walls of one direction, Esc switches back, U takes back, ? hints, "
    "[ and ], Home and End step through the game, as do the arrows once you look back, F turns the board, "
    "M finds mistakes, N starts a new game; walls are clicked in the grooves or dragged from the rack; "
    "Esc cancels a hint, P an agent that thinks, and P again lets it continue; with two agents S makes one move"
)
# A wall is dragged from the rack of the mover: the wall nearest to the pointer is previewed, and placed where it is
# dropped. Dropped off the board, it goes back.
_TAKE = """(e) => {
  const box = e.currentTarget, svg = box.querySelector('svg');
  if (e.button || !e.target.closest('.rack.own')) return;
  e.preventDefault();
  box.setPointerCapture(e.pointerId);
  box.dragging = true;
  svg.classList.add('dragging');
}"""
_DRAG = """(e) => {
  const box = e.currentTarget;
  if (!box.dragging) return;
  const ground = box.querySelector('.ground').getBoundingClientRect();
  let best = null, least = Infinity;
  if (e.clientX > ground.left && e.clientX < ground.right && e.clientY > ground.top && e.clientY < ground.bottom)
    for (const spot of box.querySelectorAll('.wall-spot')) {
      const wall = spot.querySelector('.ghost').getBoundingClientRect();
      const beside = Math.max(wall.left - e.clientX, 0, e.clientX - wall.right);
      const above = Math.max(wall.top - e.clientY, 0, e.clientY - wall.bottom);
      const middle = Math.hypot(wall.x + wall.width / 2 - e.clientX, wall.y + wall.height / 2 - e.clientY);
      const distance = 4 * Math.hypot(beside, above) + middle;
      if (distance < least) { best = spot; least = distance; }
    }
  box.querySelector('.dragged')?.classList.remove('dragged');
  best?.classList.add('dragged');
}"""
_DROP = """(e) => {
  const box = e.currentTarget, spot = box.querySelector('.dragged');
  if (!box.dragging) return;
  box.dragging = false;
  box.querySelector('svg').classList.remove('dragging');
  spot?.classList.remove('dragged');
  if (!spot || e.type !== 'pointerup') return;
  window.picked = spot.dataset.id;
  emit(spot.dataset.id, 'left');
}"""
DELAYS = 0, 2
KEY_TAKERS: list[Literal["input", "select", "button", "textarea"]] = ["input", "select", "textarea"]  # not buttons
MODES = {Mode.BOTH: "pawn + walls", Mode.HORIZONTAL: "― wall", Mode.VERTICAL: "| wall"}


class Handlers(Protocol):
    """The actions and choices of the page."""

    setup: dict[str, str]

    @property
    def titles(self) -> dict[str, str]: ...
    async def key(self, event: events.KeyEventArguments) -> None: ...
    async def pick(self, pick: Pick) -> None: ...
    async def pick_hint(self, pick: Pick) -> None: ...
    async def drop_wall(self, pick: Pick) -> None: ...
    async def pick_variation(self, pick: Pick) -> None: ...
    async def leave_variation(self) -> None: ...
    def move_now(self) -> None: ...
    async def cancel_move(self) -> None: ...
    def judge(self, state: Position, action: int) -> Judgement: ...
    async def find_mistakes(self) -> None: ...
    async def pick_ply(self, pick: Pick) -> None: ...
    async def choose(self, name: str, value: object) -> None: ...
    async def new_game(self) -> None: ...
    async def review(self) -> None: ...
    async def take_back(self) -> None: ...
    async def hint(self) -> None: ...
    async def pause(self) -> None: ...
    async def step(self) -> None: ...
    async def look_at(self, ply: int) -> None: ...
    async def look_by(self, plies: int) -> None: ...
    async def load(self, text: str) -> None: ...
    async def play_named(self, name: str) -> None: ...
    def flip(self) -> None: ...
    def redraw(self) -> None: ...
    def switch_to(self, mode: Mode) -> None: ...
    def position_text(self) -> str: ...
    def game_text(self) -> str: ...


class Layout:
    def __init__(self, do: Handlers) -> None:
        self.do = do
        self.delay = 0.5  # seconds per move of two agents
        shell.prevent_scrolling("Home", "End", ignored=KEY_TAKERS)
        ui.keyboard(do.key, repeating=False, ignore=KEY_TAKERS)
        with ui.element("div").classes("bench"):
            with ui.element("div").classes("board qr-board"):
                self.bar = ui.html("", sanitize=False).classes("qr-bar-box")
                self.board = Drawing("", do.pick)
                self._add_dragging()
            with ui.element("div").classes("qr-side"):
                for build in (self._play_panel, self._moves_panel, self._evaluation_panel):
                    with ui.element("div").classes("panel"):
                        build()

    def _add_dragging(self) -> None:
        async def dropped(event: events.GenericEventArguments) -> None:
            with shell.show_errors():
                await self.do.drop_wall(read_pick(event.args))

        self.board.on("pointerdown", js_handler=_TAKE)
        self.board.on("pointermove", js_handler=_DRAG)
        for name in ("pointerup", "pointercancel"):
            self.board.on(name, dropped, js_handler=_DROP)

    def _play_panel(self) -> None:
        with ui.row(wrap=False).classes("w-full items-center"):
            self.headline = ui.label().classes("headline grow qr-headline")
            self.busy = shell.Busy()
        self.note = ui.label().classes("faint qr-note")
        shell.MessageLine()
        self.ending = Ending(self.do.new_game, self.do.review)
        with ui.row(wrap=False).classes("w-full gap-2"):
            for seat, name in enumerate(SEATS):
                self._seat(seat, name)
        with ui.element("div").classes("qr-clocks") as self.clock_row:
            self.clocks = [ui.label().classes(f"qr-clock qr-{name}") for name in SEATS]
        self.thinking = ThinkingRow(self.do.move_now, self.do.cancel_move, self.do.pause)
        with ui.row().classes("gap-2"):
            self.button("new", "restart_alt", self.do.new_game)
            self.button("undo", "undo", self.do.take_back)
            self.hint = self.button("hint", "lightbulb", self.do.hint)
            self.button("turn board", "swap_vert", self.do.flip)
        with ui.row().classes("gap-2 items-center") as self.watch:
            self.pause = self.button("pause", "pause", self.do.pause)
            self.button("step", "skip_next", self.do.step)
            ui.label("seconds per move").classes("faint")
            delay = ui.slider(min=DELAYS[0], max=DELAYS[1], step=0.1, value=self.delay, on_change=self._set_delay)
            delay.classes("qr-delay").props('label aria-label="seconds per move"')
        clock = self.do.setup["clock"].split(":")[0]
        shell.dropdown(TIMES, clock, "Clock", lambda event: self.do.choose("clock", event.value)).classes("qr-times")
        self.modes = ui.toggle(
            {str(mode): title for mode, title in MODES.items()},
            value=str(Mode.BOTH),
            on_change=self._switched,
        )
        self.modes.props("unelevated").classes("qr-modes")

    def show_hinting(self, is_running: bool) -> None:
        """Let the button cancel the hint that is searched for, or ask for one."""
        if not self.hint.is_deleted:
            self.hint.text, self.hint.icon = ("cancel", "close") if is_running else ("hint", "lightbulb")

    def _set_delay(self, event: events.ValueChangeEventArguments) -> None:
        with shell.show_errors():
            self.delay = shell.between(event.value, *DELAYS)

    def _switched(self, event: events.ValueChangeEventArguments) -> None:
        with shell.show_errors():
            self.do.switch_to(shell.checked(event.value, Mode))

    def _seat(self, seat: int, name: str) -> None:
        select = ui.select(self.do.titles, value=self.do.setup[name], label=f"Player {seat + 1}")
        select.props("dense outlined").classes(f"qr-seat qr-{name}")

        async def change_player() -> None:
            select.run_method("blur")  # so that keys go to the board
            await self.do.choose(name, select.value)

        select.on_value_change(change_player)

    def _evaluation_panel(self) -> None:
        with ui.row(wrap=False).classes("w-full items-center"):
            self.evaluation = ui.label().classes("headline grow qr-evaluation")
            self.with_paths = ui.switch("paths", value=True, on_change=lambda: self.do.redraw())
        self.factors = ui.html("", sanitize=False).classes("w-full qr-factors")
        self.hints = Drawing("", self.do.pick_hint).classes("w-full qr-hints")
        ui.label(KEYS).classes("faint")

    def _moves_panel(self) -> None:
        with ui.row(wrap=False).classes("items-center gap-1 w-full"):
            ui.label("Moves").classes("headline grow")
            for icon, plies, name in (("chevron_left", -1, "back"), ("chevron_right", 1, "forward")):
                self.button("", icon, partial(self.do.look_by, plies)).props(f'aria-label="{name}"')
            self.button("", "last_page", lambda: self.do.look_at(1 << 20)).props('aria-label="to the game"')
        self.moves = Drawing("", self.do.pick_ply).classes("w-full qr-movebox")
        self.back = self.button("return to the game", "undo", self.do.leave_variation).classes("qr-return")
        self.variations = Drawing("", self.do.pick_variation).classes("w-full")
        self.review = ReviewPanel(self.do.judge, self.do.pick_ply, self.do.redraw)
        self.review.on_click(self.do.find_mistakes)
        self.move = ui.input("type a move", placeholder="e2 or e3h").props("dense outlined").classes("w-full qr-typed")
        self.move.on("keydown.enter", self._typed)
        with ui.expansion("Position and game as text", icon="content_paste").classes("w-full qr-texts"):
            self.text = ui.textarea(placeholder="paste a position or a saved game").props("outlined dense")
            self.text.classes("w-full qr-text")
            with ui.row().classes("gap-2"):
                self.button("load", "upload", lambda: self.do.load(str(self.text.value or "")))
                self.button("copy position", "content_copy", lambda: self._copy(self.do.position_text()))
                self.button("copy game", "save", lambda: self._copy(self.do.game_text()))

    def button(self, title: str, icon: str, work: Callable[[], Awaitable[None] | None]) -> ui.button:
        button = ui.button(title, icon=icon, on_click=shell.handler(work))
        return button.props("dense no-caps unelevated outline").classes(f"qr-do-{icon.replace('_', '-')}")

    async def _typed(self) -> None:
        with shell.show_errors():
            name, self.move.value = str(self.move.value or "").strip().lower(), ""
            await self.do.play_named(name)

    def _copy(self, text: str) -> None:
        self.text.value = text
        ui.clipboard.write(text)
        ui.notify("copied", position="top", timeout=1500)
