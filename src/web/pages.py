"""The pages: one for each folder here, and the generic page for other environments. They are prepared at the start."""

import logging
import pkgutil
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, NamedTuple

from .services import Services

log = logging.getLogger(__name__)

COMPILED = re.compile(r"compiled kernels: .*, (\d+) of (\d+),")
FOLDER = Path(__file__).parent
GENERIC = f"{__package__}.generic"


class Rule(NamedTuple):
    svg: str
    text: str


@dataclass(frozen=True, kw_only=True)
class PageEntry:
    """A page in the navigation, defined as `PAGE` in the `__init__.py` of its folder.

    `<package>.page` has `async def build(services, request)`, and may have `def prepare(services)`, called when the
    server starts. It is imported then or on the first visit, because importing the rules of a game can be slow. Its
    CSS, if any, is in `style.css` beside it.
    """

    package: str
    title: str
    path: str
    icon: str
    order: int  # position in the navigation
    summary: str = ""  # on its card on the start page
    picture: str = ""  # SVG on the card; without one there is no card
    rules: tuple[Rule, ...] = ()
    games: bool = False  # its games have addresses of their own below its path
    runs: bool = False  # and so have runs
    routes: Callable[[Services], None] | None = None  # registers further routes, such as images


def discover(envs: Iterable[str]) -> list[PageEntry]:
    """Return the pages of all folders and a generic one for each other environment, in order.

    The folder `chess` covers the environments `chess` and `chess_<variant>`.
    """
    folders = [module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.ispkg]
    entries = (getattr(import_module(f"{__package__}.{name}"), "PAGE", None) for name in folders)
    pages = [page for page in entries if page is not None]
    others = [env for env in envs if not any(env == name or env.startswith(f"{name}_") for name in folders)]
    return sorted([*pages, *map(generic_page, others)], key=lambda page: page.order)


def generic_page(env: str) -> PageEntry:
    return PageEntry(
        package=GENERIC,
        title=env.replace("_", " ").capitalize(),
        path=f"/play/{env}",
        icon="extension",
        order=50,
        summary="Play against an agent, or watch two of them.",
        picture=card_picture(
            f'<circle cx="{x}" cy="50" r="15" fill="var({color})" stroke="var(--line)" stroke-width="2"/>'
            for x, color in ((40, "--first"), (80, "--second"), (120, "--first"))
        ),
        games=True,
    )


def rule(parts: str, text: str) -> Rule:
    """Return a rule with an SVG of 160 by 120."""
    return Rule(
        f'<svg viewBox="0 0 160 120" width="100%" role="img" aria-hidden="true" fill="none">{parts}</svg>', text
    )


def card_picture(parts: Iterable[str]) -> str:
    """Return an SVG of 160 by 100 for a card of the start page."""
    return f'<svg viewBox="0 0 160 100" width="100%" role="img" aria-hidden="true">{"".join(parts)}</svg>'


class Preparation:
    """Prepares the pages when the server starts, so that few visitors wait for them; shared by all pages.

    Another process compiles the kernels that are missing in the cache. Then this one imports the pages and loads what
    they need, page by page.
    """

    def __init__(self) -> None:
        self.progress = ""  # empty: nothing is being prepared
        self._prepared: set[str] = set()  # packages

    def is_needed_by(self, page: PageEntry) -> bool:
        """Whether a page with a game waits for what is being prepared."""
        return bool(self.progress) and page.games and page.package not in self._prepared

    def run(self, services: Services, pages: Iterable[PageEntry], compiler: IO[str] | None) -> None:
        """Follow the lines of the compiling process, then prepare each page."""
        self.progress = "Preparing engines"
        try:
            for line in compiler or ():
                print(line, end="", flush=True)
                if found := COMPILED.match(line):
                    self.progress = f"Compiling engines: {found[1]} of {found[2]}"
            for page in pages:
                self.progress = f"Loading engines: {page.title}"
                try:
                    module = import_module(f"{page.package}.page")
                    if hasattr(module, "prepare"):
                        module.prepare(services)
                except Exception:  # its visitors get the message
                    log.warning("the page %s cannot be prepared", page.path, exc_info=True)
                self._prepared.add(page.package)
        finally:
            self.progress = ""


PREPARATION = Preparation()
