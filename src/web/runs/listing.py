"""The list of runs: filter, columns, order and pages of the table."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from nicegui import events, ui

from ...core.errors import UserError
from .. import shell
from . import query
from .address import View
from .index import BASE, Index, Row, value
from .table import LABELS, USUAL, RunTable, ordered

PAGE_SIZES = (10, 25, 50, 100)
HELP = (
    "Words are searched in names, settings, notes and tags. Fields are compared with = != < > <= >=, such as "
    "algo=ppo lr>0.001 env=minesweeper* seed=1,2 win_rate>90% tag=baseline losses/loss<0.1"
)


class Selection(Protocol):
    """The page of the list."""

    async def pick(self, names: Collection[str], on: bool) -> None: ...

    async def clear(self) -> None: ...

    def update_address(self) -> None: ...

    def rows_ahead(self) -> list[Row]:
        """Return the rows of selected runs that the index has not read yet."""

    def on_matches(self) -> None:
        """Called when other runs match the filter."""


class RunList:
    def __init__(self, index: Index, view: View, page: Selection) -> None:
        self._index, self._page = index, page
        self.filter = ""
        self.columns: tuple[str, ...] = view.columns
        self.matches: list[Row] = []
        self.colors: Mapping[str, str] = {}
        self._first = frozenset(view.runs)  # listed first: an address asks for them
        self._start, self._size = 0, PAGE_SIZES[0]
        self._rows: list[Row] | None = None
        self.sort = view.sort
        self._build(view)

    def _build(self, view: View) -> None:
        with ui.element("section").classes("r-card").props('aria-label="list of runs"'):
            with ui.element("div").classes("r-bar"):
                with ui.element("h1").classes("headline"):
                    ui.label("Runs")
                self._status = ui.label().classes("faint r-status").props("role=status")
                self._filter = ui.input("filter", value=view.filter, on_change=self._on_filter)
                self._filter.props(
                    'outlined dense clearable hide-bottom-space debounce=250 placeholder="algo=ppo lr>0.001 text"'
                )
                self._filter.classes("r-filter grow").tooltip(HELP)
                self._chooser = ui.select(
                    [], label="columns", multiple=True, with_input=True, on_change=self._on_columns
                )
                self._chooser.props("outlined dense options-dense").classes("r-columns")
            self._fault = ui.label().classes("r-fault r-filter-fault").props("role=alert")
            self._table = RunTable(lambda name, on: self._page.pick([name], on), self._on_sort)
            self._build_pager()

    def _build_pager(self) -> None:
        with ui.element("nav").classes("r-bar r-pager").props('aria-label="pages of the table"'):
            self._back = _button("chevron_left", "previous page", lambda: self._turn(-1))
            self._place = ui.label().classes("r-place")
            self._next = _button("chevron_right", "next page", lambda: self._turn(1))
            sizes = {size: f"{size} rows" for size in PAGE_SIZES}
            rows = ui.select(sizes, value=self._size, label="show", on_change=self._on_size)
            rows.props("outlined dense").classes("r-size")
            ui.space()
            self._all = ui.button("", on_click=self._pick_all).props("outline no-caps").classes("r-all")
            self._none = ui.button("Clear selection", on_click=shell.handler(self._page.clear))
            self._none.props("flat no-caps").classes("r-none")

    def update(self, *, forced: bool = False) -> None:
        """Show the rows of the index, if there are new ones."""
        rows = self._index.known
        reading = not self._index.ready
        self._status.text = f"reading {len(rows):,} of {self._index.found:,}" if reading else ""
        if rows is not self._rows or forced:
            self._rows = rows
            self._match([*rows, *self._page.rows_ahead()])

    def _match(self, rows: Sequence[Row]) -> None:
        """Apply the filter; one that is not valid is reported, and the list stays as it is."""
        fields = self._index.fields()
        if self._index.ready and self.sort.removeprefix("-") not in (*BASE, *fields):
            self.sort = "-updated"
        text = str(self._filter.value or "")
        try:
            test = query.parse(text, fields)
        except UserError as error:
            reading = not self._index.ready  # the field may belong to a run that is not read yet
            self._fault.text = "" if reading else str(error)
            self._filter.props(add="error") if not reading else None
            test = query.parse(self.filter, fields)
        else:
            self.filter, self._fault.text = text, ""
            self._filter.props(remove="error")
        matches = ordered([row for row in rows if test(row)], self.sort)
        self.matches = sorted(matches, key=lambda row: row["run"] not in self._first)
        # The columns of an address are options even before a run that has them is read.
        names = {name: LABELS.get(name, name) for name in (*BASE[1:-2], *fields, *self._shown())}
        self._chooser.set_options(names, value=list(self._shown()))
        self._page.on_matches()
        self.show()

    def show(self) -> None:
        """Show the current page of the table."""
        count = len(self.matches)
        self._start = max(min(self._start, (count - 1) // self._size * self._size), 0)
        end = min(self._start + self._size, count)
        self._table.show(self.matches[self._start : end], self._shown(), self.sort, self.colors)
        self._place.text = f"{self._start + 1:,}-{end:,} of {count:,}" if count else "no runs match"
        self._back.set_enabled(self._start > 0)
        self._next.set_enabled(end < count)
        self._all.text = f"Select all {count:,}"
        self._all.set_enabled(count > 0)
        self._none.set_enabled(bool(self.colors))

    def _shown(self) -> Sequence[str]:
        return self.columns or USUAL

    @property
    def address_filter(self) -> str:
        """The filter in the address: while runs are read, one with a field of a run that is not read yet is kept."""
        return self.filter if self._index.ready else str(self._filter.value or "")

    async def _pick_all(self) -> None:
        await self._page.pick([row["run"] for row in self.matches], True)

    def _turn(self, pages: int) -> None:
        self._start += pages * self._size
        self.show()

    def _on_size(self, event: events.ValueChangeEventArguments) -> None:
        with shell.show_errors():
            self._size = shell.checked(event.value, PAGE_SIZES)
            self.show()

    def _on_filter(self) -> None:
        self._start = 0
        self.update(forced=True)
        self._page.update_address()

    def _on_sort(self, name: str) -> None:
        """Sort by a column: numbers from the largest, texts from the first; again for the other direction."""
        shell.checked(name, ("run", *self._shown()))
        first = f"-{name}" if any(type(value(row, name)) in (int, float) for row in self.matches) else name
        other = name if first.startswith("-") else f"-{name}"
        self.sort, self._start, self._first = other if self.sort == first else first, 0, frozenset()
        self.update(forced=True)
        self._page.update_address()

    def _on_columns(self, event: events.ValueChangeEventArguments) -> None:
        if not isinstance(event.value, list) or list(event.value) == list(self._shown()):
            return
        with shell.show_errors():
            chosen = {shell.checked(name, self._chooser.options) for name in event.value}
            order = (*USUAL, *self._chooser.options)
            self.columns = tuple(dict.fromkeys(name for name in order if name in chosen))
            self.show()
            self._page.update_address()


def _button(icon: str, label: str, on_click: Callable[[], Any]) -> ui.button:
    button = ui.button(icon=icon, on_click=on_click).props("flat round")
    button.props["aria-label"] = label
    return button
