"""Playing without a mouse."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nicegui import events, ui

if TYPE_CHECKING:  # the script is on the page before the game, and the rules, are there
    from src.web.deployment.table import Table

ARROWS = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}

# Keys that belong to a field, or to the button in focus, are left to it; a button that was clicked with a mouse does
# not keep the focus, nor does the part of it that Quasar hands the focus to.
SCRIPT = """<script>
document.addEventListener('keydown', (e) => {
  const at = e.target instanceof Element ? e.target : document.body;
  if (e.ctrlKey || e.metaKey || e.altKey || at.closest('input, textarea, .q-slider, .q-menu, .q-dialog')) return;
  if ((e.key === 'Enter' || e.key === ' ') && at.closest('button, a, [role=button]')) return;
  if (!/^(Arrow(Up|Down|Left|Right)|Enter|[ uUwWpP\\[\\]])$/.test(e.key)) return;
  e.preventDefault();
  emitEvent('dp-key', {key: e.key, board: !!at.closest('.dp-board')});
});
document.addEventListener('click', (e) => {
  if (e.detail && e.target.closest('.dp button')) document.activeElement.blur();
});
</script>"""


def listen(table: "Table") -> None:
    async def heard(event: events.GenericEventArguments) -> None:
        match event.args:
            case {"key": str(name), "board": bool(on_board)}:
                await press(table, name.lower() if len(name) == 1 else name, on_board)

    ui.on("dp-key", heard)


async def press(table: "Table", name: str, on_board: bool) -> None:
    meanings: dict[str, Callable[[], Any]] = {
        "u": table.undo,
        "w": table.wait,
        "p": table.toggle,
        "[": lambda: table.look_by(-1),
        "]": lambda: table.look_by(1),
        "Enter": lambda: _enter(table),
    }
    if name == " ":
        await table.step()
    elif name in meanings:
        meanings[name]()
    elif name in ARROWS:
        _arrow(table, *ARROWS[name], on_board)


def _enter(table: "Table") -> None:
    if table.cursor is None:
        table.confirm()
    else:
        table.act_at(table.cursor)


def _arrow(table: "Table", across: int, down: int, on_board: bool) -> None:
    """On the board the cursor goes from hex to hex. Elsewhere up and down lead through units, or legal hexes."""
    units = table.units_to_place
    if on_board:
        table.point_at(_beside(table, across, down))
    elif down and units:
        table.choose(_next(units, table.unit, down))
    elif table.candidates:
        table.point_at(_next(table.candidates, table.cursor, across + down))


def _beside(table: "Table", across: int, down: int) -> tuple[int, int]:
    board = table.match.game.scenario.board
    if table.cursor is None:
        return next(iter(table.candidates), (board.cols // 2, board.rows // 2))
    col, row = table.cursor
    moved = (col + across, row + down)
    return moved if board.contains(moved) else (col, row)


def _next(options: list[Any], current: Any, by: int) -> Any:
    if current not in options:
        return options[0]
    return options[(options.index(current) + by) % len(options)]
