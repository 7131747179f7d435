"""Dependencies between the pages, read from the source."""

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import iscoroutinefunction

import pytest

from src.web.pages import FOLDER, PageEntry, discover, generic_page
from tests.lab import ROOT

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FOLDER.rglob("*.py")
}


def imported(name: str) -> Iterator[str]:
    """Return the modules of src.web that a module imports, including those for type checkers."""
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                target = f"{node.module}.{alias.name}"
                yield from (found for found in (target if target in MODULES else node.module,) if found in MODULES)


def circle_from(name: str, imports: dict[str, set[str]]) -> list[str]:
    """Return a cycle of imports through a module; empty if there is none."""
    pending, came_from = [name], dict[str, str]()
    while pending:
        module = pending.pop()
        for other in imports[module]:
            if other == name:
                way = [module]
                while way[-1] != name:
                    way.append(came_from[way[-1]])
                return [name, *way[::-1][1:], name]
            if other not in came_from:
                came_from[other] = module
                pending.append(other)
    return []


def test_no_imports_go_in_a_circle():
    imports = {name: set(imported(name)) - {name} for name in MODULES}
    assert {name: circle for name in MODULES if (circle := circle_from(name, imports))} == {}


@pytest.mark.parametrize("page", [*discover([]), generic_page("chess")], ids=lambda page: page.title)
def test_every_page_can_be_built(page: PageEntry):
    assert iscoroutinefunction(import_module(f"{page.package}.page").build)


def test_a_circle_would_be_found():
    assert circle_from("a", {"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
