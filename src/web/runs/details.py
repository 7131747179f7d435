"""The details of one run: results, pictures and configuration."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from nicegui import ui

from ...core.errors import UserError
from .. import files
from ..files import RunPath
from .images import PICTURE


def show(run: RunPath) -> None:
    ui.label(run.name).classes("r-name")
    with _show_errors_inline():
        _scores(run)
    with _show_errors_inline():
        address = files.wandb_address(run)
        if address is not None:
            ui.link("on wandb", address, new_tab=True)
    _pictures(run)
    with ui.expansion("config.yaml", icon="tune").classes("w-full"), _show_errors_inline():
        text = files.content(run, "config.yaml", files.MAX_TEXT) or b""
        ui.code(text.decode(errors="replace"), language="yaml").classes("w-full r-config")


def _pictures(run: RunPath) -> None:
    """Show pictures that link to their full size; their space is reserved while they load."""
    with ui.element("div").classes("r-pictures"):
        for name in files.pictures(run):
            address = f"{PICTURE}?{urlencode({'run': run.name, 'file': name})}"
            with ui.element("figure") as figure:
                with ui.link(target=address, new_tab=True):
                    image = ui.element("img")
                    image.props["src"], image.props["alt"] = address, name
                ui.label(name).classes("faint")
            size = files.picture_size(run, name)
            if size is not None:
                figure.style(f"--width: {size[0]}px; --ratio: {size[0]} / {size[1]}")


def _scores(run: RunPath) -> None:
    scores = files.read_scores(run)
    if not scores:
        ui.label("no eval.json in this run").classes("faint")
        return
    head = "<tr><th></th><th>games</th><th>won/drawn/lost</th><th>win rate</th><th>95% interval</th></tr>"
    with ui.element("table").classes("r-scores"):
        ui.html(head, sanitize=False, tag="thead")
        with ui.element("tbody"):
            for score in scores:
                with ui.element("tr"):
                    counts = f"{score.wins}/{score.draws}/{score.losses}"
                    counts += f", {score.aborted} aborted" if score.aborted else ""
                    interval = f"{100 * score.low:.1f}-{100 * score.high:.1f}%"
                    for cell in (score.name, str(score.episodes), counts, f"{100 * score.win_rate:.1f}%", interval):
                        with ui.element("td"):
                            ui.label(cell)


@contextmanager
def _show_errors_inline() -> Iterator[None]:
    """Show a `UserError` in place of the content."""
    try:
        yield
    except UserError as error:
        ui.label(str(error)).classes("r-fault")
