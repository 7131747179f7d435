"""Modules of the games import each other in one direction only."""

from graphlib import TopologicalSorter

from tests.lab import ROOT
from tests.test_architecture import imports

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "src" / "envs").rglob("*.py")
}


def imported(module: str) -> set[str]:
    """List the modules of src/envs that a module imports anywhere, also inside functions and for type checkers only."""
    path = MODULES[module]
    names = set(imports(path, path.relative_to(ROOT / "src")))
    return {name for name in names & set(MODULES) if not f"{module}.".startswith(f"{name}.")}  # not `from . import x`


def test_no_modules_import_each_other():
    TopologicalSorter({module: imported(module) for module in MODULES}).prepare()  # raises a CycleError
