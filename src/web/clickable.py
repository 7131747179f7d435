"""SVG or HTML with parts that are clicked, or reached and pressed by keys."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from nicegui import ui

from ..core.errors import UserError, require

LEFT, RIGHT, TOUCH = "left", "right", "touch"
HANDLERS = {  # functions of shell.js by event
    **{"click": "clickable.click", "contextmenu": "clickable.menu"},
    **{"pointerdown": "clickable.down", "keydown": "clickable.key"},
}

_PARTS = re.compile(r'<g [^>]*?data-(?:id|part)="([^"]*)"[^>]*>.*?</g>', re.DOTALL)  # groups without groups in them


class Pick(NamedTuple):
    part: str  # its data-id
    button: str  # left or right, or touch on a board that handles touch separately


OnPick = Callable[[Pick], Awaitable[None] | None]


class Clickable(ui.html):
    """Parts to click have a `data-id`. `on_pick` is called with the picked part."""

    handlers = HANDLERS

    def __init__(self, svg: str, on_pick: OnPick) -> None:
        super().__init__(svg, sanitize=False)
        self._shown = split(svg)
        self.classes("drawing")
        for name, handler in self.handlers.items():
            self.on(name, lambda event: on_pick(parse_pick(event.args)), js_handler=f"e => {handler}(e, emit)")
        for name in ("pointerup", "pointercancel", "pointerleave"):
            self.on(name, js_handler="e => clearTimeout(e.currentTarget.timer)")

    def draw(self, svg: str) -> None:
        """Show another drawing: only the changed parts are sent if the rest is the same."""
        before, self._shown = self._shown, split(svg)
        changes = self._shown.changes(before)
        if changes is None or not self.client.has_socket_connection:
            self.set_content(svg)
        elif changes:
            with self._props.suspend_updates():
                self._props["innerHTML"] = svg  # for the next update of the whole element
            self.client.run_javascript(f"clickable.patch(getHtmlElement({self.id}), {json.dumps(changes)})")


class Parts(NamedTuple):
    """A drawing, split into the groups that have a name and the rest."""

    rest: str
    groups: dict[str, str]

    def changes(self, before: "Parts") -> list[tuple[str, str]] | None:
        """Return the groups that differ, or None if the rest does."""
        if not self.groups or (self.rest, list(self.groups)) != (before.rest, list(before.groups)):
            return None
        return [(key, text) for key, text in self.groups.items() if before.groups[key] != text]


def split(svg: str) -> Parts:
    return Parts(_PARTS.sub("<>", svg), {found[1]: found[0] for found in _PARTS.finditer(svg)})


def parse_pick(message: object) -> Pick:
    match message:
        case [str(part), str(button)] if len(part) < 100:
            require(button in (LEFT, RIGHT, TOUCH), "unknown mouse button")
            return Pick(part, button)
    raise UserError("this is not a part of the board")


def parse_id(part: str, prefix: str, count: int) -> int:
    """Return the number in an id such as cell-12; raise `UserError` unless it is below `count`."""
    name, _, digits = part.rpartition("-")
    known = name == prefix and digits.isascii() and digits.isdigit() and len(digits) < 6 and int(digits) < count
    require(known, f"{part!r} does not exist: expected {prefix}-0 to {prefix}-{count - 1}")
    return int(digits)
