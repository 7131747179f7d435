"""SVG or HTML with parts that are clicked, or reached and pressed by keys."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from nicegui import events, ui

from ..core.errors import UserError, require
from .shell import maybe_await, show_errors

LEFT, RIGHT = "left", "right"

# One listener for the whole drawing: clickable parts have a data-id. A long press counts as a right click; the click
# and the context menu that browsers generate from it are suppressed.
_PART = "const part = e.target.closest('[data-id]'); const box = e.currentTarget;"
_CLICK = f"(e) => {{ {_PART} if (box.held) {{ box.held = false; return; }} if (part) emit(part.dataset.id, 'left'); }}"
_MENU = f"""(e) => {{ {_PART} e.preventDefault();
  if (part && box.pointer !== 'touch') emit(part.dataset.id, 'right'); }}"""
_DOWN = f"""(e) => {{ {_PART} box.pointer = e.pointerType; box.held = false; clearTimeout(box.timer);
  if (part && e.pointerType === 'touch')
    box.timer = setTimeout(() => {{ box.held = true; emit(part.dataset.id, 'right'); }}, 400); }}"""
_UP = "(e) => clearTimeout(e.currentTarget.timer)"
# Arrow keys go to the nearest part in their direction, Enter and space press it, F is a right click. The keys of a
# focused part do not reach the page.
_KEY = """(e) => {
  const part = e.target.closest('[data-id]'), box = e.currentTarget;
  if (!part || e.ctrlKey || e.altKey || e.metaKey || part.tagName === 'BUTTON') return;
  const way = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]}[e.key];
  const button = {Enter: 'left', ' ': 'left', f: 'right', F: 'right'}[e.key];
  if (!way && (!button || e.repeat)) return;
  e.preventDefault();
  e.stopPropagation();
  if (button) { window.picked = part.dataset.id; emit(part.dataset.id, button); return; }
  const center = one => { const r = one.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
  const [x, y] = center(part);
  let best = null, least = Infinity;
  for (const other of box.querySelectorAll('[data-id][tabindex]')) {
    const [ox, oy] = center(other), along = (ox - x) * way[0] + (oy - y) * way[1];
    const distance = along + 3 * Math.abs((ox - x) * way[1] + (oy - y) * way[0]);
    if (along > 1 && distance < least) { best = other; least = distance; }
  }
  best?.focus();
}"""
# A part that is drawn again keeps the focus, and only what has changed is sent.
_PATCH = """
const box = getHtmlElement({id}), focused = document.activeElement?.dataset?.id;
for (const [key, text] of {changes}) {{
  const part = box.querySelector(`[data-id="${{CSS.escape(key)}}"], [data-part="${{CSS.escape(key)}}"]`);
  if (part) part.outerHTML = text;
}}
if (focused && document.activeElement === document.body)
  box.querySelector(`[data-id="${{CSS.escape(focused)}}"]`)?.focus();
"""
_PARTS = re.compile(r'<g [^>]*?data-(?:id|part)="([^"]*)"[^>]*>.*?</g>', re.DOTALL)  # groups without groups in them


class Pick(NamedTuple):
    part: str  # its data-id
    button: str  # left or right


class Clickable(ui.html):
    """Parts to click have a `data-id`. `on_pick` is called with the picked part; its errors are shown."""

    def __init__(self, svg: str, on_pick: Callable[[Pick], Awaitable[None] | None]) -> None:
        super().__init__(svg, sanitize=False)
        self._shown = split(svg)
        self.classes("drawing")

        async def picked(event: events.GenericEventArguments) -> None:
            with show_errors():
                await maybe_await(on_pick(parse_pick(event.args)))

        for name, script in (("click", _CLICK), ("contextmenu", _MENU), ("pointerdown", _DOWN)):
            self.on(name, picked, js_handler=script)
        self.on("keydown", picked, js_handler=_KEY)
        for name in ("pointerup", "pointercancel", "pointerleave"):
            self.on(name, js_handler=_UP)

    def draw(self, svg: str) -> None:
        """Show another drawing: only the changed parts are sent if the rest is the same."""
        before, self._shown = self._shown, split(svg)
        changes = self._shown.changes(before)
        if changes is None or not self.client.has_socket_connection:
            self.set_content(svg)
        elif changes:
            with self._props.suspend_updates():
                self._props["innerHTML"] = svg  # for the next update of the whole element
            self.client.run_javascript(_PATCH.format(id=self.id, changes=json.dumps(changes)))


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
    """Parse a message of the browser."""
    match message:
        case [str(part), str(button)] if len(part) < 100:
            require(button in (LEFT, RIGHT), "unknown mouse button")
            return Pick(part, button)
    raise UserError("this is not a part of the board")


def parse_id(part: str, prefix: str, count: int) -> int:
    """Return the number in an id such as cell-12; raise `UserError` unless it is below `count`."""
    name, _, digits = part.rpartition("-")
    known = name == prefix and digits.isascii() and digits.isdigit() and len(digits) < 6 and int(digits) < count
    require(known, f"{part!r} does not exist: expected {prefix}-0 to {prefix}-{count - 1}")
    return int(digits)
