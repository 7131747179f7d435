"""Discovery of the pages: one for each folder here, and the generic page for other environments."""

import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from .lab import Lab

FOLDER = Path(__file__).parent
GENERIC = f"{__package__}.generic"


class RulePicture(NamedTuple):
    """A rule of a game."""

    svg: str
    text: str


@dataclass(frozen=True, kw_only=True)
class PageEntry:
    """A page in the navigation, defined as `PAGE` in the `__init__.py` of its folder.

    `<package>.page` has `async def build(lab, request)`, and may have `def prepare(lab)`, called when the server
    starts. It is imported then or on the first visit, because importing the rules of a game can be slow.
    """

    package: str
    title: str
    path: str
    icon: str
    order: int  # position in the navigation
    summary: str = ""  # on its card on the start page
    picture: str = ""  # SVG on the card; without one there is no card
    rules: tuple[RulePicture, ...] = ()
    games: bool = False  # its games have addresses of their own below its path
    routes: Callable[[Lab], None] | None = None  # registers further routes, such as images


def discover(envs: Iterable[str]) -> list[PageEntry]:
    """Return the pages of all folders and a generic one for each other environment, in order.

    The folder `chess` covers the environments `chess` and `chess_<variant>`.
    """
    folders = [module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.ispkg]
    entries = (getattr(import_module(f"{__package__}.{name}"), "PAGE", None) for name in folders)
    pages = [page for page in entries if page is not None]
    pages += [generic_page(env) for env in envs if not any(plays(folder, env) for folder in folders)]
    return sorted(pages, key=lambda page: page.order)


def plays(folder: str, env: str) -> bool:
    return env == folder or env.startswith(f"{folder}_")


def generic_page(env: str) -> PageEntry:
    return PageEntry(
        package=GENERIC,
        title=env.replace("_", " ").capitalize(),
        path=f"/play/{env}",
        icon="extension",
        order=50,
        summary="Play against an agent, or watch two of them.",
        picture=card_picture(_pieces()),
        games=True,
    )


def _pieces() -> Iterable[str]:
    for column, x in enumerate((40, 80, 120)):
        color = ("--first", "--second")[column % 2]
        yield f'<circle cx="{x}" cy="50" r="15" fill="var({color})" stroke="var(--line)" stroke-width="2"/>'


def rule_picture(parts: str) -> str:
    """Return an SVG of 160 by 120 for a rule of a game."""
    return f'<svg viewBox="0 0 160 120" width="100%" role="img" aria-hidden="true" fill="none">{parts}</svg>'


def card_picture(parts: Iterable[str]) -> str:
    """Return an SVG of 160 by 100 for a card of the start page."""
    return f'<svg viewBox="0 0 160 100" width="100%" role="img" aria-hidden="true">{"".join(parts)}</svg>'
