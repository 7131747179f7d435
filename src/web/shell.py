"""Shared parts of the pages: frame, controls, error messages, and slow work off the event loop."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, ParamSpec, TypeVar

from nicegui import Client, events, ui

from ..core.errors import UserError
from . import engines, rules
from .pages import PageEntry
from .style import BLUE, CSS, GREEN, ORANGE, VERMILLION

P = ParamSpec("P")
Result = TypeVar("Result")
Option = TypeVar("Option")

THEME_COOKIE = "theme"
# Searches in Python share one interpreter lock with the event loop: with many at once the pages would hardly answer.
SEARCHES = ThreadPoolExecutor(4, "search")
LONG = 4.0  # seconds before a note is shown
LONG_WORK = "Still working. The first use after an installation compiles code, which can take a minute."

# A clicked button loses the focus, so that keys go to the board. Back and Forward show the game of their address.
# The part of a drawing that was clicked last shakes when it is refused. Keys do not reach the board behind an open
# dialog.
_SCRIPT = """<script>
addEventListener('click', e => e.detail && e.target.closest('button')?.blur());
addEventListener('popstate', () => location.reload());
document.body.addEventListener('keydown', e => {
  if (e.key !== 'Escape' && document.querySelector('.q-dialog')) e.stopPropagation();
});
addEventListener('pointerdown', e => { window.picked = e.target.closest?.('[data-id]')?.dataset.id; }, true);
window.sound = kind => {
  if (localStorage.getItem('sound') !== 'on') return;
  const audio = window.audio ??= new AudioContext();
  ({move: [440], won: [523, 659, 784], lost: [392, 330, 262], even: [440, 440]})[kind].forEach((pitch, index) => {
    const tone = audio.createOscillator(), volume = audio.createGain(), at = audio.currentTime + .12 * index;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(.08, at);
    volume.gain.exponentialRampToValueAtTime(.0001, at + .15);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + .15);
  });
};
window.shakePicked = () => {
  const part = window.picked && document.querySelector(`[data-id="${CSS.escape(window.picked)}"]`);
  if (!part) return;
  part.classList.add('shake');
  setTimeout(() => part.classList.remove('shake'), 400);
};
window.showSound = () => {
  const on = localStorage.getItem('sound') === 'on';
  document.body.classList.toggle('sound-on', on);
  document.querySelector('.lab-sound')?.setAttribute('aria-pressed', on);
};
addEventListener('load', () => setTimeout(showSound));
</script>"""

_TOGGLE_SOUND = """() => {
  localStorage.setItem('sound', localStorage.getItem('sound') === 'on' ? 'off' : 'on'); showSound(); sound('move'); }"""

# Keys belong to the board: Chromium's smooth scrolling would still move the page during a click that follows.
_PREVENT_SCROLLING = """addEventListener('keydown', e => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === ' ' ? e.target === document.body : KEYS.includes(e.key) && !e.target.closest?.(IGNORED))
    e.preventDefault();
})"""
_ARROWS = "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"


class Link(NamedTuple):
    text: str
    target: str


@contextmanager
def frame(title: str, navigation: Sequence[PageEntry], page: PageEntry | None = None) -> Iterator[None]:
    """Build the frame of a page, which may be none of the navigation: links and theme."""
    ui.add_css(CSS)
    ui.colors(primary=BLUE, positive=GREEN, warning=ORANGE, negative=VERMILLION)
    ui.page_title(f"{title} · board lab")
    ui.on_exception(lambda error: notify(f"Something went wrong; see the log of the server: {error!r}"))
    dark = ui.dark_mode(_chosen_theme())
    with ui.header().classes("lab-header"):
        with ui.element("nav").classes("lab-nav").props('aria-label="pages"'):
            for other in navigation:
                with ui.link(target=other.path).classes("lab-link" + (" here" if other == page else "")) as link:
                    ui.icon(other.icon).props("aria-hidden=true")
                    ui.label(other.title)
                link.props(f'aria-label="{other.title}"')  # the label is hidden on phones
        engines.show_progress()
        dialog = rules.add_button(page) if page and page.rules else None
        sound_switch = ui.button().props('flat round aria-label="sound" aria-pressed=false').classes("lab-sound")
        with sound_switch:
            ui.icon("volume_off").classes("off")
            ui.icon("volume_up").classes("on")
        sound_switch.on("click", js_handler=_TOGGLE_SOUND)
        ui.button(icon="contrast", on_click=lambda: _toggle_theme(dark)).props(
            'flat round aria-label="dark or light"'
        ).classes("lab-theme")
    ui.add_body_html(_SCRIPT)
    with ui.element("div").classes("lab-main"):
        if page and page.path != "/":  # the start page has a heading of its own
            ui.label(title).classes("sr-only").props("role=heading aria-level=1")
        if page and dialog:
            rules.add_offer(page, dialog)
        yield


def add_style(css: str) -> None:
    """Add CSS to a connected page together with its elements, which may arrive before that of `ui.add_css`."""
    ui.element("style").props["innerHTML"] = css


def problem(title: str, message: str, *links: Link) -> None:
    """Show that a page cannot be shown, and where to go instead."""
    with ui.element("div").classes("panel lab-problem").props("role=alert"):
        ui.label(title).classes("headline").props("role=heading aria-level=1")
        ui.label(message)
        with ui.row():
            again = ui.button("Try again", icon="refresh").props("unelevated no-caps").classes("try-again")
            again.on("click", js_handler="() => location.reload()")
            for link in (*links, Link("Go to the start page", "/")):
                ui.link(link.text, link.target).classes("lab-choice")


def _chosen_theme() -> bool | None:
    """Return whether the theme is dark, or None to follow the system."""
    request = ui.context.client.request
    return {"dark": True, "light": False}.get(request.cookies.get(THEME_COOKIE, ""))


async def _toggle_theme(dark: ui.dark_mode) -> None:
    now_dark = await ui.run_javascript("Quasar.Dark.isActive")
    dark.value = not now_dark
    chosen = "dark" if dark.value else "light"
    ui.run_javascript(f"document.cookie = '{THEME_COOKIE}={chosen}; path=/; max-age=31536000; samesite=lax'")


class MessageLine(ui.element):
    """The place of a page for short messages. It keeps its room, so that nothing moves or is covered."""

    def __init__(self) -> None:
        super().__init__("div")
        self.classes("lab-say").props("role=status")
        with self:
            self._words = ui.label()
            self._link = ui.link()
        self.reset()

    def show(self, message: str, link: Link | None) -> None:
        self._refusal = link is None
        self._words.text = sentence(message)
        self._link.set_visibility(link is not None)
        if link is not None:
            self._link.text, self._link.props["href"] = link.text, link.target
        self.classes(remove="refusal", add="refusal" if self._refusal else None)

    def reset(self) -> None:
        self._refusal, self._words.text = False, ""
        self._link.set_visibility(False)

    def clear_refusal(self) -> None:
        if self._refusal:
            self.reset()


def message_line(client: Client) -> MessageLine | None:
    """Return the message line of a page, if it has one."""
    return next((element for element in client.elements.values() if isinstance(element, MessageLine)), None)


def notify(message: str, link: Link | None = None) -> None:
    """Show a message, such as an error, in the line of the page; the part that was clicked shakes."""
    line = message_line(ui.context.client)
    if line is None:
        ui.notify(message, type="warning", position="top", multi_line=True, close_button="ok", timeout=6000)
        return
    line.show(message, link)
    if link is None:
        ui.run_javascript("window.shakePicked?.()")


def sound(kind: str) -> None:
    """Play a sound, unless sound is off, as it is by default: move, won, lost or even."""
    ui.run_javascript(f"window.sound?.('{kind}')")


def sentence(message: str) -> str:
    """Return a message with a capital letter and a full stop."""
    return message[:1].upper() + message[1:] + ("" if message.endswith((".", "!", "?")) else ".")


@contextmanager
def show_errors(worded: Callable[[str], str] = str) -> Iterator[None]:
    """Show a `UserError` raised within, and suppress it; `worded` puts its message into words for a player."""
    try:
        yield
    except UserError as error:
        notify(worded(str(error)))


def handler(work: Callable[[], Awaitable[None] | None]) -> Callable[[], Awaitable[None]]:
    """Return an event handler that runs `work`, which may be asynchronous, and shows its errors."""

    async def handle() -> None:
        with show_errors():
            await finish(work())

    return handle


async def finish(result: Awaitable[None] | None) -> None:
    """Await the result of a function that may be asynchronous."""
    if result is not None:
        await result


def checked(value: object, options: Iterable[Option]) -> Option:
    """Return the option equal to a value sent by the browser, which is untrusted."""
    for option in options:
        if option == value:
            return option
    raise UserError(f"{str(value)[:80]!r} is not an option: choose one of the list")


def between(value: object, low: float, high: float) -> float:
    """Return a number sent by the browser if it is in [low, high], which excludes nan."""
    if isinstance(value, int | float) and low <= value <= high:
        return float(value)
    raise UserError(f"{str(value)[:80]!r} is not a number from {low:g} to {high:g}")


def dropdown(
    options: Mapping[str, str], value: str, label: str, on_change: Callable[[events.ValueChangeEventArguments], Any]
) -> ui.select:
    """Create a dropdown that loses the focus after a choice, so that the next key goes to the board."""
    select = ui.select(dict(options), value=value, label=label, on_change=on_change)
    select.on("popup-hide", js_handler="() => setTimeout(() => document.activeElement?.blur(), 50)")
    select.props("outlined dense options-dense").classes("w-full")
    return select


def prevent_scrolling(*keys: str, ignored: Sequence[str] = ("input", "select", "button", "textarea")) -> None:
    """Keep arrow keys, space and the named keys from scrolling the page, unless an ignored element has the focus.

    The default are the elements that `ui.keyboard` ignores; a focused button always reads space.
    """
    code = _PREVENT_SCROLLING.replace("KEYS", json.dumps([*_ARROWS, *keys]))
    ui.run_javascript(code.replace("IGNORED", json.dumps(", ".join(ignored))))


def pressed(event: events.KeyEventArguments) -> str | None:
    """Return the name of a pressed key, letters in lower case; None with a modifier or on release."""
    modified = event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta
    name = event.key.name
    return None if modified or not event.action.keydown else name.lower() if len(name) == 1 else name


def set_address(address: str, push: bool = False) -> None:
    """Show an address in the browser without a visit; `push`: Back leads to the present one."""
    ui.run_javascript(f"history.{'pushState' if push else 'replaceState'}(null, '', {json.dumps(address)})")


class Busy:
    """A spinner that is visible during slow work; hidden, it keeps its space."""

    def __init__(self) -> None:
        self._working = 0
        self.on_change: Callable[[bool], None] = lambda working: None  # called when work begins, and when all is done
        self._spinner = ui.spinner(size="1.5em").classes("lab-busy")
        self._note = ui.label(LONG_WORK).classes("lab-note").props("role=status")
        self._note.set_visibility(False)

    @property
    def working(self) -> bool:
        return self._working > 0

    async def do(self, work: Callable[P, Result], *arguments: P.args, **options: P.kwargs) -> Result:
        """Run `work` in a thread and return its result.

        Raises `CancelledError` if the page was closed meanwhile.
        """
        return await self._finish(asyncio.to_thread(work, *arguments, **options))

    async def search(
        self, is_needed: Callable[[], bool], work: Callable[P, Result], *arguments: P.args, **options: P.kwargs
    ) -> Result:
        """Run a search like `do`, one of a few at a time; if it is not needed any more when it begins, cancel it."""

        def begin() -> Result:
            if not is_needed():
                raise asyncio.CancelledError
            return work(*arguments, **options)

        return await self._finish(asyncio.get_running_loop().run_in_executor(SEARCHES, begin))

    async def _finish(self, work: Awaitable[Result]) -> Result:
        """Show that there is work until it is done."""
        self._working += 1
        self.on_change(True)
        self._spinner.classes(add="on")
        note = asyncio.get_running_loop().call_later(LONG, self._note.set_visibility, True)
        try:
            result = await work
        finally:
            note.cancel()
            self._working -= 1
            self.on_change(self.working)
            if not self._working and not self._spinner.is_deleted:
                self._spinner.classes(remove="on")
                self._note.set_visibility(False)
        if self._spinner.is_deleted:
            raise asyncio.CancelledError
        return result
