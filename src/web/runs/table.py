"""The table of runs: one page of rows, with native checkboxes and buttons for keyboards and screen readers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from nicegui import events, ui

from ..shell import show_errors
from .groups import text
from .index import Row, value

LABELS = {
    "run": "run",
    "state": "state",
    "win_rate": "win rate (95%)",
    "score": "last score",
    "step": "steps",
    "changes": "changed values",
}
USUAL = (  # columns after the name of the run, which stays in place
    *("state", "win_rate", "score", "step", "env", "algo", "experiment", "reward", "curriculum", "seed", "changes"),
    *("tags", "updated"),
)

_HEADER = """<tr><th v-for="col in props.cols" :key="col.name" scope="col" :class="'r-' + col.kind"
  :aria-sort="col.sorted || undefined"><button type="button" class="r-sort" :data-key="'sort ' + col.name"
  @click="$parent.$emit('sort', col.name)">
  {{ col.label }}<span aria-hidden="true">{{ {ascending: ' ▲', descending: ' ▼'}[col.sorted] || '' }}</span>
  </button></th></tr>"""
_BODY = """<tr :class="{'r-chosen': props.row.color}"><template v-for="col in props.cols" :key="col.name">
  <th v-if="col.name === 'run'" scope="row" class="r-frozen"><label><input type="checkbox" :checked="!!props.row.color"
    :data-key="'run ' + props.row.run" @change="$parent.$emit('pick', [props.row.run, $event.target.checked])">
    <i class="r-swatch" aria-hidden="true"
    :style="{background: props.row.color || 'transparent'}"></i><span>{{ props.row.run }}</span></label></th>
  <td v-else :class="'r-' + col.kind" :title="props.row[col.name]"
    @click="$parent.$emit('pick', [props.row.run, !props.row.color])">{{ props.row[col.name] }}</td>
  </template></tr>"""
# The rows of a slot are built again with each update; the control that had the focus gets it back.
_KEEP_FOCUS = """{ let key = null; const keyOf = e => e.target.closest?.('.r-table [data-key]')?.dataset.key;
  addEventListener('focusin', e => key = keyOf(e) ?? null);
  addEventListener('pointerdown', e => key = keyOf(e) ?? null);
  new MutationObserver(() => { if (key !== null && document.activeElement === document.body)
    document.querySelector(`.r-table [data-key="${CSS.escape(key)}"]`)?.focus(); })
    .observe(document.body, {childList: true, subtree: true}); }"""


class RunTable:
    def __init__(
        self, on_pick: Callable[[str, bool], Awaitable[None]], on_sort: Callable[[str], Awaitable[None] | None]
    ) -> None:
        ui.run_javascript(_KEEP_FOCUS)
        self._table = ui.table(columns=[], rows=[], row_key="run", pagination=0).classes("w-full r-table")
        self._table.props("flat dense hide-bottom hide-no-data")
        self._table.add_slot("header", _HEADER)
        self._table.add_slot("body", _BODY)

        async def picked(event: events.GenericEventArguments) -> None:
            match event.args:
                case [str(name), bool(on)]:
                    await on_pick(name, on)

        async def sorted_by(event: events.GenericEventArguments) -> None:
            with show_errors():
                result = on_sort(str(event.args))
                if result is not None:
                    await result

        self._table.on("pick", picked)
        self._table.on("sort", sorted_by)

    def show(self, rows: Sequence[Row], columns: Sequence[str], sort: str, colors: Mapping[str, str]) -> None:
        """Show a page of rows; `colors` are those of the selected runs."""
        self._table.columns = [_column(name, sort) for name in ("run", *columns)]
        shown = [_cells(row, columns) | {"color": colors.get(row["run"], "")} for row in rows]
        if shown != self._table.rows:
            self._table.rows = shown


def _column(name: str, sort: str) -> dict[str, Any]:
    direction = {name: "ascending", f"-{name}": "descending"}.get(sort, "")
    kind = "frozen" if name == "run" else "long" if name in ("changes", "notes", "tags") else "cell"
    return {"name": name, "field": name, "label": LABELS.get(name, name), "sorted": direction, "kind": kind}


def _cells(row: Row, columns: Sequence[str]) -> dict[str, str]:
    return {"run": row["run"]} | {name: cell(row, name) for name in columns}


def cell(row: Row, name: str) -> str:
    """Return a value of a run as it is shown."""
    found = value(row, name)
    if found is None:
        return ""
    if name == "updated":
        return datetime.fromtimestamp(found).strftime("%Y-%m-%d %H:%M")
    if name == "step":
        return f"{found:,.0f}"
    if name in ("win_rate", "score"):
        known = name == "win_rate" and row["low"] is not None
        interval = f" ({100 * row['low']:.1f}-{100 * row['high']:.1f})" if known else ""
        return f"{found:.1%}{interval}"
    return text(found)


def ordered(rows: Sequence[Row], sort: str) -> list[Row]:
    """Return the rows in the order of a column, descending with a minus; runs without a value come last."""
    name = sort.removeprefix("-")
    found = [row for row in rows if value(row, name) not in (None, "", ())]
    found.sort(key=lambda row: _key(value(row, name)), reverse=sort.startswith("-"))
    return found + [row for row in rows if value(row, name) in (None, "", ())]


def _key(found: Any) -> tuple[bool, Any]:
    numeric = isinstance(found, int | float)
    return (not numeric, found if numeric else str(found).casefold())
