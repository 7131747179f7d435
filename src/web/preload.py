"""Prepare the pages when the server starts, so that few visitors wait for them, and show how far that is.

Another process compiles the kernels that are missing in the cache. Then this one imports the pages and loads what they
need, page by page.
"""

import logging
import re
import threading
from collections.abc import Iterable
from importlib import import_module
from typing import IO

from nicegui import ui

from .pages import PageEntry
from .services import Services

log = logging.getLogger(__name__)

_COMPILED = re.compile(r"compiled kernels: .*, (\d+) of (\d+),")
POLL = 1.0  # seconds between updates of the progress on the pages


class Progress:
    """What is done of the preparation; shared by all pages."""

    def __init__(self) -> None:
        self.text = ""  # empty: nothing is being prepared

    def prepare(self, services: Services, pages: Iterable[PageEntry], compiler: IO[str] | None) -> None:
        """Follow the lines of the compiling process, then prepare each page."""
        self.text = "Preparing engines"
        try:
            for line in compiler or ():
                print(line, end="", flush=True)
                if found := _COMPILED.match(line):
                    self.text = f"Compiling engines: {found[1]} of {found[2]}"
            for page in pages:
                self.text = f"Loading engines: {page.title}"
                try:
                    module = import_module(f"{page.package}.page")
                    if hasattr(module, "prepare"):
                        module.prepare(services)
                except Exception:  # its visitors get the message
                    log.warning("the page %s cannot be prepared", page.path, exc_info=True)
        finally:
            self.text = ""


PROGRESS = Progress()


def start(services: Services, pages: Iterable[PageEntry], compiler: IO[str] | None) -> None:
    threading.Thread(target=PROGRESS.prepare, args=(services, pages, compiler), daemon=True).start()


def show_progress() -> None:
    """Show the progress until everything is prepared."""
    if not PROGRESS.text:
        return
    label = ui.label(PROGRESS.text).classes("lab-progress").props("role=status")

    def update() -> None:
        label.text = PROGRESS.text
        if not PROGRESS.text:
            timer.deactivate()

    timer = ui.timer(POLL, update)
