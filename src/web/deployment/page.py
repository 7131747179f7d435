"""Show a placeholder at once, and the game when it is built."""

from importlib import import_module

from nicegui import ui
from starlette.requests import Request

from .. import shell
from ..lab import Lab
from . import view
from .style import CSS

# Keys for an input field or the focused button are not handled. A button clicked with the mouse loses the focus.
KEYS = """
document.addEventListener('keydown', (e) => {
  const at = e.target instanceof Element ? e.target : document.body;
  if (e.ctrlKey || e.metaKey || e.altKey || at.closest('input, textarea, .q-slider, .q-menu, .q-dialog')) return;
  if ((e.key === 'Enter' || e.key === ' ') && at.closest('button, a, [role=button]')) return;
  if (!/^(Arrow(Up|Down|Left|Right)|Enter|[ aAuUwWpP\\[\\]])$/.test(e.key)) return;
  e.preventDefault();
  emitEvent('dp-key', {key: e.key, board: !!at.closest('.dp-board')});
});
document.addEventListener('click', (e) => {
  if (e.detail && e.target.closest('.dp button')) document.activeElement.blur();
});"""


def prepare(lab: Lab) -> None:
    """Load the compiled rules of the usual game."""
    import_module(f"{__package__}.loading").prepare(lab)


async def build(lab: Lab, request: Request) -> None:
    shell.add_style(CSS + view.CSS)
    ui.run_javascript(KEYS)
    ui.run_javascript(view.SCRIPT)
    box = ui.element("div").classes("w-full")
    with box:
        busy = _placeholder()

    async def load() -> None:
        """Import the rules in a thread: they import the slow Numba."""
        loading = await busy.do(import_module, f"{__package__}.loading")
        await loading.show_match(lab, box, busy, request)

    ui.timer(0, load, once=True)


def _placeholder() -> shell.Busy:
    """Reserve the space of the board, so that the layout does not shift."""
    with ui.element("div").classes("dp w-full"):
        with ui.element("div").classes("dp-left"):
            ui.element("div").classes("dp-status-room")
            ui.label("Setting up the board").classes("dp-headline")
            ui.element("div").classes("dp-bar-room")
            with ui.element("div").classes("board dp-board grid place-items-center"):
                busy = shell.Busy()
        ui.element("div").classes("dp-right")
    return busy
