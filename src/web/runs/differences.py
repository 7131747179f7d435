"""Which settings differ between the selected runs."""

from collections.abc import Sequence

from nicegui import ui

from .groups import differing, text
from .index import Row

SHOWN = 100  # settings


class Differences:
    """A table with a row for each setting that differs and a column for each run; hidden below two runs."""

    def __init__(self) -> None:
        with ui.element("section").classes("r-card").props('aria-label="differences of configuration"') as self._card:
            with ui.element("h2").classes("r-head"):
                ui.label("Differences of configuration")
            self._note = ui.label().classes("faint")
            self._place = ui.element("div").classes("r-scroll").props('tabindex=0 role=region aria-label="differences"')

    def show(self, rows: Sequence[Row]) -> None:
        self._card.set_visibility(len(rows) > 1)
        found = differing(rows) if len(rows) > 1 else {}
        self._note.text = _note(len(found), len(rows))
        self._place.clear()
        self._place.set_visibility(bool(found))
        with self._place, ui.element("table").classes("r-differences"):
            with ui.element("thead"):
                _cells("th", ["setting", *(row["run"] for row in rows)], "col")
            with ui.element("tbody"):
                for name in list(found)[:SHOWN]:
                    _cells("td", [name, *(text(one) or "-" for one in found[name])], None)


def _note(settings: int, runs: int) -> str:
    if not settings:
        return f"the {runs} selected runs have the same settings"
    return f"{settings} settings differ" + (f"; the first {SHOWN} are shown" if settings > SHOWN else "")


def _cells(tag: str, values: Sequence[str], scope: str | None) -> None:
    with ui.element("tr"):
        for place, one in enumerate(values):
            with ui.element("th" if place == 0 else tag) as cell:
                ui.label(one)
            if place == 0 or scope:
                cell.props(f"scope={scope or 'row'}")
