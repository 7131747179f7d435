"""Modules of the games import each other in one direction only."""

import ast
from graphlib import TopologicalSorter

from tests.lab import ROOT

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "src" / "envs").rglob("*.py")
}


def imported(module: str) -> set[str]:
    """List the modules of src/envs that a module imports anywhere, also inside functions and for type checkers only."""
    names = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return (names & set(MODULES)) - {module}


def test_no_modules_import_each_other():
    TopologicalSorter({module: imported(module) for module in MODULES}).prepare()  # raises a CycleError
