"""What stands where on the page, and what it says of a game."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import events, ui

from src.web import shell
from src.web.drawing import Drawing
from src.web.players import YOU
from src.web.quoridor import panels
from src.web.quoridor.match import SEATS
from src.web.quoridor.picture import Mode

if TYPE_CHECKING:
    from src.web.quoridor.page import Screen

KEYS = (
    "Keys: arrows move, H and V switch to walls of one direction, Esc switches back, U takes back, ? hints, "
    "[ and ] look back, F turns the board, N begins anew; P pauses two agents, S lets them make one move"
)
DELAYS = 0, 2
MODES = {Mode.BOTH: "pawn + walls", Mode.HORIZONTAL: "― wall", Mode.VERTICAL: "| wall"}


class Layout:
    """The elements of one page; `show` brings what they say up to date."""

    def __init__(self, screen: "Screen") -> None:
        self.screen = screen
        self.delay = 0.5  # seconds a move of two agents
        shell.keep_still()
        ui.keyboard(screen.key, repeating=False, ignore=["input", "textarea", "select"])
        with ui.element("div").classes("bench"):
            with ui.element("div").classes("board qr-board"):
                self.bar = ui.html("", sanitize=False).classes("qr-bar-box")
                self.board = Drawing("", screen.pick)
            with ui.element("div").classes("qr-side"):
                for build in (self._play_panel, self._verdict_panel, self._moves_panel):
                    with ui.element("div").classes("panel"):
                        build()

    def _play_panel(self) -> None:
        with ui.row(wrap=False).classes("w-full items-center"):
            self.headline = ui.label().classes("headline grow qr-headline")
            self.busy = shell.Busy()
        self.note = ui.label().classes("faint qr-note")
        with ui.row(wrap=False).classes("w-full gap-2"):
            for seat, name in enumerate(SEATS):
                self._seat(seat, name)
        with ui.row().classes("gap-2"):
            self.button("new", "restart_alt", self.screen.new_game)
            self.button("undo", "undo", self.screen.undo)
            self.button("hint", "lightbulb", self.screen.hint)
            self.button("turn board", "swap_vert", self.screen.flip)
        with ui.row().classes("gap-2 items-center") as self.watch:
            self.pause = self.button("pause", "pause", self.screen.pause)
            self.button("step", "skip_next", self.screen.step)
            ui.label("seconds a move").classes("faint")
            delay = ui.slider(min=DELAYS[0], max=DELAYS[1], step=0.1, value=self.delay, on_change=self._set_delay)
            delay.classes("qr-delay").props('label aria-label="seconds a move"')
        self.modes = ui.toggle(
            {str(mode): title for mode, title in MODES.items()},
            value=str(Mode.BOTH),
            on_change=self._switched,
        )
        self.modes.props("unelevated").classes("qr-modes")

    def _set_delay(self, event: events.ValueChangeEventArguments) -> None:
        with shell.refusals_told():
            self.delay = shell.between(event.value, *DELAYS)

    def _switched(self, event: events.ValueChangeEventArguments) -> None:
        with shell.refusals_told():
            self.screen.switch_to(shell.checked(event.value, Mode))

    def _seat(self, seat: int, name: str) -> None:
        options = {key: player.title for key, player in self.screen.people.items()}
        select = ui.select(options, value=self.screen.seated[seat], label=f"Player {seat + 1}")
        select.props("dense outlined").classes(f"qr-seat qr-{name}")

        async def sit_down() -> None:
            select.run_method("blur")  # the keys are for the board again
            with shell.refusals_told():
                await self.screen.seat(seat, str(select.value))

        select.on_value_change(sit_down)

    def _verdict_panel(self) -> None:
        with ui.row(wrap=False).classes("w-full items-center"):
            self.verdict = ui.label().classes("headline grow qr-verdict")
            self.with_paths = ui.switch("paths", value=True, on_change=lambda: self.screen.redraw())
        self.factors = ui.html("", sanitize=False).classes("w-full qr-factors")
        self.hints = Drawing("", self.screen.pick_hint).classes("w-full qr-hints")

    def _moves_panel(self) -> None:
        with ui.row(wrap=False).classes("items-center gap-1 w-full"):
            ui.label("Moves").classes("headline grow")
            for icon, plies, name in (("chevron_left", 1, "back"), ("chevron_right", -1, "forward")):
                self.button("", icon, partial(self.screen.step_back, plies)).props(f'aria-label="{name}"')
            self.button("", "last_page", lambda: self.screen.look_at(1 << 20)).props('aria-label="to the game"')
        self.moves = Drawing("", self.screen.pick_ply).classes("w-full qr-movebox")
        self.move = ui.input("type a move", placeholder="e2 or e3h").props("dense outlined").classes("w-full qr-typed")
        self.move.on("keydown.enter", self._typed)
        with ui.expansion("Position and game as text", icon="content_paste").classes("w-full qr-texts"):
            self.text = ui.textarea(placeholder="paste a position or a saved game").props("outlined dense")
            self.text.classes("w-full qr-text")
            with ui.row().classes("gap-2"):
                self.button("load", "upload", lambda: self.screen.load(str(self.text.value or "")))
                self.button("copy position", "content_copy", lambda: self._copy(self.position_text()))
                self.button("copy game", "save", lambda: self._copy(self.screen.match.write()))
        ui.label(KEYS).classes("faint")

    def button(self, title: str, icon: str, work: Callable[[], Awaitable[None] | None]) -> ui.button:
        button = ui.button(title, icon=icon, on_click=self._told(work))
        return button.props("dense no-caps unelevated outline").classes(f"qr-do-{icon.replace('_', '-')}")

    def _told(self, work: Callable[[], Any]) -> Callable[[], Awaitable[None]]:
        async def handle() -> None:
            with shell.refusals_told():
                done = work()
                if done is not None:
                    await done

        return handle

    async def _typed(self) -> None:
        with shell.refusals_told():
            name, self.move.value = str(self.move.value or "").strip().lower(), ""
            await self.screen.play_named(name)

    def position_text(self) -> str:
        return self.screen.game.write_position(self.screen.position)

    def _copy(self, text: str) -> None:
        self.text.value = text
        ui.clipboard.write(text)
        ui.notify("copied", position="top", timeout=1500)

    def show(self, screen: "Screen") -> None:
        self.headline.text, self.note.text = self._headline(), self._note()
        self.verdict.text = screen.verdict.words or "…"
        self.bar.content = panels.share_bar(screen.verdict.share, screen.turned)
        self.factors.content = panels.factor_bars(screen.verdict.parts)
        shown = len(screen.match.actions) if screen.shown is None else screen.shown
        first_ply = screen.match.states[0].ply
        self.moves.draw(panels.move_list(screen.match.names() if screen.match.actions else [], first_ply, shown))
        if not screen.hints:
            self.hints.draw(panels.NO_HINTS)
        self.watch.set_visibility(screen.watching)
        self.pause.text, self.pause.icon = ("go on", "play_arrow") if screen.paused else ("pause", "pause")
        self.modes.value = str(screen.mode)

    def _headline(self) -> str:
        match, screen = self.screen.match, self.screen
        if match.outcome is not None:
            return panels.ended(match.outcome).words
        player = screen.seated[match.mover]
        if player != YOU:
            return f"{screen.people[player].title} to move"
        return "Your move" if screen.seated.count(YOU) == 1 else f"Player {match.mover + 1} to move"

    def _note(self) -> str:
        screen = self.screen
        if not screen.awake.is_set():
            return "waking the engine; the first time it is compiled, which takes a minute"
        if screen.shown is not None:
            return f"looking back at ply {screen.position.ply} - Esc goes back to the game"
        if screen.armed is not None:
            return f"click once more to place {screen.armed}"
        return f"ply {screen.match.state.ply} of {screen.game.ply_limit} at most"
