"""Shared parts of the pages: the frame with its navigation and rules, messages, and controls."""

import base64
import io
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

import numpy as np
from nicegui import events, ui

from ..core.errors import UserError
from .pages import PREPARATION, PageEntry, discover

Option = TypeVar("Option")

# The palette of Okabe and Ito is safe for color-blind readers.
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, GRAY = "#0072B2", "#D55E00", "#CC79A7", "#8A8F98"

THEME_COOKIE = "theme"
SEARCHED = 20  # options of a list above which it can be searched

ARROWS = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}  # right and down


class Link(NamedTuple):
    text: str
    target: str


@contextmanager
def frame(title: str, page: PageEntry | None = None) -> Iterator[None]:
    """Build the frame of a page: theme, and links to the pages but generic ones, which the start page lists."""
    ui.add_css(asset(__package__, "style.css"))
    ui.colors(primary=BLUE, positive=GREEN, warning=ORANGE, negative=VERMILLION)
    ui.page_title(f"{title} · board lab")
    ui.on_exception(show_error)
    cookie = ui.context.client.request.cookies.get(THEME_COOKIE, "")
    dark = ui.dark_mode({"dark": True, "light": False}.get(cookie))  # None follows the system

    async def toggle_theme() -> None:
        dark.value = not await ui.run_javascript("Quasar.Dark.isActive")
        chosen = "dark" if dark.value else "light"
        ui.run_javascript(f"document.cookie = '{THEME_COOKIE}={chosen}; path=/; max-age=31536000; samesite=lax'")

    with ui.header().classes("lab-header"):
        skip = ui.link("Skip to the page").classes("lab-skip")
        ui.label(title).classes("lab-title").props("aria-hidden=true")
        with ui.element("nav").classes("lab-nav").props('aria-label="pages"'):
            for other in discover([]):
                with ui.link(target=other.path).classes("lab-link" + (" here" if other == page else "")):
                    ui.icon(other.icon).props("aria-hidden=true")
                    ui.label(other.title)
        dialog = _add_rules_button(page) if page and page.rules else None
        sound_switch = ui.button().props('flat round aria-label="sound" aria-pressed=false').classes("lab-sound")
        with sound_switch:
            ui.icon("volume_off").classes("off")
            ui.icon("volume_up").classes("on")
        sound_switch.on("click", js_handler="() => toggleSound()")
        theme_switch = ui.button(icon="contrast", on_click=toggle_theme).props('flat round aria-label="dark or light"')
        theme_switch.classes("lab-theme")
    ui.add_body_html(f"<script>{asset(__package__, 'shell.js')}</script>")
    with ui.element("div").classes("lab-main").props("tabindex=-1") as main:
        skip.props["href"] = f"#{main.html_id}"
        if page and page.path != "/":  # the start page has a heading of its own
            ui.label(title).classes("sr-only").props("role=heading aria-level=1")
        if page and dialog:  # the offer to read the rules, which is shown on the first visit only
            with ui.element("div").classes("lab-offer").props('role=region aria-label="rules"'):
                ui.label(f"New to {page.title}?")
                see = ui.button("See the rules in three pictures", on_click=dialog.open)
                see.props("unelevated no-caps").classes("see")
                ui.button("No, thanks").props("flat no-caps").classes("decline")
            ui.context.client.on_connect(lambda: ui.run_javascript(f"offerRules({json.dumps(page.path)})"))
        if page and PREPARATION.is_needed_by(page):
            progress = ui.label(PREPARATION.progress).classes("lab-progress").props("role=status")

            def update_progress() -> None:
                timer.active = PREPARATION.is_needed_by(page)
                progress.text = PREPARATION.progress if timer.active else ""

            timer = ui.timer(1.0, update_progress)
        yield


def _add_rules_button(page: PageEntry) -> ui.dialog:
    with ui.dialog() as dialog, ui.card().classes("lab-rules-card"):
        with ui.row().classes("w-full items-center no-wrap"):
            ui.label(f"{page.title} in three pictures").classes("headline grow").props("role=heading aria-level=2")
            ui.button(icon="close", on_click=dialog.close).props('flat round aria-label="close"')
        with ui.element("div").classes("lab-rules-pictures"):
            for rule in page.rules:
                with ui.element("figure"):
                    ui.html(rule.svg, sanitize=False)
                    with ui.element("figcaption"):
                        ui.label(rule.text)
    dialog.props(f'aria-label="rules of {page.title}"')
    button = ui.button("Rules", icon="help_outline", on_click=dialog.open).props('flat no-caps aria-label="Rules"')
    button.classes("lab-rules")
    return dialog


@cache
def asset(package: str | None, name: str) -> str:
    """Return the text of a file beside the modules of a package."""
    assert package is not None
    return files(package).joinpath(name).read_text(encoding="utf-8")


def add_style(package: str) -> None:
    """Add the CSS of a page, if any, together with its elements, which may arrive before what `ui.add_css` sends."""
    if files(package).joinpath("style.css").is_file():
        ui.element("style").props["innerHTML"] = asset(package, "style.css")


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


def add_keys(keys: Mapping[str, str]) -> None:
    """Add the list of keys, which is hidden where there is no keyboard."""
    rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(words)}</dd>" for key, words in keys.items())
    with ui.expansion("Keys", icon="keyboard").classes("w-full lab-keys"):
        ui.html(f"<dl>{rows}</dl>", sanitize=False)


class MessageLine(ui.element):
    """The place of a page for short messages. It keeps its room, so that nothing moves or is covered."""

    def __init__(self) -> None:
        super().__init__("div")
        self.classes("lab-say").props("role=status")
        with self:
            self._words = ui.label()
            self._link = ui.link()
        self._link.set_visibility(False)
        self._refusal = False

    def show(self, message: str, link: Link | None) -> None:
        self._refusal = link is None
        self._words.text = sentence(message)
        self._link.set_visibility(link is not None)
        if link is not None:
            self._link.text, self._link.props["href"] = link.text, link.target
        self.classes(remove="refusal", add="refusal" if self._refusal else None)

    def clear_refusal(self) -> None:
        if self._refusal:  # which has no link
            self._refusal, self._words.text = False, ""


def notify(message: str, link: Link | None = None) -> None:
    """Show a message, such as an error, in the line of the page; the part that was clicked shakes."""
    elements = ui.context.client.elements.values()
    line = next((element for element in elements if isinstance(element, MessageLine)), None)
    if line is None:
        ui.notify(message, type="warning", position="top", multi_line=True, close_button="ok", timeout=6000)
        return
    line.show(message, link)
    if link is None:
        ui.run_javascript("window.shakePicked?.()")


def sound(kind: str) -> None:
    """Play a sound, unless sound is off, as it is by default: move, won, lost or even."""
    ui.run_javascript(f"window.sound?.('{kind}')")


def copy(words: str) -> None:
    """Copy words to the clipboard of the browser, or show them if it refuses."""
    ui.run_javascript(f"copyText({json.dumps(words)})")


def command_line(words: str = "") -> ui.label:
    """Show a command with a button that copies it; return its label."""
    with ui.element("div").classes("lab-command"):
        with ui.element("code"):
            label = ui.label(words)
        copy_button = ui.button(icon="content_copy", on_click=lambda: copy(label.text))
        copy_button.props('flat round aria-label="copy the command"')
    return label


def sentence(message: str) -> str:
    """Return a message with a capital letter and a full stop."""
    return message[:1].upper() + message[1:] + ("" if message.endswith((".", "!", "?")) else ".")


def show_error(error: Exception) -> None:
    """Show what an event handler or a timer of the page has raised."""
    is_expected = isinstance(error, UserError)
    notify(str(error) if is_expected else f"Something went wrong; see the log of the server: {error!r}")


@contextmanager
def show_errors() -> Iterator[None]:
    """Show a `UserError` raised within, and go on."""
    try:
        yield
    except UserError as error:
        show_error(error)


async def maybe_await(result: Awaitable[None] | None) -> None:
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
    is_long = len(options) > SEARCHED
    select = ui.select(dict(options), value=value, label=label, on_change=on_change, with_input=is_long)
    select.on("popup-hide", js_handler="() => setTimeout(() => document.activeElement?.blur(), 50)")
    select.props("outlined dense options-dense").classes("w-full")
    return select


def prevent_scrolling(*keys: str, ignored: Sequence[str] = ("input", "select", "button", "textarea")) -> None:
    """Keep arrow keys, space and the named keys from scrolling the page, unless an ignored element has the focus.

    The default are the elements that `ui.keyboard` ignores; a focused button always reads space.
    """
    arguments = json.dumps([*ARROWS, *keys]), json.dumps(", ".join(ignored))
    ui.run_javascript(f"preventScrolling({', '.join(arguments)})")


def key_name(event: events.KeyEventArguments) -> str | None:
    """Return the name of a pressed key, letters in lower case; None with a modifier or on release."""
    modified = event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta
    name = event.key.name
    return None if modified or not event.action.keydown else name.lower() if len(name) == 1 else name


def set_address(address: str, push: bool = False) -> None:
    """Show an address in the browser without a visit; `push`: Back leads to the present one."""
    ui.run_javascript(f"history.{'pushState' if push else 'replaceState'}(null, '', {json.dumps(address)})")


def as_png(pixels: np.ndarray, colors: int | None = None) -> bytes:
    """Return a picture (H, W, 3) as a PNG file, with at most this number of colors."""
    from PIL import Image  # few visits need it

    file, image = io.BytesIO(), Image.fromarray(pixels)
    (image if colors is None else image.quantize(colors)).save(file, "PNG")
    return file.getvalue()


def data_address(png: bytes) -> str:
    """Return a PNG file as an address that contains it."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
