"""An SVG drawing with clickable parts."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from nicegui import events, ui

from ..core.errors import UserError, require
from .shell import finish, show_errors

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


class Pick(NamedTuple):
    part: str  # its data-id
    button: str  # left or right


class Drawing(ui.html):
    """An SVG element. `on_pick` is called with the clicked part; its errors are shown."""

    def __init__(self, svg: str, on_pick: Callable[[Pick], Awaitable[None] | None]) -> None:
        super().__init__(svg, sanitize=False)
        self.classes("drawing")

        async def picked(event: events.GenericEventArguments) -> None:
            with show_errors():
                await finish(on_pick(read_pick(event.args)))

        for name, script in (("click", _CLICK), ("contextmenu", _MENU), ("pointerdown", _DOWN)):
            self.on(name, picked, js_handler=script)
        for name in ("pointerup", "pointercancel", "pointerleave"):
            self.on(name, js_handler=_UP)

    def draw(self, svg: str) -> None:
        self.set_content(svg)


def read_pick(message: object) -> Pick:
    """Parse a message of the browser."""
    match message:
        case [str(part), str(button)] if len(part) < 100:
            require(button in (LEFT, RIGHT), "unknown mouse button")
            return Pick(part, button)
    raise UserError("this is not a part of the board")


def numbered(part: str, prefix: str, count: int) -> int:
    """Return the number in an id such as cell-12; raise `UserError` unless it is below `count`."""
    name, _, digits = part.rpartition("-")
    known = name == prefix and digits.isascii() and digits.isdigit() and len(digits) < 6 and int(digits) < count
    require(known, f"{part!r} does not exist: expected {prefix}-0 to {prefix}-{count - 1}")
    return int(digits)
