"""A drawing on a page whose parts can be clicked."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from nicegui import events, ui

from src.core.errors import UserError, require
from src.web.shell import finish, show_errors

LEFT, RIGHT = "left", "right"

# One listener for the whole drawing: a part that can be picked carries data-id. A long press is a right click, for
# fingers have only one button; the click and the menu that browsers make of it are held back.
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
    """SVG text on the page. `on_pick` is called with the part that was clicked; its errors are shown."""

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
    """What the browser sent, once it has the form of a pick."""
    match message:
        case [str(part), str(button)] if len(part) < 100:
            require(button in (LEFT, RIGHT), "that is no button this page knows")
            return Pick(part, button)
    raise UserError("that is no part of the board")


def numbered(part: str, prefix: str, count: int) -> int:
    """The number in an id such as cell-12, below `count`; anything else raises `UserError`."""
    name, _, digits = part.rpartition("-")
    known = name == prefix and digits.isascii() and digits.isdigit() and len(digits) < 6 and int(digits) < count
    require(known, f"there is no {part!r} here: they are {prefix}-0 to {prefix}-{count - 1}")
    return int(digits)
