"""The Runs page: a table of all runs, and comparisons with a stable URL."""

from collections.abc import Iterable

from ..pages import PageEntry, card_picture
from .images import routes


def _picture() -> Iterable[str]:
    yield '<path d="M22 8V88H146" stroke="var(--faint)" stroke-width="2" fill="none"/>'
    yield '<path d="M22 84C52 80 54 30 84 24S128 16 146 14" stroke="var(--blue)" stroke-width="4" fill="none"/>'
    yield '<path d="M22 86C70 84 72 62 98 48S130 34 146 32" stroke="var(--orange)" stroke-width="4" fill="none"/>'


PAGE = PageEntry(
    package=__name__,
    title="Runs",
    path="/runs",
    icon="show_chart",
    order=90,
    summary="Learning curves of all runs, side by side.",
    picture=card_picture(_picture()),
    routes=routes,
)
