"""Every run below the folders, their figures, and comparisons that have an address."""

from fastapi import Response
from fastapi.responses import FileResponse, PlainTextResponse
from nicegui import app, ui

from src.core.errors import LabError, require
from src.web import files, shell
from src.web.lab import Lab
from src.web.runs import address
from src.web.runs.details import PICTURE
from src.web.runs.index import Index
from src.web.runs.screen import Screen
from src.web.runs.style import CSS

MOST_PICTURE = 1 << 25
PATIENCE = 60.0  # seconds that a first look at hundreds of runs may take


def page(lab: Lab) -> None:
    index = Index(lab.folders)

    @ui.page(shell.RUNS.path, response_timeout=PATIENCE)
    async def runs() -> None:
        ui.add_css(CSS)
        with shell.frame(shell.RUNS):
            await Screen.build(index, address.read(ui.context.client.request.url.query))

    @app.get(PICTURE)
    def picture(run: str, file: str) -> Response:
        try:
            found = files.locate(lab.folders, run)
            require(file in files.pictures(found), f"{run} has no picture {file}: only PNG files of a run are shown")
            path = files.file_of(found, file, MOST_PICTURE)
            require(path is not None, f"{run} has no picture {file} any more")
            assert path is not None
            return FileResponse(path, media_type="image/png", headers={"X-Content-Type-Options": "nosniff"})
        except (LabError, OSError) as error:
            return PlainTextResponse(str(error), status_code=404)
