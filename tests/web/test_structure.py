"""Dependencies between the pages, read from the source."""

from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from inspect import iscoroutinefunction

import pytest

from src.web.pages import FOLDER, PageEntry, discover, generic_page
from tests.lab import ROOT
from tests.test_architecture import imports

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FOLDER.rglob("*.py")
}


def imported(name: str) -> Iterator[str]:
    """Return the modules of src.web that a module imports, including those for type checkers."""
    path = MODULES[name]
    names = set(imports(path, path.relative_to(ROOT / "src"))) & MODULES.keys()
    # A module that is imported from its package is meant, not the package.
    yield from (one for one in names if not any(other.rpartition(".")[0] == one for other in names))


def test_no_imports_go_in_a_circle():
    TopologicalSorter({name: set(imported(name)) - {name} for name in MODULES}).prepare()


@pytest.mark.parametrize("page", [*discover([]), generic_page("chess")], ids=lambda page: page.title)
def test_every_page_can_be_built(page: PageEntry):
    assert iscoroutinefunction(import_module(f"{page.package}.page").build)


def test_pages_add_their_styles_with_their_elements():
    """`ui.add_css` of a connected page is sent after the elements: for a moment they are shown without it."""
    assert [name for name, path in MODULES.items() if "add_css(" in path.read_text()] == ["src.web.shell"]
