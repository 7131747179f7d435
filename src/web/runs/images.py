"""Serve the PNG files of runs."""

from fastapi import Response
from fastapi.responses import FileResponse, PlainTextResponse
from nicegui import app

from ...core.errors import UserError, require
from .. import files
from ..services import Services

PICTURE = "/runs/picture"
MAX_PICTURE = 1 << 25  # bytes


def routes(services: Services) -> None:
    @app.get(PICTURE)
    def picture(run: str, file: str) -> Response:
        try:
            found = files.locate(services.folders, run)
            require(file in files.pictures(found), f"{run} has no picture {file}: only PNG files of a run are shown")
            path = files.file_of(found, file, MAX_PICTURE)
            require(path is not None, f"{run} no longer has the picture {file}")
            assert path is not None
            return FileResponse(path, media_type="image/png", headers={"X-Content-Type-Options": "nosniff"})
        except (UserError, OSError) as error:
            return PlainTextResponse(str(error), status_code=404)
