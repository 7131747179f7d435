"""The table of runs: filter, columns, order, pages and selection, for keyboards and screen readers too."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from nicegui import events, ui

from ...core.errors import UserError
from ...core.runs.index import query
from ...core.runs.index.rows import BASE_FIELDS, Index, Row, format_value, value
from .. import shell
from . import address
from .charts import line_style
from .view import View

PAGE_SIZES = (10, 25, 50, 100)
LABELS = {"win_rate": "win rate (95%)", "score": "last score", "step": "steps", "changes": "changed values"}
DEFAULT_COLUMNS = (  # after the name of the run, which stays in place
    *("state", "win_rate", "score", "step", "env", "algo", "experiment", "reward", "curriculum", "seed", "changes"),
    *("tags", "updated"),
)
HELP = (
    "Words are searched in names, settings, notes and tags. Fields are compared with = != < > <= >=, such as "
    "algo=ppo lr>0.001 env=minesweeper* seed=1,2 win_rate>90% tag=baseline losses/loss<0.1"
)

_HEADER = """<tr><th v-for="col in props.cols" :key="col.name" scope="col" :class="'r-' + col.kind"
  :aria-sort="col.sorted || undefined"><button type="button" class="r-sort" :data-key="'sort ' + col.name"
  @click="$parent.$emit('sort', col.name)">
  {{ col.label }}<span aria-hidden="true">{{ {ascending: ' ▲', descending: ' ▼'}[col.sorted] || '' }}</span>
  </button></th></tr>"""
_BODY = """<tr :class="{'r-chosen': props.row.color}"><template v-for="col in props.cols" :key="col.name">
  <th v-if="col.name === 'run'" scope="row" class="r-frozen"><div class="r-name-cell"><label>
    <input type="checkbox" :checked="!!props.row.color"
    :data-key="'run ' + props.row.run" @change="$parent.$emit('pick', [props.row.run, $event.target.checked])">
    <i class="r-swatch" aria-hidden="true"
    :style="{background: props.row.color || 'transparent'}"></i><span>{{ props.row.title }}
    <small>{{ props.row.run }}</small></span></label><a :href="props.row.page" class="r-open"
    :aria-label="'page of ' + props.row.run">open</a></div></th>
  <td v-else :class="'r-' + col.kind" :title="props.row[col.name]"
    @click="$parent.$emit('pick', [props.row.run, !props.row.color])">{{ props.row[col.name] }}</td>
  </template></tr>"""


class RunTable:
    """The list of runs.

    `on_select` is called with names of runs and whether they are selected now, `on_match` when other runs match the
    filter, and `on_view` when the filter, the columns or the order have changed.
    """

    def __init__(
        self,
        index: Index,
        view: View,
        on_select: Callable[[Collection[str], bool], Awaitable[None]],
        on_match: Callable[[], None],
        on_view: Callable[[], None],
    ) -> None:
        self._index, self._on_select, self._on_match, self._on_view = index, on_select, on_match, on_view
        self.matches: list[Row] = []
        self.sort, self.columns = view.sort, view.columns
        self._applied_filter = ""
        self._first = frozenset(view.runs)  # listed first: an address asks for them
        self._start, self._page_size = 0, PAGE_SIZES[0]
        self._rows: list[Row] | None = None  # of the index, as shown
        self._selected: Sequence[Row] = []
        with ui.element("section").classes("r-card").props('aria-label="list of runs"'):
            with ui.element("div").classes("r-bar"):
                with ui.element("h1").classes("headline"):
                    ui.label("Runs")
                self._status = ui.label().classes("faint r-status").props("role=status")
                example = "algo=ppo lr>0.001 text"
                self._filter = ui.input("filter", value=view.filter, placeholder=example, on_change=self._on_filter)
                self._filter.props("outlined dense clearable hide-bottom-space debounce=250")
                self._filter.classes("r-filter grow").tooltip(HELP)
                self._chooser = ui.select([], label="columns", multiple=True, with_input=True)
                self._chooser.on_value_change(self._on_columns).props("outlined dense options-dense")
                self._chooser.classes("r-columns")
            self._error = ui.label().classes("r-fault r-filter-fault").props("role=alert")
            self._table = ui.table(columns=[], rows=[], row_key="run", pagination=0).classes("w-full r-table")
            self._table.props("flat dense hide-bottom hide-no-data")
            self._table.add_slot("header", _HEADER)
            self._table.add_slot("body", _BODY)
            self._table.on("pick", self._on_pick)
            self._table.on("sort", self._on_sort)
            with ui.element("nav").classes("r-bar r-pager").props('aria-label="pages of the table"'):
                self._back = ui.button(icon="chevron_left", on_click=lambda: self._turn(-1))
                self._place = ui.label().classes("r-place")
                self._next = ui.button(icon="chevron_right", on_click=lambda: self._turn(1))
                for button, name in ((self._back, "previous page"), (self._next, "next page")):
                    button.props(f'flat round aria-label="{name}"')
                sizes = {size: f"{size} rows" for size in PAGE_SIZES}
                rows = ui.select(sizes, value=self._page_size, label="show", on_change=self._on_page_size)
                rows.props("outlined dense").classes("r-size")
                ui.space()
                self._all = ui.button("", on_click=lambda: self._on_select([row["run"] for row in self.matches], True))
                self._all.props("outline no-caps").classes("r-all")
                self._none = ui.button("Clear selection").props("flat no-caps").classes("r-none")
                self._none.on_click(lambda: self._on_select([row["run"] for row in self._selected], False))

    @property
    def filter(self) -> str:
        """The filter in the address: while runs are read, it may name a field of a run that is not read yet."""
        return self._applied_filter if self._index.ready else str(self._filter.value or "")

    def update(self, selected: Sequence[Row] | None = None) -> None:
        """Show the rows of the index, if there are new ones or others are selected now."""
        reading = f"reading {len(self._index.known):,} of {self._index.found:,}"
        self._status.text = "" if self._index.ready else reading
        if selected is not None:
            self._selected = selected
        if selected is not None or self._index.known is not self._rows:
            self._match()

    def _match(self) -> None:
        """Apply the filter; one that is not valid is reported, and the list stays as it is."""
        self._rows, ready, fields = self._index.known, self._index.ready, self._index.fields()
        if ready and self.sort.removeprefix("-") not in (*BASE_FIELDS, *fields):
            self.sort = "-updated"
        text = str(self._filter.value or "")
        try:
            test = query.parse_filter(text, fields)
        except UserError as error:
            if ready:
                self._error.text = str(error)
                self._filter.props(add="error")
            else:  # the field may belong to a run that is not read yet
                self._error.text = ""
            test = query.parse_filter(self._applied_filter, fields)
        else:
            self._applied_filter, self._error.text = text, ""
            self._filter.props(remove="error")
        known = {row["run"] for row in self._rows}
        rows = [*self._rows, *(row for row in self._selected if row["run"] not in known)]
        matches = query.sort_rows([row for row in rows if test(row)], self.sort)
        self.matches = sorted(matches, key=lambda row: row["run"] not in self._first)
        # The columns of an address are options even before a run that has them is read.
        shown = self.columns or DEFAULT_COLUMNS
        names = {name: LABELS.get(name, name) for name in (*BASE_FIELDS[2:-2], *fields, *shown)}
        if (names, list(shown)) != (self._chooser.options, self._chooser.value):  # thousands, which take time to send
            self._chooser.set_options(names, value=list(shown))
        self._on_match()
        self._show_page()

    def _show_page(self) -> None:
        count = len(self.matches)
        self._start = max(min(self._start, (count - 1) // self._page_size * self._page_size), 0)
        end = min(self._start + self._page_size, count)
        columns = self.columns or DEFAULT_COLUMNS
        self._table.columns = [_column(name, self.sort) for name in ("run", *columns)]
        colors = {row["run"]: line_style(place)[0] for place, row in enumerate(self._selected)}
        rows = [
            {name: format_cell(row, name) for name in columns}
            | {name: row[name] for name in ("run", "title")}
            | {"color": colors.get(row["run"], ""), "page": address(row["run"])}
            for row in self.matches[self._start : end]
        ]
        if rows != self._table.rows:
            self._table.rows = rows
        self._place.text = f"{self._start + 1:,}-{end:,} of {count:,}" if count else "no runs match"
        self._back.set_enabled(self._start > 0)
        self._next.set_enabled(end < count)
        self._all.text = f"Select all {count:,}"
        self._all.set_enabled(count > 0)
        self._none.set_enabled(bool(self._selected))

    async def _on_pick(self, event: events.GenericEventArguments) -> None:
        match event.args:
            case [str(name), bool(on)]:
                await self._on_select([name], on)

    def _turn(self, pages: int) -> None:
        self._start += pages * self._page_size
        self._show_page()

    def _on_page_size(self, event: events.ValueChangeEventArguments) -> None:
        self._page_size = shell.checked(event.value, PAGE_SIZES)
        self._show_page()

    def _on_filter(self) -> None:
        self._start = 0
        self._match()
        self._on_view()

    def _on_sort(self, event: events.GenericEventArguments) -> None:
        """Sort by a column: numbers from the largest, texts from the first; again for the other direction."""
        name = shell.checked(str(event.args), ("run", *(self.columns or DEFAULT_COLUMNS)))
        numeric = any(type(value(row, name)) in (int, float) for row in self.matches)
        first, other = (f"-{name}", name) if numeric else (name, f"-{name}")
        self.sort, self._start, self._first = other if self.sort == first else first, 0, frozenset()
        self._match()
        self._on_view()

    def _on_columns(self, event: events.ValueChangeEventArguments) -> None:
        if not isinstance(event.value, list) or event.value == list(self.columns or DEFAULT_COLUMNS):
            return
        chosen = {shell.checked(name, self._chooser.options) for name in event.value}
        order = (*DEFAULT_COLUMNS, *self._chooser.options)
        self.columns = tuple(dict.fromkeys(name for name in order if name in chosen))
        self._show_page()
        self._on_view()


def _column(name: str, sort: str) -> dict[str, Any]:
    direction = {name: "ascending", f"-{name}": "descending"}.get(sort, "")
    kind = "frozen" if name == "run" else "long" if name in ("changes", "notes", "tags") else "cell"
    return {"name": name, "field": name, "label": LABELS.get(name, name), "sorted": direction, "kind": kind}


def format_cell(row: Row, name: str) -> str:
    """Return a value of a run as it is shown."""
    found = value(row, name)
    if found is None:
        return ""
    if name == "updated":
        return datetime.fromtimestamp(found).strftime("%Y-%m-%d %H:%M")
    if name == "step":
        return f"{found:,.0f}"
    if name in ("win_rate", "score"):
        has_interval = name == "win_rate" and row["low"] is not None
        interval = f" ({100 * row['low']:.1f}-{100 * row['high']:.1f})" if has_interval else ""
        return f"{found:.1%}{interval}"
    return format_value(found)
