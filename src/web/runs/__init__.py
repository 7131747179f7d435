"""The Runs page: a table of all runs, comparisons with a stable URL, and a page for each run."""

from urllib.parse import quote

from fastapi import Response
from fastapi.responses import FileResponse, PlainTextResponse
from nicegui import app

from ...core.errors import UserError, require
from ...core.runs.index import files
from ..pages import PageEntry, card_picture
from ..services import Services

IMAGE_PATH = "/runs/picture"
MAX_IMAGE = 1 << 25  # bytes


def routes(services: Services) -> None:
    """Serve the PNG files of runs."""

    @app.get(IMAGE_PATH)
    def image(run: str, file: str) -> Response:
        try:
            found = files.locate(services.folders, run)
            require(file in files.pictures(found), f"{run} has no picture {file}: only PNG files of a run are shown")
            path = files.file_of(found, file, MAX_IMAGE)
            if path is None:
                raise UserError(f"{run} no longer has the picture {file}")
            return FileResponse(path, media_type="image/png", headers={"X-Content-Type-Options": "nosniff"})
        except (UserError, OSError) as error:
            return PlainTextResponse(str(error), status_code=404)


def address(run: str) -> str:
    """Return the address of the page of a run."""
    return f"{PAGE.path}/{quote(run)}"


_CURVES = (
    '<path d="M22 8V88H146" stroke="var(--faint)" stroke-width="2" fill="none"/>',
    '<path d="M22 84C52 80 54 30 84 24S128 16 146 14" stroke="var(--blue)" stroke-width="4" fill="none"/>',
    '<path d="M22 86C70 84 72 62 98 48S130 34 146 32" stroke="var(--orange)" stroke-width="4" fill="none"/>',
)
PAGE = PageEntry(
    package=__name__,
    title="Runs",
    path="/runs",
    icon="show_chart",
    order=90,
    summary="Learning curves of all runs, side by side.",
    picture=card_picture(_CURVES),
    runs=True,
    routes=routes,
)
